/** Which addresses are swept and which are left: single cases, and properties that hold for any owners. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  costSharePpm,
  gasIntent,
  groupSweeps,
  isPlanStale,
  isTooExpensive,
  judgeOwners,
  type SweepOwner,
  type SweepPolicy,
  sweepIntent,
} from '../../src/core/sweep.ts';

const NOW_MS = 1_800_000_000_000;
const PAR = 10n ** 18n;
const policy: SweepPolicy = { auto: false, minPar: 20n * PAR, costSharePpmMax: 20_000n, nativePricePar: 3000n * PAR };
const decimalsOf = () => 6;

const owner = (more: Partial<SweepOwner> = {}): SweepOwner => ({
  index: 1,
  key: 'aa',
  currency: 'USDT',
  units: 20_000_000n,
  openUnits: 0n,
  sweepCount: 0,
  ...more,
});
const whyOf = (one: SweepOwner): string | undefined => {
  const { due, left } = judgeOwners([one], policy, decimalsOf);
  return due[0] ? 'due' : left[0]?.why;
};

test('an address is swept for its value, but not while another sweep of it is open', () => {
  assert.is(whyOf(owner()), 'due');
  assert.is(whyOf(owner({ units: 19_999_999n })), 'too_small');
  assert.is(whyOf(owner({ openUnits: 1n })), 'in_flight');
  assert.is(whyOf(owner({ units: 0n })), undefined);
});

test('a sweep that waits ten minutes for its signature is stale, unless something is on its way or a wallet is short', () => {
  const old = NOW_MS - 600_000;
  const waiting = { state: 'waiting', wait: null, createdAtMs: old, settledAtMs: null } as const;
  const waitFor = (code: string) => ({ ...waiting, wait: { code, message: 'any' } });
  const isStale = (sweep: Parameters<typeof isPlanStale>[0], ...gas: Parameters<typeof isPlanStale>[1]) =>
    isPlanStale(sweep, gas, NOW_MS);
  assert.is(isStale(waiting), true);
  assert.is(isStale({ ...waiting, createdAtMs: old + 1 }), false, 'its cost was judged just now');
  assert.is(isStale(waiting, waiting), true, 'its gas is not signed either');
  for (const state of ['sent', 'stuck', 'succeeded', 'failed', 'canceled'] as const) {
    assert.is(isStale({ ...waiting, state }), false, state);
  }
  for (const state of ['sent', 'stuck'] as const) assert.is(isStale(waiting, { ...waiting, state }), false, state);
  const ended = { ...waiting, state: 'succeeded', settledAtMs: old } as const;
  assert.is(isStale(waiting, ended), true);
  assert.is(isStale(waiting, ended, { ...ended, settledAtMs: old + 1 }), false, 'it waited for its gas until then');
  for (const code of ['native_short', 'signer_refused_cap']) {
    assert.equal([isStale(waitFor(code)), isStale(waiting, waitFor(code))], [false, false], code);
  }
  assert.is(isStale(waitFor('payout_nonce_unsettled')), true);
});

test('the cost is compared with the value, rounded up', () => {
  // 0.001 coins at 3000 are 3 of 150: 2 %.
  const cost = 10n ** 15n;
  assert.is(costSharePpm(cost, 18, 150n * PAR, policy), 20_000n);
  assert.is(isTooExpensive(20_000n, policy), false);
  assert.is(costSharePpm(cost + 1n, 18, 150n * PAR, policy), 20_001n);
  assert.is(isTooExpensive(20_001n, policy), true);
  assert.is(costSharePpm(cost, 18, PAR, { nativePricePar: null }), null);
  assert.is(isTooExpensive(null, policy), false);
});

test('the same sweep has the same id; another count, amount, network or currency has another', () => {
  const idOf = (more: Partial<SweepOwner>, network: 'test:a' | 'test:b' = 'test:a') =>
    sweepIntent(network, { currency: more.currency ?? 'USDT', owners: [owner(more)] }).id;
  const ids = [
    idOf({}),
    idOf({ sweepCount: 1 }),
    idOf({ units: 1n }),
    idOf({ index: 2 }),
    idOf({}, 'test:b'),
    idOf({ currency: 'USDC' }),
  ];
  assert.is(new Set(ids).size, ids.length);
  assert.is(idOf({}), ids[0]);
  assert.match(ids[0] ?? '', /^sw_[0-9a-f]{26}$/);
  const gasIdOf = (id: string, form: 'transfer' | 'delegate') => gasIntent({ id, network: 'test:a' }, form, 1, 5n).id;
  const gasIds = [gasIdOf('sw_a', 'transfer'), gasIdOf('sw_a', 'delegate'), gasIdOf('sw_b', 'transfer')];
  assert.is(new Set(gasIds).size, 3);
});

const anyOwner = fc.record({
  index: fc.nat(1_000_000),
  key: fc.constant('aa'),
  currency: fc.constantFrom('USDT' as const, 'USDC' as const),
  units: fc.bigInt(0n, 100_000_000n),
  openUnits: fc.constantFrom(0n, 0n, 5n),
  sweepCount: fc.nat(3),
});
const anyOwners = fc.uniqueArray(anyOwner, { selector: ({ index, currency }) => `${index}${currency}`, maxLength: 60 });

test('every owner is swept once, left once, or has nothing; no transaction is too large or mixes currencies', () => {
  fc.assert(
    fc.property(anyOwners, fc.integer({ min: 1, max: 7 }), (owners, ownersMax) => {
      const { due, left } = judgeOwners(owners, policy, decimalsOf);
      const groups = groupSweeps(due, ownersMax);
      const swept = groups.flatMap((group) => group.owners);
      const empty = owners.filter(({ units, openUnits }) => units === 0n && openUnits === 0n);
      assert.is(swept.length + left.length + empty.length, owners.length);
      assert.is(new Set([...swept, ...left.map((one) => one.owner), ...empty]).size, owners.length);
      const counts = { USDT: 0, USDC: 0 };
      for (const group of groups) {
        assert.ok(group.owners.length >= 1 && group.owners.length <= ownersMax);
        assert.ok(group.owners.every(({ currency }) => currency === group.currency));
        assert.ok(group.owners.every(({ units }) => units > 0n));
        counts[group.currency]++;
        const { from } = sweepIntent('test:a', group);
        assert.is(new Set(from.map(({ index }) => index)).size, from.length);
      }
      for (const currency of ['USDT', 'USDC'] as const) {
        const number = swept.filter((one) => one.currency === currency).length;
        assert.is(counts[currency], Math.ceil(number / ownersMax), 'no more transactions than needed');
      }
    }),
  );
});

test('among equal amounts the lower index is swept first, whatever the order of the owners', () => {
  const owners = [5, 2, 9, 4].map((index) => owner({ index, key: String(index) }));
  assert.equal(
    groupSweeps(owners, 3).map((group) => group.owners.map(({ index }) => index)),
    [[2, 4, 5], [9]],
  );
  for (const ownersMax of [0, 1.5]) assert.throws(() => groupSweeps(owners, ownersMax));
});

test('a greater amount is never in a later transaction of its currency than a smaller one', () => {
  fc.assert(
    fc.property(anyOwners, fc.integer({ min: 1, max: 7 }), (owners, ownersMax) => {
      const groups = groupSweeps(judgeOwners(owners, policy, decimalsOf).due, ownersMax);
      for (const currency of ['USDT', 'USDC'] as const) {
        const amounts = groups
          .filter((group) => group.currency === currency)
          .flatMap((group) => group.owners)
          .map(({ units }) => units);
        for (const [at, units] of amounts.entries()) assert.ok(at === 0 || units <= (amounts[at - 1] ?? 0n));
      }
    }),
  );
});

test.run();
