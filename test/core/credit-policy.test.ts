/** When payments are credited: by depth, by finality, by amount; and that nobody gains by splitting one. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CreditPolicy,
  type CreditTier,
  finalityLagMax,
  type Heights,
  judgedPar,
  lacks,
  namesFinality,
  needsSecondNode,
  usualDepth,
  usualDepthMax,
  waitsForFinality,
} from '../../src/core/credit-policy.ts';

const at = (tip: number, final: number | null = null, safe: number | null = null): Heights => ({ tip, safe, final });
const lackOf = (policy: CreditPolicy, par: bigint, heights: Heights): string =>
  [...lacks(policy, par, 10, heights)].join(' ');

for (const [about, policy, heights, expected] of [
  ['the tip counts as one confirmation', [{ blocks: 1 }], at(10), ''],
  ['one block short', [{ blocks: 3 }], at(11), 'depth'],
  ['exactly deep enough', [{ blocks: 3 }], at(12), ''],
  ['the node reports no final block', [{ finality: 'finalized' }], at(999), 'finalized'],
  ['above the final block', [{ finality: 'finalized' }], at(999, 9), 'finalized'],
  ['the final block itself', [{ finality: 'finalized' }], at(999, 10), ''],
  ['deep, and no block is final', [{ blocks: 3, finality: 'finalized' }], at(50), 'finalized'],
  ['final, and not deep enough', [{ blocks: 3, finality: 'finalized' }], at(11, 10), 'depth'],
  ['final and deep', [{ blocks: 3, finality: 'finalized' }], at(12, 10), ''],
  ['safe', [{ finality: 'safe' }], at(12, null, 10), ''],
  ['not safe yet', [{ finality: 'safe' }], at(12, null, 9), 'safe'],
  ['final blocks are safe', [{ finality: 'safe' }], at(12, 10, null), ''],
  ['what is held was made by the sequencer', [{ finality: 'sequencer' }], at(10), ''],
  ['what is held is confirmed', [{ finality: 'confirmed' }], at(10), ''],
] as const) {
  test(`one tier: ${about}`, () => assert.is(lackOf(policy, 1n, heights), expected));
}

const ethereum: CreditPolicy = [{ blocks: 12 }, { fromPar: 100n, finality: 'finalized', usual: 64 }];
const rollup: CreditPolicy = [
  { finality: 'sequencer' },
  { fromPar: 10n, finality: 'safe', usual: 150 },
  { fromPar: 100n, finality: 'finalized', usual: 600 },
  { fromPar: 1000n, secondNode: true },
];

test('a tier begins at its amount, and what the tiers below need is needed too', () => {
  assert.is(lackOf(ethereum, 0n, at(20)), 'depth', 'of any amount');
  assert.is(lackOf(ethereum, 99n, at(21)), '');
  assert.is(lackOf(ethereum, 100n, at(21)), 'finalized');
  assert.is(lackOf(ethereum, 100n, at(20, 10)), 'depth');
  assert.is(lackOf(ethereum, 100n, at(21, 10)), '');
  assert.equal(
    [9n, 10n, 99n, 100n].map((par) => lackOf(rollup, par, at(500))),
    ['', 'safe', 'safe', 'safe finalized'],
  );
  assert.equal(
    [999n, 1000n].map((par) => needsSecondNode(rollup, par)),
    [false, true],
  );
});

test('people are shown the usual depth of their amount', () => {
  assert.equal(
    [99n, 100n].map((par) => usualDepth(ethereum, par)),
    [12, 64],
  );
  assert.equal(
    [9n, 10n, 100n].map((par) => usualDepth(rollup, par)),
    [1, 150, 600],
  );
  assert.is(usualDepth([{ finality: 'finalized', usual: 3 }], 1n), 3);
  assert.is(usualDepth([{ blocks: 19, finality: 'finalized' }], 1n), 19);
  assert.is(usualDepthMax(ethereum), 64);
  assert.equal(
    [99n, 100n].map((par) => waitsForFinality(ethereum, par)),
    [false, true],
  );
  assert.is(waitsForFinality(rollup, 9n), false);
});

test('an amount is all that is not final; all that ever came if finality lags behind the floor', () => {
  const received = { openPar: 5n, allPar: 9n };
  assert.is(judgedPar(ethereum, received, 50, 50), 5n);
  assert.is(judgedPar(ethereum, received, 50, 49), 9n);
  assert.is(judgedPar(ethereum, received, 50, null), 9n);
  assert.is(judgedPar([{ blocks: 3 }, { fromPar: 7n, blocks: 9 }], received, 50, null), 5n, 'no tier asks for it');
});

test('finality that payments wait for is watched', () => {
  assert.is(finalityLagMax([{ blocks: 19 }], 'finalized', 3_000), null);
  assert.is(finalityLagMax([{ blocks: 19, finality: 'finalized' }], 'finalized', 3_000), 100);
  assert.is(finalityLagMax(ethereum, 'finalized', 12_000), 128);
  assert.is(finalityLagMax(rollup, 'safe', 2_000), 300);
  assert.ok(namesFinality(rollup, 'safe') && !namesFinality(ethereum, 'safe'));
});

const tier: fc.Arbitrary<CreditTier> = fc
  .record({
    blocks: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    finality: fc.constantFrom(undefined, 'safe' as const, 'finalized' as const),
  })
  .map(({ blocks, finality }) => ({ ...(blocks && { blocks }), ...(finality && { finality }) }));
const policies: fc.Arbitrary<CreditPolicy> = fc
  .tuple(tier, fc.uniqueArray(fc.bigInt({ min: 1n, max: 90n }), { maxLength: 3 }), tier, tier, tier)
  .map(([base, froms, ...above]) => [
    base,
    ...froms.sort((one, other) => Number(one - other)).map((fromPar, n) => ({ fromPar, ...above[n] })),
  ]);

test('no session ever has a tier’s amount credited without what it needs, and nothing waits longer than it must', () => {
  const payment = fc.record({ session: fc.integer({ min: 0, max: 2 }), par: fc.bigInt({ min: 1n, max: 70n }) });
  const step = fc.record({ payments: fc.array(payment, { maxLength: 4 }), finalized: fc.integer({ min: 0, max: 4 }) });
  fc.assert(
    fc.property(policies, fc.array(step, { maxLength: 30 }), (policy, steps) => {
      const chain: { number: number; session: number; par: bigint; isCredited: boolean }[] = [];
      let final = -1;
      for (const [tip, { payments, finalized }] of steps.entries()) {
        for (const one of payments) chain.push({ number: tip, ...one, isCredited: false });
        final = Math.min(final + finalized, tip);
        const heights = { tip, safe: final, final };
        const openPar = (session: number) =>
          chain.filter((one) => one.session === session && one.number > final).reduce((sum, { par }) => sum + par, 0n);
        for (const one of chain) {
          const received = { openPar: one.number > final ? openPar(one.session) : one.par, allPar: 0n };
          const judged = judgedPar(policy, received, final, final);
          if (lacks(policy, judged, one.number, heights).size === 0) one.isCredited = true;
          else assert.ok(one.isCredited || lacks(policy, 1000n, one.number, heights).size > 0);
        }
        for (const { fromPar = 0n, blocks = 1, finality } of policy) {
          const without = chain.filter(
            ({ number, isCredited }) =>
              isCredited && number > final && (finality !== undefined || tip - number + 1 < blocks),
          );
          for (const session of [0, 1, 2]) {
            const exposed = without.filter((one) => one.session === session).reduce((sum, { par }) => sum + par, 0n);
            assert.ok(exposed === 0n || exposed < fromPar, `${exposed} is credited without what ${fromPar} needs`);
          }
        }
      }
    }),
  );
});

test.run();
