/** Energy that is lent for refunds: a real database, and the payout client in front of the simulated java-tron. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRefundLoans } from '../../../indexers/payouts/refund-loans.ts';
import type { Intent, RefundIntent } from '../../../src/core/intent.ts';
import { gasIdOf } from '../../../src/core/sweep.ts';
import { makePayoutBench, TRX } from '../../chains/tron/payout-bench.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

const bench = await makePayoutBench('refund loans');
const closing: (() => void)[] = [];
test.after(async () => {
  for (const close of closing) close();
  await bench.close();
});

const { world, node, mine, carry, openFundedWallets } = bench;
/** The energy of a transfer to somebody who has no USDT, and a quarter; 10 energy a day for each TRX staked. */
const STAKE = ((130_285n * 5n + 3n) / 4n / 10n + 2n) * TRX;

async function open(staked: bigint) {
  const { database, close } = openTempDatabase();
  closing.push(close);
  const wallets = openFundedWallets();
  const [refundKey, gasKey] = [wallets.keyOf({ role: 'refund' }), wallets.keyOf({ role: 'gas' })];
  world.fund(gasKey, 10n * TRX);
  world.fund(gasKey, staked, true);
  mine();
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms };
  const drafts = { draft: async (intent: Intent) => wallets.draft(intent), indexOf: async () => 0 };
  const loans = createRefundLoans({ network: 'test:any', node, wallets: drafts, database, clock });
  async function planned(intent: Intent) {
    await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: clock.ms, nowMs: clock.ms }]);
    return stored(intent.id);
  }
  async function stored(id: string) {
    const payout = await database.findPayout(id);
    assert.ok(payout);
    return payout;
  }
  const hold = async (refund: RefundIntent) =>
    (await loans.holdFor(await stored(refund.id), await node.quote(wallets.draft(refund), null, [])))?.code ?? null;
  const formOf = async (refund: RefundIntent, form: 'delegate' | 'reclaim') =>
    database.findPayout(gasIdOf(refund.id, form, 0));
  return { database, wallets, refundKey, gasKey, clock, loans, planned, stored, hold, formOf };
}

test('a refund is lent what it lacks, pays nothing for energy, and the loan is taken back later', async () => {
  const { wallets, refundKey, gasKey, clock, planned, hold, formOf } = await open(2n * STAKE);
  const refund = wallets.refund('USDT', 1_000n);
  await planned(refund);
  assert.is(await hold(refund), 'energy_awaited');
  const [loan, back] = [await formOf(refund, 'delegate'), await formOf(refund, 'reclaim')];
  assert.ok(loan && back);
  assert.equal(loan.intent, {
    ...{ kind: 'gas', id: loan.id, network: 'test:any', form: 'delegate', refundIndex: 0, units: STAKE },
  });
  assert.is(loan.servesId, back.id, 'it is taken back once it was lent');
  assert.is(back.notBeforeMs, clock.ms + 600_000);
  assert.is(await hold(refund), 'energy_awaited', 'it is not lent twice');
  assert.is((await carry(wallets, loan.intent)).kind, 'succeeded');
  assert.is(world.accounts().lent(gasKey, refundKey), STAKE);
  assert.is(await hold(refund), null);
  const quote = await node.quote(wallets.draft(refund), null, []);
  assert.ok(quote.kind === 'quoted' && quote.feeUnits === 0n);
  assert.is((await carry(wallets, back.intent)).kind, 'succeeded');
  assert.is(world.accounts().lent(gasKey, refundKey), 0n);
});

test('a second refund is lent only what the first has left, and burns coins at once if that is too little', async () => {
  const { wallets, planned, hold, formOf } = await open(STAKE + STAKE / 2n);
  const [one, two] = [wallets.refund('USDT', 1_000n), wallets.refund('USDT', 2_000n)];
  await planned(one);
  await planned(two);
  assert.equal(await Promise.all([hold(one), hold(two)]), ['energy_awaited', null]);
  assert.is(await formOf(two, 'delegate'), null);
});

test('no refund waits for a loan that meets trouble or takes a minute, and a late one is never made', async () => {
  const { database, wallets, clock, loans, planned, stored, hold, formOf } = await open(4n * STAKE);
  const [one, two] = [wallets.refund('USDT', 1_000n), wallets.refund('USDT', 2_000n)];
  await planned(one);
  await planned(two);
  assert.equal([await hold(one), await hold(two)], ['energy_awaited', 'energy_awaited']);
  const [first, second] = [await formOf(one, 'delegate'), await formOf(two, 'delegate')];
  assert.ok(first && second);
  const wait = { code: 'signer_refused_request', message: 'an older signer knows no such loan' };
  await database.recordWait({ id: first.id, generation: 0, wait, nextLookAtMs: clock.ms, nowMs: clock.ms });
  assert.is(await hold(one), null);
  const quote = await node.quote(wallets.draft(second.intent), null, []);
  assert.is(quote.kind, 'quoted');
  assert.not.ok(await loans.endUseless(second, quote));
  clock.ms += 60_000;
  assert.is(await hold(two), null);
  assert.ok(await loans.endUseless(await stored(second.id), quote));
  assert.equal(
    [(await formOf(two, 'delegate'))?.state, (await formOf(two, 'reclaim'))?.state],
    ['canceled', 'canceled'],
  );
  assert.is(await hold(two), null, 'it is not lent again');
});

test('the taking back of a loan that was never made ends', async () => {
  const { wallets, clock, loans, planned, hold, formOf } = await open(2n * STAKE);
  const refund = wallets.refund('USDT', 3_000n);
  await planned(refund);
  await hold(refund);
  const back = await formOf(refund, 'reclaim');
  assert.ok(back);
  const quote = await node.quote(wallets.draft(back.intent), null, []);
  assert.is(quote.kind, 'refused');
  assert.not.ok(await loans.endUseless(back, quote), 'the node may be behind');
  clock.ms += 600_000;
  assert.ok(await loans.endUseless(back, quote));
  assert.is((await formOf(refund, 'reclaim'))?.state, 'canceled');
});

test('nothing is lent where it saves less than its transactions cost', async () => {
  const { wallets, loans, planned, stored } = await open(2n * STAKE);
  const refund = wallets.refund('USDT', 4_000n);
  await planned(refund);
  const quote = await node.quote(wallets.draft(refund), null, []);
  assert.ok(quote.kind === 'quoted' && quote.ways?.loan);
  const little = { ...quote, ways: { ...quote.ways, loan: { ...quote.ways.loan, savedUnits: 0n } } };
  assert.is(await loans.holdFor(await stored(refund.id), little), null);
});

test.run();
