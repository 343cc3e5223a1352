/**
 * Each family's second opinion: its SDK agrees with whatever our encoders sign, and finds every change of it.
 */

import { base58 } from '@scure/base';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { differencesFrom } from '../../src/chains/second-opinion.ts';
import type { SpendNetwork } from '../../src/chains/spend.ts';
import { type GasIntent, type Intent, isPayback, type RefundIntent, type SweepIntent } from '../../src/core/intent.ts';
import { assetOf } from '../../src/core/ledger.ts';
import type { Terms } from '../../src/core/spend.ts';
import type { Token } from '../../src/core/transfer.ts';
import { refundIntent } from '../support/intents.ts';
import { runs } from '../support/runs.ts';
import { createSeedWallets } from './seed-wallets.ts';

const seed = Uint8Array.from({ length: 64 }, (_, at) => (at * 31 + 7) & 255);
const families = ['evm', 'tron', 'solana'] as const satisfies readonly Family[];
const addresses: Readonly<Record<Family, readonly [usdt: string, usdc: string]>> = {
  evm: ['0xdAC17F958D2ee523a2206206994597C13D831ec7', '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'],
  tron: ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8'],
  solana: ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'],
};

async function benchOf(family: Family) {
  const spending = await chains[family].spending();
  const { readBySdk } = await chains[family].secondOpinion();
  const keyAt = (index: number): string => spending.derive(seed, { role: 'collection', index }).key;
  const [usdt, usdc] = addresses[family];
  const tokens: readonly Token[] = [
    { symbol: 'USDT', address: usdt, decimals: 6 },
    { symbol: 'USDC', address: usdc, decimals: 6 },
  ];
  const networkOf = (chainId: string): SpendNetwork => ({
    chainId,
    tokens,
    treasury: keyAt(900),
    feeUnitsMax: 10n ** 18n,
  });
  const wallets = createSeedWallets(networkOf('1'), spending, keyAt).openWallets();
  const sign = (intent: Intent, terms: Terms, chainId = '1') =>
    createSeedWallets(networkOf(chainId), spending).signOn(wallets, intent, terms);
  const opinion = (intent: Intent, terms: Terms, signed: Readonly<{ tx: string; bytes: Uint8Array }>) =>
    differencesFrom({ draft: wallets.draft(intent), attempt: { ...signed, terms }, chainId: '1', tokens }, readBySdk);
  return { keyAt, sign, opinion };
}

const termsOf = (family: Family, intent: Intent, number: number): Terms => {
  switch (family) {
    case 'evm':
      return {
        nonce: String(number),
        gas_limit: String(80_000 + number),
        max_fee_per_gas: String(30_000_000_000 + number),
        max_priority_fee_per_gas: String(1_000_000_000 + number),
      };
    case 'tron':
      return {
        ref_block_number: String(70_000_000 + number),
        ref_block_hash: number.toString(16).padStart(16, '0'),
        timestamp_ms: String(1_795_000_000_000 + number),
        expiration_ms: String(1_795_000_060_000 + number),
        fee_limit: assetOf(intent) === 'native' ? '0' : String(30_000_000 + number),
      };
    case 'solana':
      return {
        blockhash: base58.encode(Uint8Array.from({ length: 32 }, (_, at) => (number >> (at % 4)) & 255)),
        last_valid_block_height: '300000150',
        compute_unit_limit: String(60_000 + number),
        compute_unit_price: String(1_000 + number),
        ...(isPayback(intent) && { lock_deposit_lamports: String(650_240 + number) }),
      };
  }
};

for (const family of families) {
  const bench = benchOf(family);
  const units = fc.bigInt({ min: 1n, max: 2n ** 53n - 1n });
  const index = fc.nat(800);
  const currency = fc.constantFrom('USDT' as const, 'USDC' as const);
  const base = { network: 'live:any' } as const;

  /** The orders that the family signs. */
  const intents = async (): Promise<fc.Arbitrary<Intent>> => {
    const { keyAt } = await bench;
    const refunds = fc
      .record({ units, index, currency })
      .map(
        ({ index: payee, ...rest }): RefundIntent =>
          refundIntent({ id: `rf_${rest.units}`, to: keyAt(payee), ...base, ...rest }),
      );
    const owners = fc.uniqueArray(fc.record({ index, units }), {
      minLength: 1,
      maxLength: family === 'solana' ? 6 : 1,
      selector: (one) => one.index,
    });
    const sweeps = fc
      .record({ from: owners, currency })
      .map((rest): SweepIntent => ({ kind: 'sweep', id: 'sw', ...base, ...rest }));
    if (family === 'solana') return fc.oneof(refunds, sweeps);
    const forms: GasIntent['form'][] = family === 'tron' ? ['transfer', 'delegate', 'reclaim'] : ['transfer'];
    const gas = fc
      .record({ units, index, form: fc.constantFrom(...forms) })
      .map((rest): GasIntent => ({ kind: 'gas', id: 'g', ...base, ...rest }));
    return fc.oneof(refunds, sweeps, gas);
  };

  test(`${family}: the SDK reads exactly what was ordered`, async () => {
    const { sign, opinion } = await bench;
    fc.assert(
      fc.property(await intents(), fc.nat(9_999), (intent, number) => {
        const terms = termsOf(family, intent, number);
        assert.equal(opinion(intent, terms, sign(intent, terms)), []);
      }),
      { numRuns: runs(100) },
    );
  });

  test(`${family}: other payees, amounts, tokens, kinds and terms are found`, async () => {
    const { sign, opinion, keyAt } = await bench;
    const refund: RefundIntent = refundIntent({ ...base, to: keyAt(1), units: 5_000n });
    const terms = termsOf(family, refund, 3);
    assert.equal(opinion(refund, terms, sign(refund, terms)), []);
    const sweep: SweepIntent = {
      kind: 'sweep',
      id: 'sw',
      ...base,
      currency: 'USDT',
      from: [{ index: 1, units: 5_000n }],
    };
    const other: Readonly<Record<string, Intent>> = {
      payee: { ...refund, to: keyAt(2) },
      amount: { ...refund, units: 5_001n },
      token: { ...refund, currency: 'USDC' },
      kind: sweep,
    };
    for (const [what, intent] of Object.entries(other)) {
      const on = termsOf(family, intent, 3);
      assert.ok(opinion(refund, terms, sign(intent, on)).length > 0, what);
    }
    for (const name of Object.keys(terms)) {
      // Not in the bytes, or only its lowest two bytes: the node's own answers decide about these.
      if (['last_valid_block_height', 'ref_block_number'].includes(name)) continue;
      const changed = { ...terms, [name]: termsOf(family, refund, 4)[name] ?? '' };
      assert.match(opinion(refund, terms, sign(refund, changed)).join('\n'), name);
    }
    const { bytes } = sign(refund, terms);
    assert.match(opinion(refund, terms, { bytes, tx: 'another' }).join('\n'), 'transaction id');
    if (family === 'evm') assert.match(opinion(refund, terms, sign(refund, terms, '56')).join('\n'), 'chain id');
  });

  test(`${family}: no changed byte passes`, async () => {
    const { sign, opinion } = await bench;
    const change = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(await intents(), change, (intent, [at, bits]) => {
        const terms = termsOf(family, intent, 5);
        const { bytes, tx } = sign(intent, terms);
        const altered = Uint8Array.from(bytes);
        const place = at % altered.length;
        altered[place] = (altered[place] ?? 0) ^ bits;
        assert.ok(opinion(intent, terms, { bytes: altered, tx }).length > 0, `byte ${place} of ${altered.length}`);
      }),
      { numRuns: runs(150) },
    );
  });

  test(`${family}: no other last byte passes, which may be a recovery bit with several spellings`, async () => {
    const { sign, opinion } = await bench;
    const [intent] = fc.sample(await intents(), 1);
    assert.ok(intent);
    const terms = termsOf(family, intent, 5);
    const { bytes, tx } = sign(intent, terms);
    for (let bits = 1; bits < 256; bits++) {
      const altered = Uint8Array.from(bytes);
      altered[altered.length - 1] = (altered.at(-1) ?? 0) ^ bits;
      assert.ok(opinion(intent, terms, { bytes: altered, tx }).length > 0, `the last byte is ${altered.at(-1)}`);
    }
  });
}

test.run();
