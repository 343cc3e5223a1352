/** Held money as a function of sums: nothing that is confirmed is forgotten or held twice, and decisions are final. */

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  accept,
  type HeldRecord,
  heldKinds,
  heldMoney,
  heldParts,
  nextRecord,
  openPar,
  withoutReturned,
} from '../../src/core/held-money.ts';
import { advance, type Life, newLife, standing, type Terms } from '../../src/core/session.ts';
import { has } from '../support/fields.ts';
import { type Receipt, sumReceipts } from '../support/receipts.ts';
import { runs } from '../support/runs.ts';

const CENT = 10n ** 16n;
const ONE = 100n * CENT;
const EXPIRES_AT_S = 1_000;
const END_S = 50_000;

const terms: Terms = {
  duePar: 10n * ONE,
  tolerancePar: 0n,
  accepts: ['USDT'],
  createdAtS: 0,
  beforeNumbers: {},
  expiresAtS: EXPIRES_AT_S,
  inclusionGraceS: {},
  topUpGraceS: 300,
  monitoringS: 2_000,
  latePolicy: 'hold',
};

const moment = (nowS: number) => ({ nowS, readThroughS: nowS, rewoundAtS: 0, outageWaitS: 600 });

const anyReceipt = fc.record({
  network: fc.constantFrom('test:one' as const, 'test:two' as const),
  tx: fc.uuid(),
  currency: fc.constantFrom('USDT' as const, 'USDT' as const, 'USDC' as const),
  decimals: fc.constant(18),
  units: fc.integer({ min: 1, max: 15 }).map((cents) => BigInt(cents) * ONE),
  blockNumber: fc.constant(1),
  blockTimeS: fc.constantFrom(500, 1_200, 1_500, 9_000),
  state: fc.constantFrom<Receipt['state']>('seen', 'confirmed', 'final', 'orphaned'),
});
const anyWorld = fc.record({
  receipts: fc.array(anyReceipt, { maxLength: 5 }),
  latePolicy: fc.constantFrom('hold' as const, 'accept' as const),
  canceledAtS: fc.constantFrom(null, null, 400),
});

/** Returns a session's life once every deadline has passed. */
function ended({ receipts, latePolicy, canceledAtS }: typeof anyWorld extends fc.Arbitrary<infer T> ? T : never) {
  const own: Terms = { ...terms, latePolicy };
  const sums = sumReceipts(own, receipts);
  const canceled: Life = { ...newLife, status: 'canceled', endedAtS: 400, canceledAtS };
  const { life } = advance(own, canceledAtS === null ? newLife : canceled, sums, moment(END_S));
  const firm = receipts.filter(({ state }) => state === 'confirmed' || state === 'final');
  const parOf = (all: readonly Receipt[]) => all.reduce((sum, { units }) => sum + units, 0n);
  return { terms: own, sums, life, allPar: parOf(firm), takenPar: parOf(firm.filter((r) => r.currency === 'USDT')) };
}

test('after the end every confirmed unit pays the session or is held, exactly once', () => {
  fc.assert(
    fc.property(anyWorld, (world) => {
      const { terms: own, sums, life, allPar, takenPar } = ended(world);
      if (life.status === 'pending') return;
      const held = heldMoney(own, life, sums);
      assert.is(new Set(held.map(({ kind }) => kind)).size, held.length);
      const heldPar = held.reduce((sum, { valuePar }) => sum + valuePar, 0n);
      const pays = life.status === 'paid' ? own.duePar : 0n;
      assert.is(heldPar, allPar - pays);
      const wrong = held.find(({ kind }) => kind === 'wrong_token')?.valuePar ?? 0n;
      assert.is(wrong, allPar - takenPar);
    }),
    { numRuns: runs(5_000) },
  );
});

test('accepting pays an ended session with all that it received, and never changes a paid one', () => {
  fc.assert(
    fc.property(anyWorld, fc.boolean(), (world, isAtPar) => {
      const { terms: own, sums, life, allPar, takenPar } = ended(world);
      for (const { kind } of heldMoney(own, life, sums)) {
        const done = accept(own, life, sums, kind, isAtPar, moment(END_S));
        const isSettledOnly = life.status === 'paid' || (kind === 'wrong_token' && !isAtPar);
        assert.is(done.effect === 'acknowledged', isSettledOnly, kind);
        if (isSettledOnly) {
          assert.equal(done.life, life);
          continue;
        }
        if (life.status === 'pending') continue;
        assert.equal(
          { effect: done.effect, status: done.life.status, endedAtS: done.life.endedAtS },
          { effect: 'paid', status: 'paid', endedAtS: life.endedAtS },
        );
        assert.is(done.standing.confirmedPar, kind === 'wrong_token' ? allPar : takenPar);
        const left = heldMoney(own, done.life, sums);
        assert.equal(
          left.filter((one) => one.kind === kind || one.kind === 'late' || one.kind === 'short'),
          [],
        );
        assert.equal(advance(own, done.life, sums, moment(END_S + 1)).life, done.life, 'the clock changes nothing');
      }
    }),
    { numRuns: runs(5_000) },
  );
});

test('a record opens, is settled or goes, and opens again only for more than was decided about', () => {
  const step = (record: HeldRecord | null, cents: bigint) => nextRecord(record, cents * CENT);
  assert.is(step(null, 0n), null);
  const open = step(null, 250n);
  assert.equal(open, { state: 'open', valuePar: 250n * CENT, settledPar: 0n });
  assert.is(step(open, 0n)?.state, 'gone');
  assert.is(step(step(open, 0n), 1n)?.state, 'open');
  const settled: HeldRecord = { state: 'settled', valuePar: 250n * CENT, settledPar: 250n * CENT };
  assert.is(step(settled, 250n)?.state, 'settled');
  assert.is(step(settled, 0n)?.state, 'settled', 'a reorg takes it');
  assert.is(step(step(settled, 0n), 250n)?.state, 'settled', 'and brings it back');
  const more = step(settled, 300n);
  assert.is(more?.state, 'open');
  assert.is(more && openPar(more), 50n * CENT);
  assert.is(step(more, 250n)?.state, 'settled');
  const crumb = nextRecord(settled, 251n * CENT - 1n);
  assert.is(crumb?.state, 'settled', 'less than a cent is nothing to decide about');
  assert.equal([...heldKinds].sort(), ['late', 'short', 'surplus', 'wrong_token']);
});

test('a returned part is gone from what is held, and nothing else changes: not what is paid, not the other kinds', () => {
  fc.assert(
    fc.property(anyWorld, fc.nat(), (world, choice) => {
      const { terms: own, sums, life } = ended(world);
      const before = heldMoney(own, life, sums);
      const kinds = before.flatMap(({ kind, valuePar }) =>
        heldParts(own, life, sums, kind, valuePar).map((part) => ({ kind, ...part })),
      );
      const part = kinds[choice % Math.max(kinds.length, 1)];
      if (!part) return;
      assert.is(part.units, part.amountMinor * CENT, 'these tokens have 18 decimals');
      const after = withoutReturned(sums, [part]);
      const was = (kind: string) => before.find((one) => one.kind === kind)?.valuePar ?? 0n;
      const left = heldMoney(own, life, after);
      for (const kind of heldKinds) {
        const now = left.find((one) => one.kind === kind)?.valuePar ?? 0n;
        assert.is(now, was(kind) - (kind === part.kind ? part.units : 0n), kind);
      }
      const [then, now] = [standing(own, life, sums), standing(own, life, after)];
      const isCounted = part.kind === 'short' || part.kind === 'surplus';
      has(now, { confirmedPar: then.confirmedPar - (isCounted ? part.units : 0n), touched: then.touched });
      if (life.status === 'paid' && then.confirmedPar >= own.duePar) assert.ok(now.confirmedPar >= own.duePar);
    }),
    { numRuns: runs(2_000) },
  );
});

const receipt = (more: Partial<Receipt>): Receipt => ({
  network: 'test:one',
  tx: JSON.stringify(more, (_, value) => String(value)),
  currency: 'USDT',
  decimals: 18,
  units: ONE,
  blockNumber: 1,
  blockTimeS: 500,
  state: 'confirmed',
  ...more,
});
/** Returns the life of a session that takes both coins, after every deadline. */
function endOf(receipts: readonly Receipt[], own: Terms = { ...terms, accepts: ['USDT', 'USDC'] }) {
  const sums = sumReceipts(own, receipts);
  return [own, advance(own, newLife, sums, moment(END_S)).life, sums] as const;
}

test('a cent is held and less is not, in the currency of the larger part', () => {
  const half = receipt({ units: CENT / 2n });
  const other = receipt({ currency: 'USDC', units: 3n * ONE });
  assert.equal(heldMoney(...endOf([receipt({ units: CENT })])), [{ kind: 'short', valuePar: CENT, currency: 'USDT' }]);
  assert.equal(heldMoney(...endOf([half])), []);
  const larger = (...receipts: Receipt[]) => heldMoney(...endOf(receipts))[0]?.currency;
  assert.equal([larger(receipt({}), other), larger(receipt({ units: 4n * ONE }), other)], ['USDC', 'USDT']);
  const [own, , sums] = endOf([receipt({ blockTimeS: 9_000 })]);
  assert.equal(heldMoney(own, newLife, sums), [], 'a pending session holds no late money');
});

test('held money has a part for each token on each network, in whole cents and up to what is open', () => {
  const shown = endOf([
    receipt({ units: 2n * ONE }),
    receipt({ network: 'test:two', currency: 'USDC', decimals: 6, units: 3_000_000n }),
    receipt({ network: 'test:two', units: CENT / 2n }),
  ]);
  const parts = (open: bigint) =>
    heldParts(...shown, 'short', open).map(({ network, currency, amountMinor, units }) => [
      `${currency} on ${network}`,
      amountMinor,
      units,
    ]);
  assert.equal(parts(9n * ONE), [
    ['USDT on test:one', 200n, 2n * ONE],
    ['USDC on test:two', 300n, 3_000_000n],
  ]);
  assert.equal(parts(ONE), [
    ['USDT on test:one', 100n, ONE],
    ['USDC on test:two', 100n, 1_000_000n],
  ]);
  assert.equal(heldParts(...shown, 'surplus', ONE), []);
  assert.is(openPar({ state: 'settled', valuePar: CENT, settledPar: 2n * CENT }), 0n);
});

test('accepting tells whether the session is paid, goes on, or was paid late', () => {
  const wrong = (units: bigint) => sumReceipts(terms, [receipt({ currency: 'USDC', units })]);
  const now = moment(600);
  const taken = [3n, 10n].map((units) => accept(terms, newLife, wrong(units * ONE), 'wrong_token', true, now));
  assert.equal(
    taken.map(({ effect, life }) => [effect, life.status]),
    [
      ['credited', 'pending'],
      ['paid', 'paid'],
    ],
  );
  const paidLate = (kind: 'late' | 'short', blockTimeS: number) =>
    accept(...endOf([receipt({ units: 4n * ONE, blockTimeS })], terms), kind, true, moment(END_S)).life.paidLate;
  assert.equal({ late: paidLate('late', 9_000), short: paidLate('short', 500) }, { late: true, short: false });
  assert.throws(() => accept(terms, newLife, wrong(ONE), 'surplus', true, now), /surplus/);
});

test.run();
