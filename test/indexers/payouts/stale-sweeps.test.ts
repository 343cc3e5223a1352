/**
 * Automatic sweeps that are not signed within ten minutes: the engine with Ethereum's own client in front of a
 * simulated node whose price of gas the test sets, a real signing service, and a real database.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SweepPolicy } from '../../../src/core/sweep.ts';
import { FROZEN_BY_OPERATOR } from '../../../src/database/payouts/holds.ts';
import { ingestStep } from '../../support/ingested-chain.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench } from './node-bench.ts';

const GWEI = 1_000_000_000n;
const PAR = 10n ** 18n;
const USDT = 1_000_000n;
const BLOCK_MS = 12_000;
const CALM = 3n * GWEI;
const EXPENSIVE = 30n * CALM;
/** At this price a sweep of 20 USDT costs less than 2 % of it while gas is calm. */
const policy: SweepPolicy = { ...plainSweepPolicy, auto: true, nativePricePar: 500n * PAR };
test.after(closeBenches);

type Priced = NodeBench & Readonly<{ cost: { price: bigint }; plan: () => Promise<number> }>;

/** A bench with 20 USDT on a deposit address, a gas wallet with coins, and a price of gas to set. */
async function open(sweep = policy): Promise<Priced> {
  const cost = { price: CALM };
  const bench = await openNodeBench('evm', { sweep, price: () => cost.price });
  bench.sim.world.fund(bench.walletKey('gas', 0).key, 100n * COIN.evm);
  await bench.addDeposits([bench.depositKey(0).key]);
  bench.sim.pay(bench.depositKey(0).key, 20n * USDT);
  bench.sim.pay(bench.treasury, 1n);
  for (let n = 0; n < 6; n++) assert.is(await bench.pass(BLOCK_MS), null);
  await confirm(bench);
  const watch = bench.sweepWatch();
  return { ...bench, cost, plan: () => watch.look() };
}

/** Confirms what was read, as a follower does in its next look. */
async function confirm({ database, clock }: NodeBench): Promise<void> {
  const blocks = await database.blocks.tail(network, 20);
  const at = { network, nowMs: clock.nowMs(), expectTip: blocks.at(-1)?.hash ?? null };
  assert.is(await database.blocks.ingest(ingestStep({ ...at, confirm: blocks })), 'done');
}

const sweepsOf = ({ database }: Priced) => database.payouts.list({ kind: 'sweep', limit: 9 });
const gasOf = ({ database }: Priced) => database.payouts.list({ kind: 'gas', limit: 9 });
const statesOf = (payouts: readonly Readonly<{ state: string }>[]) => payouts.map(({ state }) => state);

/** Lets time pass, and tends sweeps as the watch does. @returns how many were withdrawn */
async function passMinutes(bench: Priced, minutes: number): Promise<number> {
  let withdrawn = 0;
  for (let n = 0; n < minutes; n++) {
    await bench.pass(5 * BLOCK_MS);
    withdrawn += await bench.sweeper.tend();
  }
  return withdrawn;
}

async function untilSwept(bench: Priced): Promise<void> {
  const { paid, depositKey, treasury } = bench;
  for (let n = 0; n < 60; n++) {
    if (paid(depositKey(0).key, treasury).length === 1) return;
    await bench.pass(BLOCK_MS);
  }
  assert.unreachable(JSON.stringify((await sweepsOf(bench)).map(({ wait }) => wait)));
}

const act = { atMs: 0, operator: 'ann', command: 'payout freeze', reason: 'a test' };

async function freeze({ database, clock }: Priced): Promise<void> {
  const why = { code: FROZEN_BY_OPERATOR, reason: 'a test', frozenBy: 'ann' };
  assert.ok(await database.holds.freeze({ ...why, network, sinceMs: clock.nowMs() }, act));
}

test('a sweep that a freeze keeps from being signed is withdrawn, and planned again when it is worth its cost', async () => {
  const bench = await open();
  const { database, cost, plan } = bench;
  assert.is(await plan(), 1);
  await freeze(bench);
  cost.price = EXPENSIVE;
  assert.is(await passMinutes(bench, 9), 0);
  assert.is(await passMinutes(bench, 2), 1);
  assert.equal([statesOf(await sweepsOf(bench)), statesOf(await gasOf(bench))], [['canceled'], ['canceled']]);
  cost.price = CALM;
  await bench.pass(BLOCK_MS);
  assert.is(await plan(), 0, 'nothing is planned during a freeze');
  await database.holds.thaw({ freezes: await database.holds.list(), transfers: [] }, act);
  cost.price = EXPENSIVE;
  await bench.pass(BLOCK_MS);
  assert.is(await plan(), 0, 'it would cost too large a share');
  cost.price = CALM;
  await bench.pass(BLOCK_MS);
  assert.is(await plan(), 1);
  await untilSwept(bench);
  assert.equal(statesOf(await sweepsOf(bench)).sort(), ['canceled', 'sent']);
});

test('a sweep whose gas is on its way is not withdrawn, however long that takes', async () => {
  const bench = await open();
  assert.is(await bench.plan(), 1);
  await bench.look();
  assert.equal(statesOf(await gasOf(bench)), ['sent']);
  bench.clock.advance(1_200_000);
  assert.is(await bench.sweeper.tend(), 0);
  await untilSwept(bench);
});

test('where nothing is swept by itself, what an operator planned is not withdrawn', async () => {
  const bench = await open({ ...policy, auto: false });
  assert.is((await bench.planSweeps()).length, 1);
  await freeze(bench);
  assert.is(await passMinutes(bench, 12), 0);
  assert.equal(statesOf(await sweepsOf(bench)), ['waiting']);
});

test('a sweep whose fees rise beyond its worth is withdrawn, and swept once it is worth its cost', async () => {
  const bench = await open();
  const { database, clock, cost, sweeper, plan } = bench;
  assert.is(await plan(), 1);
  for (let n = 0; n < 40 && statesOf(await gasOf(bench))[0] !== 'succeeded'; n++) await bench.pass(BLOCK_MS);
  cost.price = EXPENSIVE;
  bench.sim.world.mine();
  const [sweep] = await sweepsOf(bench);
  assert.is(sweep?.state, 'waiting');
  const wait = { code: 'native_short', message: 'more' };
  const name = { id: sweep?.id ?? '', generation: 0 };
  await database.payouts.recordWait({ ...name, wait, nextLookAtMs: clock.nowMs() + 60_000, nowMs: clock.nowMs() });
  assert.is(await sweeper.tend(), 1);
  assert.is(await plan(), 0, 'it would cost too large a share');
  // Sending a little would be cheap enough by itself, and is judged together with what the address holds.
  cost.price = 4n * CALM;
  bench.sim.world.mine();
  assert.is(await plan(), 0);
  cost.price = CALM;
  bench.sim.world.mine();
  assert.is(await plan(), 1);
  await untilSwept(bench);
  assert.is((await gasOf(bench)).length, 1, 'the address has the coin of the first plan');
});

test.run();
