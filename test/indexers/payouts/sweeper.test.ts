/**
 * Plans of a sweeper: with a real database, a real signing service, and the families' payout clients in front of
 * simulated nodes.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SweepPolicy } from '../../../src/core/sweep.ts';
import { fails } from '../../conformance/database/place.ts';
import { ingestStep } from '../../support/ingested-chain.ts';
import { networkReport } from '../../support/network-report.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { until } from '../../support/until.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const PAR = 10n ** 18n;
const CENT = 10_000n;
test.after(closeBenches);

/** Opens ten addresses of the seed, or more, the last one foreign, on a network whose payments are final at once. */
async function openBench(family: 'evm' | 'solana', sweep: SweepPolicy = plainSweepPolicy, count = 10) {
  const bench = await openNodeBench(family, { sweep });
  const { database, clock, sim } = bench;
  const own = Array.from({ length: count - 1 }, (_, index) => bench.depositKey(index).key);
  const keys = [...own, thief[family]];
  await bench.addDeposits(keys);

  /** Records final payments in the database; `onChain`: those that are on the chain too. */
  async function receive(amounts: Readonly<Record<number, number>>, onChain = true): Promise<void> {
    const [parent] = await database.blocks.tail(network, 1);
    const number = (parent?.number ?? 0) + 1;
    const block = { hash: `b${number}`, parent: parent?.hash ?? '', number, timeS: Math.floor(clock.nowMs() / 1000) };
    const transfers = Object.entries(amounts).map(([index, cents]) => ({
      tx: `t${number}.${index}`,
      index: 0,
      currency: 'USDT' as const,
      from: bench.treasury,
      to: keys[Number(index)] ?? '',
      units: BigInt(cents) * CENT,
    }));
    for (const step of [
      { expectTip: parent?.hash ?? null, connect: [{ block, transfers }] },
      { expectTip: block.hash, confirm: [block], floor: number },
    ]) {
      const of = { network, family, nowMs: clock.nowMs() };
      assert.is(await database.blocks.ingest(ingestStep({ ...of, ...step })), 'done');
    }
    if (onChain) for (const { to, units } of transfers) sim.pay(to, units);
    sim.world.mine();
  }

  return { ...bench, receive, gasWallet: bench.walletKey('gas', 0).key, watch: bench.sweepWatch() };
}

const reasons = (left: readonly Readonly<{ owner: { index: number }; why: string }>[]) =>
  left.map(({ owner, why }) => [owner.index, why]);

test('what is due is priced with its gas; what is foreign, missing, small or expensive is left, with the reason', async () => {
  const { sim, judgeSweeps, receive, gasWallet } = await openBench('evm');
  await receive({ 0: 5_000, 1: 2_000, 2: 1_999, 9: 9_000 });
  await receive({ 3: 7_000 }, false);
  sim.world.fund(gasWallet, COIN.evm);
  sim.world.mine();
  const plan = await judgeSweeps();
  assert.equal(
    plan.sweeps.map(({ sweep, before, after }) => [sweep.from, before.length, after]),
    [
      [[{ index: 0, units: 5_000n * CENT }], 1, null],
      [[{ index: 1, units: 2_000n * CENT }], 1, null],
    ],
  );
  for (const { costUnits, before, sharePpm } of plan.sweeps) {
    assert.is(sharePpm, null, 'the price is unknown');
    const [gas] = before;
    assert.ok(gas && costUnits > 0n && gas.units < costUnits * 2n && gas.units > 0n);
  }
  assert.equal(reasons(plan.left), [
    [9, 'not_ours'],
    [3, 'refused'],
    [2, 'too_small'],
  ]);
  assert.match(plan.left[1]?.detail ?? '', 'token_short');

  // A price at which the sweep of 20 is too expensive, and that of 50 is not.
  const cost = plan.sweeps[0]?.costUnits ?? 0n;
  const nativePricePar = (COIN.evm * (30n * PAR)) / (cost * 50n);
  const judged = await judgeSweeps({ ...plainSweepPolicy, nativePricePar });
  assert.equal(
    judged.sweeps.map(({ sweep }) => sweep.from[0]?.index),
    [0],
  );
  assert.ok(judged.left.some(({ owner, why }) => owner.index === 1 && why === 'too_expensive'));
});

test('addresses that were emptied by a lost run keep no others from being swept', async () => {
  const { sim, judgeSweeps, receive, gasWallet } = await openBench('evm', plainSweepPolicy, 205);
  sim.world.fund(gasWallet, COIN.evm);
  const emptied = Object.fromEntries(Array.from({ length: 203 }, (_, index) => [index, 9_000]));
  await receive(emptied, false);
  await receive({ 203: 3_000 });
  const swept = async () => {
    const { sweeps, left } = await judgeSweeps();
    return [sweeps.map(({ sweep }) => sweep.from[0]?.index), left.length];
  };
  assert.equal(await swept(), [[203], 203]);
});

test('a treasury that is one of our deposit addresses is refused before any request', async () => {
  const { treasury, judgeSweeps, receive, addDeposits } = await openBench('evm');
  await receive({ 0: 5_000 });
  await addDeposits([treasury], 10);
  await fails(judgeSweeps(), 'treasury_collects');
});

test('a sweep of missing money is withdrawn, and planned again without it', async () => {
  const policy = { ...plainSweepPolicy, minPar: PAR };
  const { sim, database, clock, sweeper, judgeSweeps, receive, gasWallet, treasury } = await openBench(
    'solana',
    policy,
  );
  sim.pay(treasury, 1n);
  sim.world.fund(gasWallet, COIN.solana);
  await receive({ 0: 500, 1: 600 });
  const [id] = await sweeper.commit(await judgeSweeps());
  assert.ok(id);
  const nowMs = clock.nowMs();
  const wait = { code: 'token_short', message: 'somebody took it' };
  await database.payouts.recordWait({ id, generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  assert.equal((await judgeSweeps()).sweeps, []);
  assert.is(await sweeper.tend(), 1);
  assert.is((await database.payouts.find(id))?.state, 'canceled');
  const again = await sweeper.commit(await judgeSweeps());
  assert.is(again.length, 1);
  assert.is.not(again[0], id);
});

test('a database that is older than the newest signatures sweeps nothing', async () => {
  const { database, judgeSweeps, receive, clock, journal } = await openBench('evm');
  await receive({ 0: 5_000 });
  journal.raiseFence(network, 4, clock.nowMs());
  await fails(judgeSweeps(), 'payouts_not_adopted');
  await database.payouts.adopt(network, { signatures: [], servedFence: 4, nowMs: clock.nowMs() });
  const { left, sweeps } = await judgeSweeps();
  assert.is(left.length + sweeps.length, 1);
});

test('a group with one that cannot pay is swept without it', async () => {
  const { sim, judgeSweeps, receive, gasWallet, treasury } = await openBench('solana', {
    ...plainSweepPolicy,
    minPar: PAR,
  });
  sim.pay(treasury, 1n);
  sim.world.fund(gasWallet, COIN.solana);
  await receive({ 0: 500, 1: 600 });
  await receive({ 2: 700 }, false);
  const plan = await judgeSweeps();
  assert.equal(
    plan.sweeps.map(({ sweep, before }) => [sweep.from.map(({ index }) => index), before]),
    [
      [[1], []],
      [[0], []],
    ],
  );
  assert.equal(reasons(plan.left), [[2, 'refused']]);
});

test('the watch records unswept money, and sweeps only if the policy says so', async () => {
  for (const auto of [false, true]) {
    const bench = await openBench('evm', { ...plainSweepPolicy, auto });
    const { sim, database, watch, receive, gasWallet, clock } = bench;
    await receive({ 0: 5_000, 2: 100, 9: 9_000 });
    sim.world.fund(gasWallet, COIN.evm);
    sim.world.mine();
    assert.is(await watch.look(), auto ? 1 : 0);
    assert.is(await watch.look(), 0);
    const [level] = await database.sweeps.listUnswept();
    const openUnits = auto ? 5_000n * CENT : 0n;
    const units = 14_100n * CENT - openUnits;
    const common = { network, currency: 'USDT', owners: 3, readAtMs: clock.nowMs() };
    assert.equal(level, { ...common, units, openUnits });
    const kinds = (await database.payouts.list({ limit: 10 })).map(({ intent }) => intent.kind).sort();
    assert.equal(kinds, auto ? ['gas', 'sweep'] : []);
    const alarms = (await database.alarms.list(10)).filter(({ code }) => code === 'sweep_not_ours');
    assert.is(alarms.length, auto ? 1 : 0, 'raised once');
  }
});

test('the watch waits for its network, runs at once and then every ten minutes, and stops when asked to', async () => {
  const { sim, database, watch, receive, gasWallet, clock } = await openBench('evm', {
    ...plainSweepPolicy,
    auto: true,
  });
  sim.world.fund(gasWallet, COIN.evm);
  await receive({ 0: 5_000 });
  const plannedAt = async () => (await database.payouts.list({ kind: 'sweep', state: 'waiting', limit: 9 })).length;
  const report = (state: 'following' | 'fault') =>
    database.networks.report(networkReport(network, clock.nowMs(), { state }));
  await report('fault');
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  const startMs = clock.nowMs();
  await until('time passes', () => clock.nowMs() > startMs + 3_600_000);
  assert.is(await plannedAt(), 0, 'it is not followed');
  await until('it is swept', async () => {
    await report('following');
    return (await plannedAt()) === 1;
  });
  await receive({ 1: 6_000 });
  const laterMs = clock.nowMs();
  await until('the next pass sweeps the rest', async () => {
    await report('following');
    return (await plannedAt()) === 2;
  });
  assert.ok(clock.nowMs() > laterMs);
  stopping.abort();
  await running;
});

test.run();
