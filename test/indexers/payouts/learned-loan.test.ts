/**
 * Loans of the gas wallet's stake of which the database does not know, because it was put back to a state from before:
 * the payout engine with TRON's own clients in front of a simulated node.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { adoptPayouts } from '../../../indexers/payouts/adoption.ts';
import { chains } from '../../../src/chains/index.ts';
import type { GasIntent } from '../../../src/core/intent.ts';
import { isRefused } from '../../../src/core/spend.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

const TRX = COIN.tron;
const MINUTES = Math.ceil((2 * SHORT_MS) / READ_MS);
/** When a loan is taken back, and some blocks until that is final. */
const RETURN_MINUTES = 13;
const UNITS = 500n * TRX;
test.after(closeBenches);

/** A deposit address that the database does not know. */
const UNKNOWN = 7;

/** A bench whose gas wallet has a stake, has used up its free bandwidth, and knows all balances. */
async function openStaked(): Promise<NodeBench> {
  const bench = await openNodeBench('tron');
  const { sim, walletKey, depositKey, pass, addDeposits, lend, advance } = bench;
  const [gas, refund, unknown] = [walletKey('gas', 0).key, walletKey('refund', 0).key, depositKey(UNKNOWN).key];
  const deposits = [0, 1].map((index) => depositKey(index).key);
  for (const key of [gas, refund]) sim.world.fund(key, 10_000n * TRX);
  for (const key of [...deposits, unknown, thief.tron]) sim.world.fund(key, TRX);
  sim.world.fund(gas, 100_000n * TRX, true);
  advance(3_000);
  for (const form of ['delegate', 'reclaim'] as const) {
    await lend(`ga_before_${form}`, form, { index: UNKNOWN }, UNITS);
    advance(3_000);
  }
  for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
  await addDeposits(deposits);
  return bench;
}

const listed = async ({ database }: NodeBench): Promise<unknown[]> =>
  (await database.listPayouts({ network, kind: 'gas', limit: 50 }))
    .map(({ intent, state, tx }) => [(intent as GasIntent).form, state, tx])
    .sort();

const lentBy = ({ sim, walletKey }: NodeBench, to: string): bigint =>
  sim.world.accounts().lent(walletKey('gas', 0).key, to);

async function isUnstopped({ database }: NodeBench): Promise<void> {
  assert.equal([await database.listFreezes(), await database.haltedLanes()], [[], []]);
  assert.equal(
    (await database.listAlarms(20)).map(({ code }) => code),
    [],
  );
  const { unbalanced, differences } = await database.verifyLedger();
  assert.equal([unbalanced, differences], [[], []]);
}

/** Lends, or takes back, in a block of its own. @returns the transaction and what it has burned */
async function lendUnknown(
  bench: NodeBench,
  form: 'delegate' | 'reclaim',
  of: Readonly<{ index: number } | { refundIndex: number }>,
  to?: string,
): Promise<string> {
  const held = () => bench.sim.world.accounts().native(bench.walletKey('gas', 0).key);
  const before = held();
  const tx = await bench.lend(`ga_${form}_${before}`, form, of, UNITS, to);
  bench.advance(3_000);
  assert.ok(before > held(), 'it has burned coins for its bandwidth');
  return tx;
}

test('loans and their return that are not known here are entered with their cost, and payouts go on', async () => {
  const bench = await openStaked();
  const { sim, database, walletKey, passMinutes } = bench;
  const gas = walletKey('gas', 0).key;
  const before = sim.world.accounts().native(gas);
  const txs: string[] = [];
  for (const of of [{ index: 0 }, { refundIndex: 0 }]) {
    for (const form of ['delegate', 'reclaim'] as const) txs.push(await lendUnknown(bench, form, of));
  }
  const reported = await passMinutes(MINUTES);
  assert.ok(
    reported.every((code) => code === null),
    reported.join(),
  );
  const [first, second, third, fourth] = txs;
  assert.equal(
    await listed(bench),
    [
      ['delegate', 'succeeded', first],
      ['reclaim', 'succeeded', second],
      ['delegate', 'succeeded', third],
      ['reclaim', 'succeeded', fourth],
    ].sort(),
  );
  const payouts = await database.listPayouts({ network, kind: 'gas', limit: 10 });
  const cost = payouts.reduce((sum, { feeUnits }) => sum + (feeUnits ?? 0n), 0n);
  assert.is(cost, before - sim.world.accounts().native(gas), 'all that has left the gas wallet');
  assert.equal(await database.listOutgoing(network, 10), []);
  await isUnstopped(bench);
});

test('a loan of which only the lending is on the chain is taken back by the engine', async () => {
  const bench = await openStaked();
  const { database, walletKey, depositKey, passMinutes } = bench;
  const receivers = [depositKey(0).key, walletKey('refund', 0).key];
  for (const of of [{ index: 0 }, { refundIndex: 0 }]) await lendUnknown(bench, 'delegate', of);
  await passMinutes(2);
  assert.equal(
    receivers.map((key) => lentBy(bench, key)),
    [UNITS, UNITS],
    'it may be of use for some minutes',
  );
  await passMinutes(RETURN_MINUTES);
  assert.equal(
    receivers.map((key) => lentBy(bench, key)),
    [0n, 0n],
  );
  const payouts = await database.listPayouts({ network, kind: 'gas', limit: 10 });
  assert.equal(
    payouts.map(({ state }) => state),
    Array(4).fill('succeeded'),
  );
  await isUnstopped(bench);
});

test('a loan that waits here and was made on the chain meanwhile is not made again', async () => {
  const bench = await openStaked();
  const { database, depositKey, passMinutes, clock, restart } = bench;
  const gas = { kind: 'gas', network, index: 0, units: UNITS } as const;
  const plain = { sessionId: null, notBeforeMs: clock.nowMs() + 60_000, nowMs: clock.nowMs() };
  await database.planPayouts([
    { ...plain, intent: { ...gas, id: 'ga_back', form: 'reclaim' }, servesId: null },
    { ...plain, intent: { ...gas, id: 'ga_lend', form: 'delegate' }, servesId: 'ga_back' },
  ]);
  const txs = [await lendUnknown(bench, 'delegate', { index: 0 }), await lendUnknown(bench, 'reclaim', { index: 0 })];
  restart();
  await passMinutes(MINUTES);
  assert.equal(await listed(bench), [
    ['delegate', 'succeeded', txs[0]],
    ['reclaim', 'succeeded', txs[1]],
  ]);
  assert.is(lentBy(bench, depositKey(0).key), 0n);
  await isUnstopped(bench);
});

test('the return of what was never lent to a deposit address ends', async () => {
  const bench = await openStaked();
  const { database, passMinutes, clock } = bench;
  const intent = { kind: 'gas', network, index: 0, units: UNITS, id: 'ga_back', form: 'reclaim' } as const;
  await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: 0, nowMs: clock.nowMs() }]);
  await passMinutes(2);
  assert.is((await database.findPayout('ga_back'))?.state, 'waiting', 'a node may be behind');
  await passMinutes(RETURN_MINUTES);
  assert.is((await database.findPayout('ga_back'))?.state, 'canceled');
});

test('a loan that is adopted from the journal of the signer is taken back by the engine', async () => {
  const bench = await openStaked();
  const { database, signer, walletKey, passMinutes, clock, node } = bench;
  const { key } = walletKey('refund', 0);
  const intent = { kind: 'gas', network, refundIndex: 0, units: UNITS, id: 'ga_lent', form: 'delegate' } as const;
  const draft = { intent, payer: walletKey('gas', 0).key, owners: [walletKey('gas', 0).key], to: key, token: null };
  const quote = await node.quote(draft, null, []);
  assert.ok(!isRefused(quote));
  // Another database had it signed and sent, and was put back since.
  const request = { intent, generation: 0, attempt: 0, proof: null, terms: quote.terms, approvals: [] };
  const { bytes } = await signer.sign({ ...request, fence: (await signer.fence(network)) + 1 });
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  bench.advance(3_000);
  assert.is(lentBy(bench, key), UNITS);
  const rules = chains.tron.spendRules;
  await adoptPayouts({ network, rules, signer, database, nowMs: clock.nowMs() });
  await passMinutes(RETURN_MINUTES);
  assert.is(lentBy(bench, key), 0n);
  const payouts = await database.listPayouts({ network, kind: 'gas', limit: 10 });
  assert.equal(
    payouts.map(({ state }) => state),
    ['succeeded', 'succeeded'],
  );
  await isUnstopped(bench);
});

test('what a loan to somebody else has burned is missed, beside loans that are learned', async () => {
  const bench = await openStaked();
  const { database, passMinutes } = bench;
  const tx = await lendUnknown(bench, 'delegate', { index: 0 });
  await lendUnknown(bench, 'delegate', { index: 1 }, thief.tron);
  await passMinutes(MINUTES);
  assert.equal((await listed(bench))[0], ['delegate', 'succeeded', tx]);
  assert.is((await listed(bench)).length, 2, 'the other is the return of the first');
  assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
});

test('a loan to an address that somebody wrote beside ours is missed', async () => {
  const bench = await openStaked();
  const { database, passMinutes, addDeposits } = bench;
  // Whoever has the database's key can write an address of his own there.
  await addDeposits([thief.tron], 2);
  await lendUnknown(bench, 'delegate', { index: 2 }, thief.tron);
  await passMinutes(MINUTES);
  assert.equal(await listed(bench), []);
  assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
});

test.run();
