/**
 * Units that an owner holds in a token account.
 */
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTokenAccount, unitsHeldBy } from '../../../src/chains/solana/account.ts';
import { TOKEN_PROGRAM } from '../../../src/chains/solana/wire.ts';

test('a token account that was handed over holds nothing of its earlier owner', () => {
  const [owner, thief] = ['11'.repeat(32), '22'.repeat(32)];
  const accountOf = (key: string) => {
    const data = Buffer.alloc(165);
    data.write(key, 32, 'hex');
    data.writeBigUInt64LE(5_000_000n, 64);
    return { lamports: 2_039_280n, owner: TOKEN_PROGRAM, data };
  };
  assert.is(readTokenAccount(accountOf(owner))?.owner, base58.encode(Buffer.from(owner, 'hex')));
  assert.is(unitsHeldBy(owner, accountOf(owner)), 5_000_000n);
  assert.is(unitsHeldBy(owner, accountOf(thief)), 0n);
  assert.is(unitsHeldBy(owner, null), 0n);
});

test.run();
