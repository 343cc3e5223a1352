import { pbkdf2Sync } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { Keypair, Transaction } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../src/chains/index.ts';
import { lockSeed } from '../../../src/chains/solana/lock.ts';
import { writeMessage } from '../../../src/chains/solana/message.ts';
import { solanaOfflineKeys } from '../../../src/chains/solana/offline-keys.ts';
import { COMPUTE_BUDGET } from '../../../src/chains/solana/programs.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { tokenAddress } from '../../../src/chains/solana/token-account.ts';
import type { Intent, SweepIntent } from '../../../src/core/intent.ts';
import type { Terms } from '../../../src/core/spend.ts';
import { runSpendConformance } from '../../conformance/spend.ts';
import { refundIntent } from '../../support/intents.ts';
import { spendOn } from '../../support/preset.ts';
import { faultIn } from '../../support/refusal.ts';

const mnemonic = 'test test test test test test test test test test test junk';
const seed = new Uint8Array(pbkdf2Sync(mnemonic, 'mnemonic', 2048, 64, 'sha512'));
const payee = (number: number): string => solanaOfflineKeys.derive(seed, 500_000 + number, 1)[0] ?? '';

const keyOf = (address: string): string => chains.solana.address.parse(address) ?? '';

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

function signSweep() {
  const from = Array.from({ length: 6 }, (_, at) => ({ index: 1_000_000 + at, units: 2n ** 64n - 1n - BigInt(at) }));
  const sweep: SweepIntent = { kind: 'sweep', id: 'sw_1', network: 'live:solana', currency: 'USDT', from };
  const keys = solanaSpending.signers(sweep).map((wallet) => solanaSpending.derive(seed, wallet));
  const { bytes } = solanaSpending.sign({ network, intent: sweep, terms: terms(sweep) }, keys);
  return { bytes, signatures: BigInt(keys.length) };
}

test('a sweep of six owners fits into a packet, with its priority fee', () => {
  const { bytes } = signSweep();
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

const refund = refundIntent({ id: 'rf_1', network: 'live:solana', to: payee(1), units: 5n });
const refundKey = solanaSpending.derive(seed, { role: 'refund' });
const signRefund = (changes: Terms = {}, intent = refund) =>
  solanaSpending.sign({ network, intent, terms: { ...terms(refund), ...changes } }, [refundKey]).bytes;

test('no refund is signed to a key that nobody has, and one at every bound is', () => {
  const tokenAccount = keyOf(tokenAddress(payee(1), network.tokens[0]?.address ?? ''));
  for (const to of ['0'.repeat(64), tokenAccount])
    assert.is(faultIn(() => signRefund({}, { ...refund, to })).code, 'spend_intent_invalid', to);
  const most = { compute_unit_limit: '1400000', lock_deposit_lamports: '2039280' };
  const [effect] = solanaSpending.read(signRefund(most, { ...refund, units: 1n }), network).effects;
  assert.is(effect?.units, 1n);
});

test('anything besides the payout is refused, also if our own wallet has signed it', () => {
  const message = signRefund().subarray(65);
  const signed = (changed: Uint8Array) => Uint8Array.of(1, ...ed25519.sign(changed, refundKey.secret), ...changed);
  assert.is(solanaSpending.read(signed(message), network).effects.length, 1, 'the test itself is sound');
  const [blockhash, budget] = [terms(refund).blockhash ?? '', { program: COMPUTE_BUDGET, accounts: [] }];
  for (const all of [[], [{ ...budget, data: Uint8Array.of(2, 96, 234, 0, 0) }]]) {
    const alone = signed(writeMessage(refundKey.key, blockhash, all));
    assert.is(faultIn(() => solanaSpending.read(alone, network)).code, 'spend_bytes_unknown');
  }
  // The last byte has the token's decimals; the last ones of the lock's allocation, the program that owns it.
  const owner = Buffer.from(message).indexOf(lockSeed(refundKey.secret, refund.id)) + 32 + 8;
  for (const at of [message.length - 1, owner, owner - 8]) {
    const changed = message.with(at, (message[at] ?? 0) ^ 1);
    assert.is(faultIn(() => solanaSpending.read(signed(changed), network)).code, 'spend_bytes_unknown', String(at));
  }
});

test('the priority fee is rounded up to whole lamports', () => {
  const costOn = (limit: string, price: string): bigint =>
    solanaSpending.read(signRefund({ compute_unit_limit: limit, compute_unit_price: price }), network).feeUnitsMax;
  const others = 5_000n + 2_039_280n + 650_240n;
  assert.is(costOn('60000', '1000'), others + 60n);
  assert.is(costOn('60001', '1001'), others + 61n);
  assert.is(costOn('1', '1'), others + 1n);
  const { bytes, signatures } = signSweep();
  assert.is(solanaSpending.read(bytes, network).feeUnitsMax, signatures * 5_000n + 60n);
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
