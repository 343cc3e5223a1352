/**
 * Duties of every family's `Spending`: the rules of `src/chains/spend.ts`, over a bench that the family provides.
 */

import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Chain } from '../../src/chains/chain.ts';
import type { SpendNetwork, SpendReading } from '../../src/chains/spend.ts';
import { Fault } from '../../src/core/fault.ts';
import {
  type GasIntent,
  gasReceiver,
  type Intent,
  isPayback,
  type RefundIntent,
  type SweepIntent,
  type Wallet,
} from '../../src/core/intent.ts';
import type { Terms } from '../../src/core/spend.ts';
import type { Currency } from '../../src/core/transfer.ts';
import { has } from '../support/fields.ts';
import { refundIntent } from '../support/intents.ts';
import { faultIn } from '../support/refusal.ts';
import { runs } from '../support/runs.ts';

export type SpendBench = Readonly<{
  chain: Chain;
  /** With at least two tokens. */
  network: SpendNetwork;
  /** The family on another chain, with other tokens and another treasury. */
  elsewhere: SpendNetwork;
  /** Terms on which the intent can be signed, each of them needed; other terms for another `variant` (0–99). */
  terms(intent: Intent, variant: number): Terms;
  /** Terms that could cost more than the network's `feeUnitsMax`. */
  dearTerms(intent: Intent): Terms;
  gasForms: readonly GasIntent['form'][];
  /** Returns a payer's address key that can be paid, always the same for the same number. */
  payee(number: number): string;
  /** Most base units that one transfer can carry. */
  unitsMax: bigint;
  /** Returns the transaction id of the bytes according to the chain's own library. */
  idOf(bytes: Uint8Array): string;
}>;

const SEED = Uint8Array.from({ length: 64 }, (_, at) => (at * 37 + 11) & 255);
const OTHER_SEED = SEED.map((byte) => byte ^ 0x5a);
const RUNS = 25;
const INDEX_MAX = 1_000_000;

const sorted = (effects: SpendReading['effects']): string[] =>
  effects.map(({ token, from, to, units }) => `${from} ${units} ${token} ${to}`).sort();

/** Registers the tests of one family and runs them. */
export async function runSpendConformance(name: string, bench: SpendBench): Promise<void> {
  const { chain, network, elsewhere } = bench;
  const spending = await chain.spending();
  const symbols = network.tokens.map(({ symbol }) => symbol);
  const keysOf = (intent: Intent) => spending.signers(intent).map((wallet) => spending.derive(SEED, wallet));
  const keyOf = (wallet: Wallet): string => spending.derive(SEED, wallet).key;
  const sign = (intent: Intent, terms: Terms, on: SpendNetwork = network) =>
    spending.sign({ network: on, intent, terms }, keysOf(intent));

  const units = fc.bigInt({ min: 1n, max: bench.unitsMax });
  const index = fc.integer({ min: 0, max: INDEX_MAX });
  const currency = fc.constantFrom<Currency[]>(...symbols);
  const variant = fc.integer({ min: 0, max: 99 });
  const id = fc.stringMatching(/^[0-9a-v]{26}$/);
  const refunds: fc.Arbitrary<RefundIntent> = fc
    .record({ id, currency, payee: fc.integer({ min: 0, max: 1_000 }), units })
    .map(({ payee, ...rest }) => refundIntent({ ...rest, network: 'live:any', to: bench.payee(payee) }));
  const sweeps: fc.Arbitrary<SweepIntent> = fc.record({
    kind: fc.constant('sweep' as const),
    id,
    network: fc.constant('live:any' as const),
    currency,
    from: fc.uniqueArray(fc.record({ index, units }), {
      minLength: 1,
      maxLength: chain.spendRules.sweepOwnersMax,
      selector: (owner) => owner.index,
    }),
  });
  const gases: fc.Arbitrary<GasIntent> = fc.record({
    kind: fc.constant('gas' as const),
    id,
    network: fc.constant('live:any' as const),
    form: fc.constantFrom<GasIntent['form'][]>(
      ...bench.gasForms,
      ...(bench.gasForms.length > 0 ? [] : ['transfer' as const]),
    ),
    index,
    units: fc.bigInt({ min: 1_000_000n, max: 10n ** 12n }),
  });
  const intents: readonly fc.Arbitrary<Intent>[] =
    bench.gasForms.length > 0 ? [refunds, sweeps, gases] : [refunds, sweeps];
  const anyIntent = fc.oneof(...intents);
  const [sample] = fc.sample(refunds, { numRuns: 1, seed: 4 }) as [RefundIntent];
  const samples = intents.flatMap((kind, at) => fc.sample(kind, { numRuns: 1, seed: 7 + at }));

  const property = (what: string, check: () => void) => test(`${name}: ${what}`, check);

  property('wallets of a seed are always the same, and no two of them share a key or a path', () => {
    const wallets: Wallet[] = [
      ...(['refund', 'gas'] as const).flatMap((role) => [{ role }, { role, index: 1 }, { role, index: 2 }]),
      ...[0, 1, 2, 77, INDEX_MAX].map((at) => ({ role: 'collection', index: at }) as const),
    ];
    const pairs = wallets.map((wallet) => spending.derive(SEED, wallet));
    assert.equal(
      pairs,
      wallets.map((wallet) => spending.derive(SEED, wallet)),
    );
    assert.is(new Set(pairs.map(({ key }) => key)).size, wallets.length);
    assert.is(new Set(wallets.map((wallet) => spending.path(wallet))).size, wallets.length);
    for (const [at, { wallet, key, secret }] of pairs.entries()) {
      assert.equal(wallet, wallets[at]);
      assert.match(key, new RegExp(`^[0-9a-f]{${chain.address.keyBytes * 2}}$`));
      assert.is(chain.address.parse(chain.address.format(key)), key);
      assert.ok(secret.some((byte) => byte !== 0));
      assert.is.not(spending.derive(OTHER_SEED, wallet).key, key);
    }
    for (const role of ['refund', 'gas'] as const) assert.is(keyOf({ role, index: 0 }), keyOf({ role }));
  });

  test(`${name}: the keys of deposit addresses are those of the addresses handed out`, async () => {
    const xpub = spending.xpub(SEED);
    assert.is(xpub === null, chain.address.checkXpub === null);
    const deriving = await chain.xpubKeys?.();
    const offline = await chain.offlineKeys?.();
    for (const at of [0, 1, 41]) {
      const known = xpub !== null && deriving ? deriving.derive(xpub, at) : offline?.derive(SEED, at, 1)[0];
      assert.is(keyOf({ role: 'collection', index: at }), known);
    }
  });

  property('reading the bytes gives what the intent says', () => {
    fc.assert(
      fc.property(anyIntent, variant, (intent, at) => {
        const { tx, bytes } = sign(intent, bench.terms(intent, at));
        const reading = spending.read(bytes, network);
        assert.is(reading.tx, tx);
        assert.is(bench.idOf(bytes), tx);
        if (reading.chainId !== null) assert.is(reading.chainId, network.chainId);
        const needed = keysOf(intent).map(({ key }) => key);
        assert.equal(reading.signers, needed.slice(0, reading.signers.length));
        assert.ok(reading.signers.length > 0);
        assert.ok(reading.feeUnitsMax >= 0n && reading.feeUnitsMax <= network.feeUnitsMax);
        expectMoves(intent, reading);
      }),
      { numRuns: RUNS },
    );
  });

  /** @throws if the effects differ from the intent */
  function expectMoves(intent: Intent, reading: SpendReading): void {
    if (intent.kind === 'gas') {
      assert.is(reading.effects.length, 1);
      const [move] = reading.effects;
      has(move, { token: null, units: intent.units });
      const [gas, owner] = [keyOf({ role: 'gas' }), keyOf(gasReceiver(intent))];
      const ends = [move?.from, move?.to];
      assert.equal(
        intent.form === 'reclaim' ? ends.sort() : ends,
        intent.form === 'reclaim' ? [gas, owner].sort() : [gas, owner],
      );
      return;
    }
    const token = network.tokens.find(({ symbol }) => symbol === intent.currency)?.address ?? '';
    const expected = isPayback(intent)
      ? [{ token, from: keyOf({ role: 'refund' }), to: intent.to, units: intent.units }]
      : (intent.kind === 'sweep' ? intent.from : []).map((owner) => ({
          token,
          from: keyOf({ role: 'collection', index: owner.index }),
          to: network.treasury,
          units: owner.units,
        }));
    assert.equal(sorted(reading.effects), sorted(expected));
  }

  property('the same order gives the same bytes; other terms give others; keys are left as they were', () => {
    fc.assert(
      fc.property(anyIntent, variant, (intent, at) => {
        const keys = keysOf(intent);
        const order = { network, intent, terms: bench.terms(intent, at) };
        const first = spending.sign(order, keys);
        assert.equal(spending.sign(order, keys), first);
        assert.equal(keys, keysOf(intent));
        const other = sign(intent, bench.terms(intent, (at + 1) % 100));
        assert.is.not(other.tx, first.tx);
      }),
      { numRuns: RUNS },
    );
  });

  property('no secret is in the bytes', () => {
    for (const intent of samples) {
      const text = Buffer.from(sign(intent, bench.terms(intent, 0)).bytes).toString('hex');
      for (const { secret } of keysOf(intent)) assert.not.match(text, Buffer.from(secret).toString('hex'));
    }
  });

  property('bytes with any one byte changed are refused or read differently', () => {
    for (const intent of samples) {
      const { bytes } = sign(intent, bench.terms(intent, 0));
      const whole = spending.read(bytes, network);
      const meaning = (reading: SpendReading) => [
        sorted(reading.effects),
        reading.signers,
        reading.chainId,
        reading.feeUnitsMax,
      ];
      for (let at = 0; at < bytes.length; at++) {
        for (const flip of process.env.TEST_DEEP ? [1 << (at % 8), 0xff] : [1 << (at % 8)]) {
          const mutant = bytes.map((byte, place) => (place === at ? byte ^ flip : byte));
          let reading: SpendReading;
          try {
            reading = spending.read(mutant, network);
          } catch (error) {
            assert.ok(error instanceof Fault && error.code === 'spend_bytes_unknown', `byte ${at}: ${error}`);
            continue;
          }
          assert.not.equal(meaning(reading), meaning(whole), `byte ${at} of ${intent.kind} can be changed unnoticed`);
        }
      }
    }
  });

  property('bytes that were cut, extended or made up are refused', () => {
    for (const intent of samples) {
      const { bytes } = sign(intent, bench.terms(intent, 0));
      for (const wrong of [
        new Uint8Array(),
        Uint8Array.of(0),
        Uint8Array.of(2),
        new Uint8Array(200),
        bytes.subarray(1),
        bytes.subarray(0, -1),
        Uint8Array.from([...bytes, 0]),
        Uint8Array.from([...bytes, ...bytes]),
      ]) {
        assert.is(faultIn(() => spending.read(wrong, network)).code, 'spend_bytes_unknown');
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (junk) => {
        assert.is(faultIn(() => spending.read(junk, network)).code, 'spend_bytes_unknown');
      }),
      { numRuns: runs(300) },
    );
  });

  property('what is signed for one network is not read on another', () => {
    for (const intent of samples) {
      const { bytes } = sign(intent, bench.terms(intent, 0));
      const isBound = spending.read(bytes, network).chainId !== null || intent.kind !== 'gas';
      if (isBound) assert.is(faultIn(() => spending.read(bytes, elsewhere)).code, 'spend_bytes_unknown');
    }
  });

  property('terms that are missing, malformed, unknown or too expensive are refused', () => {
    for (const intent of samples) {
      const terms = bench.terms(intent, 0);
      const wrong: Terms[] = [{}, { ...terms, surprise: '1' }, bench.dearTerms(intent)];
      for (const term of Object.keys(terms)) {
        const { [term]: _, ...others } = terms;
        wrong.push(others);
        for (const text of ['', ' ', '-1', '1.5', '1e3', '0x', 'zz', '٣', `${terms[term]} `, '9'.repeat(90)]) {
          wrong.push({ ...terms, [term]: text });
        }
      }
      for (const bad of wrong) {
        const fault = faultIn(() => sign(intent, bad));
        assert.is(fault.code, 'spend_terms_invalid', JSON.stringify(bad));
        assert.is(fault.kind, 'permanent');
      }
      const cheap = { ...network, feeUnitsMax: 0n };
      assert.is(faultIn(() => sign(intent, terms, cheap)).code, 'spend_terms_invalid');
    }
  });

  property('intents that cannot be paid are refused', () => {
    const token = chain.address.parse(network.tokens[0]?.address ?? '') ?? '';
    const refund = keyOf({ role: 'refund' });
    const wrong: Intent[] = [
      { ...sample, units: 0n },
      { ...sample, units: -1n },
      { ...sample, units: 2n ** 256n },
      { ...sample, to: '' },
      { ...sample, to: sample.to.slice(2) },
      { ...sample, to: sample.to.toUpperCase().replace(/^./, 'G') },
      { ...sample, to: token },
      { ...sample, to: refund },
    ];
    const sweep = fc.sample(sweeps, { numRuns: 1, seed: 3 })[0] as SweepIntent;
    const owner = { index: 5, units: 10n };
    const crowd = Array.from({ length: chain.spendRules.sweepOwnersMax + 1 }, (_, at) => ({ ...owner, index: at }));
    wrong.push({ ...sweep, from: [] }, { ...sweep, from: crowd }, { ...sweep, from: [{ ...owner, units: 0n }] });
    const [gas] = bench.gasForms.length > 0 ? fc.sample(gases, { numRuns: 1, seed: 3 }) : [];
    if (gas) wrong.push({ ...gas, units: 0n });
    for (const form of ['transfer', 'delegate', 'reclaim'] as const) {
      if (gas && !bench.gasForms.includes(form)) wrong.push({ ...gas, form });
    }
    for (const bad of wrong) {
      const valid = bad.kind === 'refund' ? sample : bad.kind === 'sweep' ? sweep : (gas ?? bad);
      const fault = faultIn(() => sign(bad, bench.terms(valid, 0)));
      assert.is(
        fault.code,
        'spend_intent_invalid',
        `${bad.kind} ${JSON.stringify(bad, (_, part) => (typeof part === 'bigint' ? `${part}` : part))}`,
      );
      assert.is(fault.kind, 'permanent');
    }
    const none: SpendNetwork = {
      ...network,
      tokens: network.tokens.filter(({ symbol }) => symbol !== sample.currency),
    };
    assert.is(faultIn(() => sign(sample, bench.terms(sample, 0), none)).code, 'spend_intent_invalid');
  });

  property('sweeps go to the treasury of the policy', () => {
    const sweep = fc.sample(sweeps, { numRuns: 1, seed: 9 })[0] as SweepIntent;
    const moved = { ...network, treasury: bench.payee(5_000) };
    const reading = spending.read(sign(sweep, bench.terms(sweep, 0), moved).bytes, moved);
    assert.ok(reading.effects.every(({ token, to }) => token === null || to === moved.treasury));
  });

  test.run();
}
