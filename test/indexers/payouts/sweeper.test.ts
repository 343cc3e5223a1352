/**
 * What a sweeper plans: with a real database, a real signing service, and the families' payout clients in front of
 * simulated nodes.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSweepWatch, readOwners } from '../../../indexers/payouts/sweep-watch.ts';
import { createSweeper } from '../../../indexers/payouts/sweeper.ts';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import { chains } from '../../../src/chains/index.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import type { Wallet } from '../../../src/core/intent.ts';
import type { SweepPolicy } from '../../../src/core/sweep.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { handClock } from '../../support/hand-clock.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { simulatedChains, startSimulatedNode } from '../../support/simulated-node.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { seed } from '../../support/temp-signer.ts';
import { testNetwork } from '../../support/test-network.ts';
import { until } from '../../support/until.ts';
import { closeBenches, closers, openSigner } from './node-bench.ts';

const PAR = 10n ** 18n;
const CENT = 10_000n;
const FOREIGN = 'fe'.repeat(32);
const spendings = { evm: evmSpending, solana: solanaSpending };
test.after(closeBenches);

/** Opens ten addresses of the seed, or more, the last one foreign, on a network whose payments are final at once. */
async function openBench(family: 'evm' | 'solana', sweep: SweepPolicy = plainSweepPolicy, count = 10) {
  const clock = handClock();
  const { chainId, tokens } = simulatedChains[family];
  const sim = await startSimulatedNode({ family, seed: 'sweeper', chainId, tokens });
  const { database, close } = openTempDatabase();
  const keyOf = (wallet: Wallet) => spendings[family].derive(seed, wallet).key;
  const [usdt] = tokens;
  if (!usdt) throw new Error('there is a token');
  const { signer, journal, treasury } = openSigner(family, clock);
  const payouts = await chains[family].payouts?.();
  if (!payouts) throw new Error('the family pays out');
  const node = payouts.openPayoutNode({
    url: sim.httpUrl,
    chainId,
    tokens,
    finalDepth: 10,
    requestTimeoutMs: 5_000,
    responseBytesMax: 1 << 20,
  });
  closers.push(
    () => sim.close(),
    close,
    () => node.close(),
  );
  const network = testNetwork({ name: 'one', family, tokens: [usdt], sweep });
  const foreign = FOREIGN.slice(0, keyOf({ role: 'gas' }).length);
  const own = Array.from({ length: count - 1 }, (_, index) => keyOf({ role: 'collection', index }));
  const pool = { family, mode: 'test' } as const;
  await database.addresses.add({ ...pool, source: 'x', firstIndex: 0, keys: [...own, foreign] });
  const keys = [...own, foreign];
  let tip: { hash: string; number: number } | null = null;

  /** Records final payments in the database; `onChain`: those that are on the chain too. */
  async function receive(amounts: Readonly<Record<number, number>>, onChain = true): Promise<void> {
    const parent: { hash: string; number: number } = tip ?? { hash: 'genesis', number: 0 };
    const number = parent.number + 1;
    const block = { hash: `b${number}`, parent: parent.hash, number, timeS: Math.floor(clock.nowMs() / 1000) };
    const transfers = Object.entries(amounts).map(([index, cents]) => ({
      tx: `t${number}.${index}`,
      index: 0,
      currency: 'USDT' as const,
      from: foreign.replaceAll('f', 'd'),
      to: keys[Number(index)] ?? '',
      units: BigInt(cents) * CENT,
    }));
    const decimals = { USDT: usdt?.decimals ?? 0, USDC: 6 };
    const common = {
      network: 'test:one',
      family,
      watchedThrough: 1000,
      decimals,
      dustFloorPar: 0n,
      drop: [],
    } as const;
    const times = { readThroughS: block.timeS, nowMs: clock.nowMs() };
    const step = { ...common, ...times, expectTip: tip?.hash ?? null };
    assert.is(
      await database.blocks.ingest({ ...step, connect: [{ block, transfers }], confirm: [], floor: null }),
      'done',
    );
    tip = { hash: block.hash, number };
    const end = { ...step, expectTip: block.hash, connect: [], confirm: [block], floor: number };
    assert.is(await database.blocks.ingest(end), 'done');
    if (onChain) for (const { to, units } of transfers) sim.pay(to, units);
    sim.world.mine();
  }

  const parts = { network, rules: chains[family].spendRules, node, signer, database, clock };
  const sweeper = createSweeper(parts);
  const look = async (policy = sweep) => sweeper.plan(await readOwners(network, database, passing), policy);
  const log = openLog('test', 'silent');
  // Fifteen seconds between two rounds pass at once; the caller of the watch decides when to stop.
  const passing: Clock = {
    nowMs: clock.nowMs,
    async sleep(ms) {
      clock.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const watch = createSweepWatch({ network, sweeper, database, clock: passing, log });
  const signerFence = (fence: number) => journal.raiseFence('test:one', fence, clock.nowMs());
  return {
    sim,
    database,
    clock,
    sweeper,
    watch,
    look,
    receive,
    keyOf,
    treasury,
    pool,
    signerFence,
  };
}

const COIN = { evm: 10n ** 18n, solana: 10n ** 9n };
const reasons = (left: readonly Readonly<{ owner: { index: number }; why: string }>[]) =>
  left.map(({ owner, why }) => [owner.index, why]);

test('what is due is priced with its gas; what is foreign, missing, small or expensive is left, with the reason', async () => {
  const { sim, look, receive, keyOf } = await openBench('evm');
  await receive({ 0: 5_000, 1: 2_000, 2: 1_999, 9: 9_000 });
  await receive({ 3: 7_000 }, false);
  sim.world.fund(keyOf({ role: 'gas' }), COIN.evm);
  sim.world.mine();
  const plan = await look();
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
  const judged = await look({ ...plainSweepPolicy, nativePricePar });
  assert.equal(
    judged.sweeps.map(({ sweep }) => sweep.from[0]?.index),
    [0],
  );
  assert.ok(judged.left.some(({ owner, why }) => owner.index === 1 && why === 'too_dear'));
});

test('addresses that were emptied by a lost run keep no others from being swept', async () => {
  const { sim, look, receive, keyOf } = await openBench('evm', plainSweepPolicy, 205);
  sim.world.fund(keyOf({ role: 'gas' }), COIN.evm);
  const emptied = Object.fromEntries(Array.from({ length: 203 }, (_, index) => [index, 9_000]));
  await receive(emptied, false);
  await receive({ 203: 3_000 });
  const swept = async () => {
    const { sweeps, left } = await look();
    return [sweeps.map(({ sweep }) => sweep.from[0]?.index), left.length];
  };
  assert.equal(await swept(), [[203], 203]);
});

test('a treasury that is one of our deposit addresses is refused before any request', async () => {
  const { database, pool, treasury, look, receive } = await openBench('evm');
  await receive({ 0: 5_000 });
  await database.addresses.add({ ...pool, source: 'x', firstIndex: 10, keys: [treasury] });
  await look().then(
    () => assert.unreachable('the treasury collects'),
    (fault: { code?: string }) => assert.is(fault.code, 'treasury_collects'),
  );
});

test('a sweep whose address lacks coin is withdrawn, and planned again with what it lacks now', async () => {
  const { sim, database, clock, sweeper, look, receive, keyOf } = await openBench('evm');
  await receive({ 0: 5_000 });
  sim.world.fund(keyOf({ role: 'gas' }), COIN.evm);
  sim.world.mine();
  const [id] = await sweeper.commit(await look());
  assert.ok(id);
  const nowMs = clock.nowMs();
  assert.is(await sweeper.tend(), 0);
  const [first] = await database.payouts.list({ kind: 'gas', limit: 10 });
  assert.ok(first && (await database.payouts.cancel(first.id, nowMs)));
  const wait = { code: 'native_short', message: 'more' };
  await database.payouts.recordWait({ id, generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  assert.is(await sweeper.tend(), 1);
  assert.is((await database.payouts.find(id))?.state, 'canceled');
  const [again] = await sweeper.commit(await look());
  assert.ok(again && again !== id);
  const gas = await database.payouts.list({ kind: 'gas', limit: 10 });
  assert.equal(gas.map(({ state, servesId }) => [state, servesId]).sort(), [
    ['canceled', id],
    ['waiting', again],
  ]);
});

test('a sweep of missing money is withdrawn, and planned again without it', async () => {
  const policy = { ...plainSweepPolicy, minPar: PAR };
  const { sim, database, clock, sweeper, look, receive, keyOf, treasury } = await openBench('solana', policy);
  sim.pay(treasury, 1n);
  sim.world.fund(keyOf({ role: 'gas' }), COIN.solana);
  await receive({ 0: 500, 1: 600 });
  const [id] = await sweeper.commit(await look());
  assert.ok(id);
  const nowMs = clock.nowMs();
  const wait = { code: 'token_short', message: 'somebody took it' };
  await database.payouts.recordWait({ id, generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  assert.equal((await look()).sweeps, []);
  assert.is(await sweeper.tend(), 1);
  assert.is((await database.payouts.find(id))?.state, 'canceled');
  const again = await sweeper.commit(await look());
  assert.is(again.length, 1);
  assert.is.not(again[0], id);
});

test('a database that is older than the newest signatures sweeps nothing', async () => {
  const { database, look, receive, clock, signerFence } = await openBench('evm');
  await receive({ 0: 5_000 });
  signerFence(4);
  await look().then(
    () => assert.unreachable('it may be on its way already'),
    (fault: { code?: string }) => assert.is(fault.code, 'payouts_not_adopted'),
  );
  await database.payouts.adopt('test:one', { signatures: [], servedFence: 4, nowMs: clock.nowMs() });
  const { left, sweeps } = await look();
  assert.is(left.length + sweeps.length, 1);
});

test('a group with one that cannot pay is swept without it', async () => {
  const { sim, look, receive, keyOf, treasury } = await openBench('solana', { ...plainSweepPolicy, minPar: PAR });
  sim.pay(treasury, 1n);
  sim.world.fund(keyOf({ role: 'gas' }), COIN.solana);
  await receive({ 0: 500, 1: 600 });
  await receive({ 2: 700 }, false);
  const plan = await look();
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
    const { sim, database, watch, receive, keyOf, clock } = bench;
    await receive({ 0: 5_000, 2: 100, 9: 9_000 });
    sim.world.fund(keyOf({ role: 'gas' }), COIN.evm);
    sim.world.mine();
    assert.is(await watch.look(), auto ? 1 : 0);
    assert.is(await watch.look(), 0);
    const [level] = await database.sweeps.listUnswept();
    const openUnits = auto ? 5_000n * CENT : 0n;
    const units = 14_100n * CENT - openUnits;
    const common = { network: 'test:one', currency: 'USDT', owners: 3, readAtMs: clock.nowMs() };
    assert.equal(level, { ...common, units, openUnits });
    const kinds = (await database.payouts.list({ limit: 10 })).map(({ intent }) => intent.kind).sort();
    assert.equal(kinds, auto ? ['gas', 'sweep'] : []);
    const alarms = (await database.alarms.list(10)).filter(({ code }) => code === 'sweep_not_ours');
    assert.is(alarms.length, auto ? 1 : 0, 'raised once');
  }
});

test('the watch waits for its network, runs at once and then every ten minutes, and stops when asked to', async () => {
  const { sim, database, watch, receive, keyOf, clock } = await openBench('evm', { ...plainSweepPolicy, auto: true });
  sim.world.fund(keyOf({ role: 'gas' }), COIN.evm);
  await receive({ 0: 5_000 });
  const stopping = new AbortController();
  const running = watch.run(stopping.signal);
  const plannedAt = async () => (await database.payouts.list({ kind: 'sweep', state: 'waiting', limit: 9 })).length;
  const follow = async () => {
    const report = {
      network: 'test:one',
      state: 'following',
      reason: null,
      headNumber: 1,
      nodeConnected: true,
    } as const;
    const nowMs = clock.nowMs();
    await database.networks.report({ ...report, nodeHeardAtMs: nowMs, readThroughS: 0, pid: 1, nowMs });
  };
  const startMs = clock.nowMs();
  await until('time passes', () => clock.nowMs() > startMs + 3_600_000);
  assert.is(await plannedAt(), 0, 'it is not followed');
  await until('it is swept', async () => {
    await follow();
    return (await plannedAt()) === 1;
  });
  await receive({ 1: 6_000 });
  const laterMs = clock.nowMs();
  await until('the next pass sweeps the rest', async () => {
    await follow();
    return (await plannedAt()) === 2;
  });
  assert.ok(clock.nowMs() > laterMs);
  stopping.abort();
  await running;
});

test.run();
