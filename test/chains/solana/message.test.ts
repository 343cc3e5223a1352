import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { PublicKey, TransactionInstruction, TransactionMessage } from '@solana/web3.js';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type WrittenInstruction, writeMessage } from '../../../src/chains/solana/message.ts';
import { runs } from '../../support/runs.ts';

const publicKey = (key: string): PublicKey => new PublicKey(hexToBytes(key));

/** Few keys, so that instructions share accounts and ask for them with other rights. */
const keys = fc.integer({ min: 1, max: 12 }).map((number) => number.toString(16).padStart(2, '0').repeat(32));
const instructions: fc.Arbitrary<WrittenInstruction> = fc.record({
  program: keys,
  accounts: fc.array(fc.record({ key: keys, isSigner: fc.boolean(), isWritable: fc.boolean() }), { maxLength: 8 }),
  data: fc.uint8Array({ maxLength: 127 }),
});
const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => base58.encode(bytes));

function byWeb3(payer: string, blockhash: string, all: readonly TransactionInstruction[]): string {
  const message = new TransactionMessage({
    payerKey: publicKey(payer),
    recentBlockhash: blockhash,
    instructions: [...all],
  });
  return bytesToHex(message.compileToLegacyMessage().serialize());
}

const toTheirs = ({ program, accounts, data }: WrittenInstruction) =>
  new TransactionInstruction({
    programId: publicKey(program),
    keys: accounts.map(({ key, ...rights }) => ({ pubkey: publicKey(key), ...rights })),
    data: Buffer.from(data),
  });

test('a message is, byte for byte, the one that web3.js compiles', () => {
  fc.assert(
    fc.property(keys, hashes, fc.array(instructions, { maxLength: 6 }), (payer, blockhash, all) => {
      assert.is(bytesToHex(writeMessage(payer, blockhash, all)), byWeb3(payer, blockhash, all.map(toTheirs)));
    }),
    { numRuns: runs(3_000) },
  );
});

test.run();
