import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import {
  ComputeBudgetProgram,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lockAddress } from '../../../src/chains/solana/lock.ts';
import { type WrittenInstruction, writeMessage } from '../../../src/chains/solana/message.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { TOKEN_ACCOUNT_PROGRAM, TOKEN_PROGRAM, tokenAccountOf } from '../../../src/chains/solana/token-account.ts';
import type { RefundIntent, SweepIntent } from '../../../src/core/intent.ts';
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

// ── Whole payouts, built by web3.js from the order instead of from our instructions ──────────────────────────────────

const seed = Uint8Array.from({ length: 64 }, (_, at) => (at * 29 + 3) & 255);
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const owner = (index: number): string => solanaSpending.derive(seed, { role: 'collection', index }).key;
const network = {
  chainId: 'any',
  tokens: [{ symbol: 'USDC' as const, address: mint, decimals: 6 }],
  treasury: owner(77),
  feeUnitsMax: 2n ** 63n,
};
const account = (of: string) => new PublicKey(tokenAccountOf(hexToBytes(of), base58.decode(mint)));
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
const at = (pubkey: PublicKey, isWritable: boolean, isSigner = false) => ({ pubkey, isSigner, isWritable });

const transfer = (from: string, to: string, units: bigint): TransactionInstruction =>
  new TransactionInstruction({
    programId: new PublicKey(TOKEN_PROGRAM),
    keys: [
      at(account(from), true),
      at(new PublicKey(mint), false),
      at(account(to), true),
      at(publicKey(from), false, true),
    ],
    data: Buffer.concat([Buffer.of(12), u64(units), Buffer.of(6)]),
  });

const numbers = {
  units: fc.bigInt(1n, 2n ** 64n - 1n),
  limit: fc.integer({ min: 1, max: 1_400_000 }),
  price: fc.bigInt(0n, 2n ** 40n),
};
const termsOf = (blockhash: string, limit: number, price: bigint) => ({
  blockhash,
  last_valid_block_height: '1',
  compute_unit_limit: String(limit),
  compute_unit_price: String(price),
});
const budget = (limit: number, price: bigint) => [
  ComputeBudgetProgram.setComputeUnitLimit({ units: limit }),
  ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price }),
];
/** What is signed follows one byte for the count and 64 for each signature. */
const messageOf = (bytes: Uint8Array): string => bytesToHex(bytes.subarray(1 + 64 * (bytes[0] ?? 0)));

test('a refund is, byte for byte, what web3.js makes of its lock, its account and its transfer', () => {
  const lock = fc.bigInt(1n, 2_039_280n);
  const all = fc.record({
    ...numbers,
    blockhash: hashes,
    lock,
    to: fc.nat(70),
    id: fc.stringMatching(/^[0-9a-v]{26}$/),
  });
  fc.assert(
    fc.property(all, ({ units, limit, price, blockhash, lock: lamports, to: index, id }) => {
      const to = owner(index);
      const base = { network: 'live:any', currency: 'USDC', mac: 'ab'.repeat(32) } as const;
      const intent: RefundIntent = { kind: 'refund', session: { id: 'cs_1', amount: '5.00' }, id, to, units, ...base };
      const terms = { ...termsOf(blockhash, limit, price), lock_deposit_lamports: String(lamports) };
      const payer = solanaSpending.derive(seed, { role: 'refund' });
      const { bytes } = solanaSpending.sign({ network, intent, terms }, [payer]);
      const from = publicKey(payer.key);
      const text = Buffer.from(bytes).toString('latin1');
      const lockText = /[0-9a-f]{32}/.exec(text)?.[0] ?? '';
      const lockKey = publicKey(lockAddress(payer.key, lockText));
      const theirs = byWeb3(payer.key, blockhash, [
        ...budget(limit, price),
        SystemProgram.transfer({ fromPubkey: from, toPubkey: lockKey, lamports }),
        SystemProgram.allocate({
          ...{ accountPubkey: lockKey, basePubkey: from, seed: lockText, space: 1 },
          programId: SystemProgram.programId,
        }),
        new TransactionInstruction({
          programId: new PublicKey(TOKEN_ACCOUNT_PROGRAM),
          keys: [
            at(from, true, true),
            at(account(to), true),
            at(publicKey(to), false),
            at(new PublicKey(mint), false),
            at(SystemProgram.programId, false),
            at(new PublicKey(TOKEN_PROGRAM), false),
          ],
          data: Buffer.of(1),
        }),
        transfer(payer.key, to, units),
      ]);
      assert.is(messageOf(bytes), theirs);
    }),
    { numRuns: runs(300) },
  );
});

test('a sweep is, byte for byte, what web3.js makes of its transfers', () => {
  const from = fc.uniqueArray(fc.record({ index: fc.nat(70), units: numbers.units }), {
    ...{ minLength: 1, maxLength: 6 },
    selector: ({ index }) => index,
  });
  fc.assert(
    fc.property(fc.record({ ...numbers, from, blockhash: hashes }), ({ from: rows, limit, price, blockhash }) => {
      const intent: SweepIntent = { kind: 'sweep', id: 'sw', network: 'live:any', currency: 'USDC', from: rows };
      const pairs = solanaSpending.signers(intent).map((wallet) => solanaSpending.derive(seed, wallet));
      const { bytes } = solanaSpending.sign({ network, intent, terms: termsOf(blockhash, limit, price) }, pairs);
      const moved = rows.map(({ index, units }) => transfer(owner(index), network.treasury, units));
      assert.is(messageOf(bytes), byWeb3(pairs[0]?.key ?? '', blockhash, [...budget(limit, price), ...moved]));
    }),
    { numRuns: runs(150) },
  );
});

test.run();
