/**
 * Every family with the signer's rules: each kind of intent has the effects that the self-check expects, whoever pays
 * the fee.
 */
import { writeFileSync } from 'node:fs';
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import type { SpendReading } from '../../src/chains/spend.ts';
import { tronSpending } from '../../src/chains/tron/spend.ts';
import type { GasIntent } from '../../src/core/intent.ts';
import type { Terms } from '../../src/core/spend.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { loadPolicy, type PolicySettings } from '../../src/signer/policy.ts';
import type { SignRequest } from '../../src/signer/protocol.ts';
import { handClock } from '../support/hand-clock.ts';
import { refuses } from '../support/refusal.ts';
import { firstOf, newSigner, refundOf, removeSigners, ruleOf, seed } from '../support/temp-signer.ts';

const spendings = { tron: tronSpending, solana: solanaSpending } as const;
type Case = keyof typeof spendings;

const treasuries = {
  tron: chains.tron.address.format('71'.repeat(20)),
  solana: chains.solana.address.format(solanaSpending.derive(new Uint8Array(64).fill(9), { role: 'gas' }).key),
} as const;
const payers = {
  tron: 'b'.repeat(40),
  solana: solanaSpending.derive(new Uint8Array(64).fill(8), { role: 'gas' }).key,
} as const;
const token = {
  tron: { symbol: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 },
  solana: { symbol: 'USDT', address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 },
} as const;

const networkOf = (family: Case): PolicySettings['networks'][`test:${string}`] => ({
  family,
  chain_id: '1',
  tokens: [token[family]],
  treasury: treasuries[family],
  fee_max: family === 'tron' ? '50' : '0.01',
  caps: { USDT: { transaction: '100', hour: '1000', day: '1000' } },
  gas_caps: { transaction: '10', day: '50' },
});
const clock = handClock(1_795_000_000_000);
const networks = { 'test:tron': networkOf('tron'), 'test:solana': networkOf('solana') };
const { dir, sign, refusal } = newSigner({
  settings: { version: 1, approvers: [], networks },
  clock,
  spendings: new Map(Object.entries(spendings) as [Case, typeof tronSpending][]),
});
const policies = loadPolicy(signerFiles(dir).policy).networks;
test.after(removeSigners);

const termsOf = (family: Case, kind: string, variant: number): Terms =>
  family === 'tron'
    ? {
        ref_block_number: '70000123',
        ref_block_hash: '0123456789abcdef',
        timestamp_ms: String(1_795_000_000_000 + variant),
        expiration_ms: '1795001800000',
        fee_limit: kind === 'gas' ? '0' : '30000000',
      }
    : {
        blockhash: base58.encode(new Uint8Array(32).fill(variant + 1)),
        last_valid_block_height: '150',
        compute_unit_limit: '100000',
        compute_unit_price: '0',
        ...(kind === 'refund' && { lock_deposit_lamports: '650240' }),
      };

const keyOf = (family: Case, wallet: Parameters<typeof tronSpending.derive>[1]) =>
  spendings[family].derive(seed, wallet).key;

function readingOf(family: Case, bytes: Uint8Array): SpendReading {
  const spend = policies.find((policy) => policy.family === family)?.spend;
  assert.ok(spend);
  return spendings[family].read(bytes, spend);
}

for (const family of ['tron', 'solana'] as const) {
  const network = `test:${family}` as const;

  test(`${family}: a refund is signed, and again only when the first is dead`, () => {
    const refund = refundOf(`rf_${family}`, 5_000_000n, { network, to: payers[family] });
    const ask = (variant: number, more: object = {}) =>
      sign({ ...firstOf(refund, 0, more), terms: termsOf(family, 'refund', variant) });
    const { tx } = ask(1);
    assert.is(ask(2).tx, tx, 'the same attempt has the same bytes');
    refuses('signer_refused_attempt', () => ask(2, { attempt: 1 })); // it could take effect in addition to the first
    refuses('signer_refused_generation', () => ask(2, { generation: 1 }));
    const again = () => ruleOf(() => ask(2, { generation: 1, proof: 'dead' }));
    const lifeMs = family === 'tron' ? 1_800_000 : 30_000;
    assert.is(again(), 'expiry', 'whatever the engine says, it can still be included');
    clock.advance(lifeMs);
    assert.is(again(), 'expiry');
    clock.advance(1);
    assert.is.not(ask(2, { generation: 1, proof: 'dead' }).tx, tx);
    clock.advance(-lifeMs - 1);
    refuses('signer_refused_mac', () =>
      ask(3, { generation: 2, proof: 'dead', intent: { ...refund, to: keyOf(family, { role: 'gas' }) } }),
    );
  });

  test(`${family}: two refunds that make the same transaction are told apart by other terms`, () => {
    const ask = (id: string, variant: number) => {
      const refund = refundOf(id, 1_000_000n, { network, to: payers[family] });
      return refusal({ ...firstOf(refund, 0), terms: termsOf(family, 'refund', variant) });
    };
    // A Solana refund creates an account that is named after it, so its bytes are always its own.
    const twin = family === 'tron' ? 'duplicate' : 'none';
    assert.equal([ask('rf_twin_1', 50), ask('rf_twin_2', 50)], ['none', twin]);
    assert.is(ask('rf_twin_2', 51), 'none', 'the signer goes on');
  });
}

test('solana: a refund is signed again only by the wallet that its lock belongs to', () => {
  const hours = handClock(1_795_000_000_000);
  const settings: PolicySettings = { version: 1, approvers: [], networks: { 'test:solana': networkOf('solana') } };
  const place = newSigner({ settings, clock: hours, spendings: new Map([['solana', solanaSpending]]) });
  /** Signs with a refund wallet in the policy, and returns which one it was. */
  const signWith = (index: number, id: string, variant: number, more: Partial<SignRequest>) => {
    const network = { ...networkOf('solana'), wallets: { refund: index, gas: 0 } };
    writeFileSync(signerFiles(place.dir).policy, JSON.stringify({ ...settings, networks: { 'test:solana': network } }));
    place.restart();
    const refund = refundOf(id, 5_000_000n, { network: 'test:solana', to: payers.solana });
    const request = { ...firstOf(refund, 0, more), terms: termsOf('solana', 'refund', variant) };
    return readingOf('solana', place.sign(request).bytes).effects[0]?.from;
  };
  const [first, second] = [0, 1].map((index) => keyOf('solana', { role: 'refund', index })) as [string, string];
  assert.is(signWith(0, 'rf_1', 1, {}), first);
  hours.advance(30_001);
  const again = { generation: 1, proof: 'dead' } as const;
  for (const payer of [first, second])
    refuses('signer_refused_wallet', () => signWith(1, 'rf_1', 2, { ...again, payer }));
  assert.is(signWith(0, 'rf_1', 2, again), first);
  assert.is(signWith(1, 'rf_2', 3, { payer: second }), second);
});

test('tron: what would expire too late is not signed', () => {
  const nowMs = clock.nowMs();
  const gas = (id: string): GasIntent => {
    return { kind: 'gas', id, network: 'test:tron', form: 'delegate', index: 7, units: 1_000_000n };
  };
  const times = (timestampMs: number, expirationMs: number) => {
    const given = { timestamp_ms: String(timestampMs), expiration_ms: String(expirationMs) };
    return { ...termsOf('tron', 'gas', 0), ...given };
  };
  const ask = (id: string, terms: Terms, more: object = {}) => refusal({ ...firstOf(gas(id), 0, more), terms });
  const dayMs = 86_400_000;
  const latestMs = nowMs + 2 * dayMs;
  assert.is(ask('ga_late', times(latestMs, latestMs + 1)), 'terms', 'by the signer’s clock');
  assert.is(ask('ga_late', times(9_007_199_254_740_000, 9_007_199_254_740_991)), 'terms');
  assert.is(ask('ga_late', times(8_639_999_999_999_999, 8_640_000_000_000_001)), 'terms');
  assert.is(ask('ga_late', times(latestMs - 1, latestMs)), 'none', 'clocks may differ');
});

test('tron: gas is given, lent and reclaimed; lending uses up none of the caps', () => {
  let variant = 0;
  const ask = (form: GasIntent['form'], units: bigint) => {
    const intent: GasIntent = { kind: 'gas', id: `ga_${++variant}`, network: 'test:tron', form, index: 7, units };
    return sign({ ...firstOf(intent, 0), terms: termsOf('tron', 'gas', variant) });
  };
  ask('transfer', 10_000_000n);
  for (const form of ['delegate', 'reclaim'] as const) ask(form, 9_000_000_000n);
  refuses('signer_refused_cap', () => ask('transfer', 10_000_001n));
  for (let at = 0; at < 4; at++) ask('transfer', 10_000_000n);
  refuses('signer_refused_cap', () => ask('transfer', 1_000_000n));
});

test.run();
