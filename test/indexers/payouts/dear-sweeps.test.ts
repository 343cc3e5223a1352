/**
 * Sweeps whose fees rise after they were planned: the engine with Ethereum's own client in front of a simulated node
 * whose price of gas the test sets, a real signing service, and a real database.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SweepPolicy } from '../../../src/core/sweep.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench } from './node-bench.ts';

const GWEI = 1_000_000_000n;
const PAR = 10n ** 18n;
const USDT = 1_000_000n;
const BLOCK_MS = 12_000;
const CALM = 3n * GWEI;
const DEAR = 30n * CALM;
/** At this price a sweep of 20 USDT costs less than 2 % of it while gas is calm. */
const policy: SweepPolicy = { ...plainSweepPolicy, nativePricePar: 500n * PAR };
test.after(closeBenches);

type Priced = NodeBench & Readonly<{ cost: { price: bigint } }>;

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
  return { ...bench, cost };
}

/** Confirms what was read, as a follower does in its next look. */
async function confirm({ database, tokens, clock }: NodeBench): Promise<void> {
  const blocks = await database.tail(network, 20);
  const decimals = Object.fromEntries(tokens.map(({ symbol, decimals }) => [symbol, decimals]));
  const outcome = await database.ingest({
    ...{ network, family: 'evm', expectTip: blocks.at(-1)?.hash ?? null, watchedThroughId: Number.MAX_SAFE_INTEGER },
    ...{ decimals, dustFloorPar: 0n, drop: [], connect: [], confirm: blocks, floor: null, readThroughS: 0 },
    nowMs: clock.nowMs(),
  });
  assert.is(outcome, 'done');
}

async function planned(bench: Priced, isOrdered: boolean): Promise<string> {
  const [id] = await bench.planSweeps(isOrdered);
  assert.ok(id, 'it is worth it');
  return id;
}

const swept = ({ paid, depositKey, treasury }: Priced) => paid(depositKey(0).key, treasury).length === 1;
async function payoutOf({ database }: Priced, id: string) {
  const payout = await database.findPayout(id);
  assert.ok(payout);
  return payout;
}
const waitOf = async (bench: Priced, id: string) => (await payoutOf(bench, id)).wait?.code ?? null;
async function gasFor({ database }: Priced, id: string) {
  const [gas] = (await database.listPayouts({ kind: 'gas', limit: 9 })).filter(({ servesId }) => servesId === id);
  assert.ok(gas);
  return gas;
}
const attempts = async ({ database }: Priced, id: string) => (await database.listPayoutAttempts(id)).length;

/** Lets ten minutes pass, in which whatever waits is looked at again, and sweeps are tended as often. */
async function passTen(bench: Priced): Promise<number> {
  let toppedUp = 0;
  for (let n = 0; n < 12; n++) {
    await bench.pass(4 * BLOCK_MS);
    toppedUp += (await bench.sweeper.tend()).toppedUp;
  }
  return toppedUp;
}

/** Lets the engine run until a payout is in this state. */
async function until(bench: Priced, id: string, state: string): Promise<void> {
  for (let n = 0; n < 60; n++) {
    if ((await payoutOf(bench, id)).state === state) return;
    await bench.pass(BLOCK_MS);
  }
  assert.unreachable(`${id} is ${JSON.stringify((await payoutOf(bench, id)).wait)}`);
}

async function isQuiet({ database }: Priced): Promise<void> {
  const codes = (await database.listAlarms(20)).map(({ code }) => code);
  assert.equal(
    codes.filter((code) => code !== 'payment_without_session'),
    [],
  );
}

test('a planned sweep whose fees rise thirtyfold is given no gas, and goes on by itself when they have fallen', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  const gas = await gasFor(bench, id);
  bench.cost.price = DEAR;
  assert.is(await passTen(bench), 0);
  assert.equal([await waitOf(bench, gas.id), await waitOf(bench, id)], ['sweep_too_dear', 'sweep_too_dear']);
  assert.equal([await attempts(bench, gas.id), await attempts(bench, id)], [0, 0]);
  const { wait } = await payoutOf(bench, id);
  assert.match(
    wait?.message ?? '',
    new RegExp(`^sweeping 20\\.00 USDT would cost about 0\\.\\d+ .*quayside sweep order ${id}`),
  );
  // Others of the gas wallet do not wait for it.
  const other = { ...gas.intent, id: 'ga_other', units: 5n } as typeof gas.intent;
  const nowMs = bench.clock.nowMs();
  await bench.database.planPayouts([{ intent: other, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  await until(bench, 'ga_other', 'succeeded');
  await isQuiet(bench);

  bench.cost.price = CALM;
  await until(bench, id, 'succeeded');
  assert.ok(swept(bench));
});

test('a sweep that has its gas is neither signed nor sent more coin while it is too dear', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  const gas = await gasFor(bench, id);
  await until(bench, gas.id, 'succeeded');
  assert.is(await attempts(bench, id), 0);
  bench.cost.price = DEAR;
  // The node calls it short of coin, and the sweeper may look before the engine has judged that.
  bench.sim.world.mine();
  const { clock, database } = bench;
  const wait = { code: 'native_short', message: 'more' };
  await database.recordWait({ id, generation: 0, wait, nextLookAtMs: clock.nowMs() + 60_000, nowMs: clock.nowMs() });
  assert.is((await bench.sweeper.tend()).toppedUp, 0);
  assert.is(await passTen(bench), 0, 'no more coin is sent');
  assert.equal([await waitOf(bench, id), await attempts(bench, id)], ['sweep_too_dear', 0]);
  bench.cost.price = CALM;
  await until(bench, id, 'succeeded');
  assert.is((await database.listPayouts({ kind: 'gas', limit: 9 })).length, 1);
});

test('coin that is sent in small parts is judged together with what the address has', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  await until(bench, (await gasFor(bench, id)).id, 'succeeded');
  // Sending coin would be cheap enough by itself.
  bench.cost.price = 4n * CALM;
  bench.sim.world.mine();
  const { intent } = await payoutOf(bench, id);
  const { key } = bench.depositKey(0);
  const token = bench.tokens.find(({ symbol }) => symbol === 'USDT') ?? null;
  const draft = { intent, payer: key, owners: [key], to: bench.treasury, token };
  const missing = async (): Promise<bigint> => {
    const quote = await bench.node.quote(draft, null, []);
    return (quote.kind === 'refused' && quote.missingUnits) || 0n;
  };
  const before = await missing();
  bench.sim.world.fund(key, (before * 9n) / 10n);
  const { clock, database } = bench;
  const wait = { code: 'native_short', message: 'more' };
  await database.recordWait({ id, generation: 0, wait, nextLookAtMs: clock.nowMs() + 60_000, nowMs: clock.nowMs() });
  bench.sim.world.mine();
  const left = await missing();
  assert.ok(left > 0n && left < before / 4n, 'little is missing');
  assert.is((await bench.sweeper.tend()).toppedUp, 0);
});

test('the fee of a sweep on its way is not raised beyond its worth, and it ends when fees have fallen', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  bench.sim.world.fund(bench.depositKey(0).key, COIN.evm);
  await until(bench, (await gasFor(bench, id)).id, 'succeeded');
  bench.advance(0);
  // It is quoted at the old price, and the next block has the new one.
  await bench.look();
  assert.is(await attempts(bench, id), 1);
  bench.cost.price = DEAR;
  await passTen(bench);
  assert.equal([await attempts(bench, id), (await payoutOf(bench, id)).state], [1, 'sent']);
  assert.is(await waitOf(bench, id), 'sweep_too_dear');
  await isQuiet(bench);
  bench.cost.price = CALM;
  await until(bench, id, 'succeeded');
  assert.is(await attempts(bench, id), 1);
});

test('one that an operator orders meanwhile is raised, at any price', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  bench.sim.world.fund(bench.depositKey(0).key, COIN.evm);
  await until(bench, (await gasFor(bench, id)).id, 'succeeded');
  await bench.look();
  bench.cost.price = DEAR;
  await passTen(bench);
  assert.is(await attempts(bench, id), 1);
  assert.is(await bench.database.orderSweep(id, bench.clock.nowMs()), id);
  await until(bench, id, 'succeeded');
  assert.ok((await attempts(bench, id)) > 1);
});

test('the fee of gas on its way is raised, because later numbers of the wallet wait for it', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  const gas = await gasFor(bench, id);
  await bench.look();
  assert.is(await attempts(bench, gas.id), 1);
  bench.cost.price = DEAR;
  await until(bench, gas.id, 'succeeded');
  assert.ok((await attempts(bench, gas.id)) > 1);
  await passTen(bench);
  assert.equal([await attempts(bench, id), await waitOf(bench, id)], [0, 'sweep_too_dear']);
});

test('an ordered sweep is made at any price, with more coin where it lacks some', async () => {
  const bench = await open();
  const id = await planned(bench, true);
  await until(bench, (await gasFor(bench, id)).id, 'succeeded');
  bench.cost.price = DEAR;
  assert.is(await passTen(bench), 1);
  assert.is((await payoutOf(bench, id)).state, 'succeeded');
  assert.ok(swept(bench));
});

test('an order makes what waits go on at once, named by the sweep or by its gas', async () => {
  const bench = await open();
  const id = await planned(bench, false);
  const gas = await gasFor(bench, id);
  bench.cost.price = DEAR;
  await passTen(bench);
  // The engine has forgotten it until it is due.
  await bench.pass(BLOCK_MS);
  assert.is(await bench.database.orderSweep(gas.id, bench.clock.nowMs()), id);
  await bench.pass(BLOCK_MS);
  assert.is(await attempts(bench, gas.id), 1, 'it is not looked at in five minutes only');
  for (let n = 0; n < 3; n++) await passTen(bench);
  assert.is((await payoutOf(bench, id)).state, 'succeeded');
});

test('without a price of the native coin nothing is judged', async () => {
  const bench = await open(plainSweepPolicy);
  const id = await planned(bench, false);
  bench.cost.price = DEAR;
  await passTen(bench);
  await until(bench, id, 'succeeded');
});

test.run();
