import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddressTable } from '../../../indexers/follower/address-table.ts';
import { createMatcher } from '../../../indexers/follower/matcher.ts';
import { chains } from '../../../src/chains/index.ts';
import type { Token } from '../../../src/core/transfer.ts';
import { createWorld } from '../../simulated/world.ts';
import { addressKeyOf } from '../../support/address-keys.ts';
import { has } from '../../support/fields.ts';
import { faultOf } from '../../support/refusal.ts';
import { evmContent } from './evm-content.ts';

const tokens: readonly Token[] = [
  { symbol: 'USDT', address: `0x${'a1'.repeat(20)}`, decimals: 6 },
  { symbol: 'USDC', address: `0x${'a2'.repeat(20)}`, decimals: 6 },
];
const [usdt = '', usdc = ''] = tokens.map((token) => token.address.slice(2));
const chain = chains.evm;

/** A block with payments to addresses 0–49 among many between strangers. */
function crowdedBlock() {
  const world = createWorld({
    seed: 'matcher',
    clock: { nowMs: () => 1_800_000_000_000 },
    tokens: [usdt, usdc],
    keyBytes: 20,
    finalityDistance: 64,
  });
  for (let n = 0; n < 50; n++) {
    const token = n % 2 === 0 ? usdt : usdc;
    world.pay({
      kind: 'direct',
      from: addressKeyOf(9000 + n, 20),
      outputs: [{ token, to: addressKeyOf(n, 20), units: BigInt(n + 1) }],
    });
  }
  return world.mine(400);
}

/** One mode at a time: everything in-line, or everything in threads. */
async function openMatcher(mode: 'inline' | 'threads', watched: readonly string[]) {
  const table = createAddressTable(20);
  for (const key of watched) table.add(key);
  const inlineBytesMax = mode === 'inline' ? Number.POSITIVE_INFINITY : 0;
  return { table, matcher: await createMatcher({ chain, tokens, table, inlineBytesMax, threadsMax: 2 }) };
}

for (const mode of ['inline', 'threads'] as const) {
  const test = suite(`matcher ${mode}`);
  const block = crowdedBlock();
  const watched = Array.from({ length: 30 }, (_, n) => addressKeyOf(n, 20));

  test('finds the transfers to watched addresses, in block order, and no other', async () => {
    const { matcher } = await openMatcher(mode, watched);
    for (const kind of ['logs', 'receipts'] as const) {
      const found = await matcher.match(evmContent(block, kind));
      assert.is(found.length, 30);
      assert.equal(
        found.map(({ to, units, currency }) => ({ to, units, currency })),
        watched.map((to, n) => ({ to, units: BigInt(n + 1), currency: n % 2 === 0 ? 'USDT' : 'USDC' })),
      );
      assert.ok(found.every((transfer, at) => at === 0 || transfer.index > (found[at - 1]?.index ?? 0)));
    }
    await matcher.close();
  });

  test('finds an address that was added after the last block, also when the table has grown since', async () => {
    const { table, matcher } = await openMatcher(mode, []);
    assert.equal(await matcher.match(evmContent(block, 'logs')), []);
    const before = table.buffer();
    for (let n = 0; n < 5000; n++) table.add(addressKeyOf(100_000 + n, 20));
    table.add(addressKeyOf(7, 20));
    assert.is.not(table.buffer(), before);
    const [found] = await matcher.match(evmContent(block, 'logs'));
    assert.is(found?.to, addressKeyOf(7, 20));
    await matcher.close();
  });

  test('reports the decoder’s fault', async () => {
    const { matcher } = await openMatcher(mode, watched);
    const { bytes, ...rest } = evmContent(block, 'logs');
    has(await faultOf(matcher.match({ ...rest, bytes: bytes.slice(0, 1000) })), {
      kind: 'transient',
      code: 'node_nonsense',
    });
    await matcher.close();
  });

  test('does not touch other data in the buffer of the bytes', async () => {
    const { matcher } = await openMatcher(mode, watched);
    const { bytes, ...rest } = evmContent(block, 'logs');
    const shared = Buffer.alloc(bytes.byteLength + 20, 'x');
    shared.set(bytes, 10);
    const found = await matcher.match({ ...rest, bytes: shared.subarray(10, 10 + bytes.byteLength) });
    assert.is(found.length, 30);
    assert.is(shared.length, bytes.byteLength + 20, 'the shared buffer was not given away');
    assert.is(shared.subarray(0, 10).toString(), 'x'.repeat(10));
    await matcher.close();
  });

  test.run();
}
