import { pbkdf2Sync } from 'node:crypto';
import { base58 } from '@scure/base';
import { Keypair, Transaction } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../src/chains/index.ts';
import { lockSeed } from '../../../src/chains/solana/lock.ts';
import { solanaOfflineKeys } from '../../../src/chains/solana/offline-keys.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import type { Intent, SweepIntent } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';
import { runSpendConformance } from '../../conformance/spend.ts';
import { spendOn } from '../../support/preset.ts';

const mnemonic = 'test test test test test test test test test test test junk';
const seed = new Uint8Array(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));
const payee = (number: number): string => solanaOfflineKeys.derive(seed, 500_000 + number, 1)[0] ?? '';

const network = spendOn('solana', payee(9_000), 10_000_000n);
const elsewhere = spendOn('solana-devnet', payee(9_001), 10_000_000n);

const terms = (intent: Intent, variant = 0): Terms => ({
  blockhash: base58.encode(Uint8Array.from({ length: 32 }, (_, at) => (at === 31 ? variant + 1 : 7))),
  last_valid_block_height: '300000150',
  compute_unit_limit: '60000',
  compute_unit_price: '1000',
  ...(intent.kind === 'refund' && { lock_deposit_lamports: '650240' }),
});

test('deposit addresses are those that web3.js derives from the same private key', () => {
  for (const index of [0, 3]) {
    const { key, secret } = solanaSpending.derive(seed, { role: 'collection', index });
    assert.is(chains.solana.address.format(key), Keypair.fromSeed(secret).publicKey.toBase58());
  }
  assert.is(solanaSpending.path({ role: 'refund' }), "m/44'/501'/2000000000'/0'");
});

test('a sweep of six owners fits into a packet, with its priority fee', () => {
  const from = Array.from({ length: 6 }, (_, at) => ({ index: 1_000_000 + at, units: 2n ** 64n - 1n - BigInt(at) }));
  const sweep: SweepIntent = { kind: 'sweep', id: 'sw_1', network: 'live:solana', currency: 'USDT', from };
  const keys = solanaSpending.signers(sweep).map((wallet) => solanaSpending.derive(seed, wallet));
  const { bytes } = solanaSpending.sign({ network, intent: sweep, terms: terms(sweep) }, keys);
  assert.ok(bytes.length <= 1_232, `${bytes.length} bytes`);
  assert.ok(Transaction.from(bytes).verifySignatures(), 'web3.js agrees with every signature');
});

test('the lock of a refund is derived from its id and the private key of the refund wallet', () => {
  const { secret } = solanaSpending.derive(seed, { role: 'refund' });
  const { secret: other } = solanaSpending.derive(seed, { role: 'gas' });
  assert.is(lockSeed(secret, 'rf_1'), lockSeed(secret, 'rf_1'));
  assert.match(lockSeed(secret, 'rf_1'), /^[0-9a-f]{32}$/);
  const all = [lockSeed(secret, 'rf_1'), lockSeed(secret, 'rf_2'), lockSeed(other, 'rf_1')];
  assert.is(new Set(all).size, 3);
});

await runSpendConformance('solana', {
  chain: chains.solana,
  network,
  elsewhere,
  terms,
  dearTerms: (intent) => ({ ...terms(intent), compute_unit_price: '1000000000' }),
  gasForms: [],
  payee,
  unitsMax: 2n ** 64n - 1n,
  idOf: (bytes) => base58.encode(Transaction.from(bytes).signature ?? new Uint8Array()),
});
