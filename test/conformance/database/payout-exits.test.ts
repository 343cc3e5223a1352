import * as assert from 'uvu/assert';
import type { RefundIntent, SweepIntent } from '../../../src/core/intent.ts';
import type { Database } from '../../../src/database/database.ts';
import type { PayoutConclusion } from '../../../src/database/payouts/outcomes.ts';
import { has } from '../../support/fields.ts';
import { counted } from '../../support/nonces.ts';
import { thawAll } from '../../support/thaw.ts';
import { bringOut as bringPlanned, inPayoutWorlds, network, payer, plan, refund, sweep, txOf } from './payout-scene.ts';
import { act, T0_MS } from './place.ts';

const foreign = { code: 'payout_nonce_foreign', message: 'its number was used' };

/** Plans a payout and brings its first attempt to the chain. */
async function bringOut(database: Database, intent: RefundIntent | SweepIntent, nonce: number): Promise<void> {
  await plan(database, intent);
  await bringPlanned(database, intent, nonce + 1, { nonce });
}

const stick = (database: Database, id: string, why = foreign) =>
  database.payouts.stick({ id, generation: 0, why, freezes: false, nowMs: T0_MS });

async function conclude(database: Database, id: string, conclusion: PayoutConclusion, attemptCount = 1) {
  const payout = await database.payouts.find(id);
  assert.ok(payout);
  const seen = { state: payout.state, generation: payout.generation, attemptCount };
  return database.payouts.conclude({ id, seen, conclusion, act: act('payout resolve', T0_MS + 5) });
}

const lost = { payer, payerRole: 'refund' } as const;
const paid = (tx: string, generation: number | null): PayoutConclusion => ({
  kind: 'paid',
  tx,
  feeUnits: 7n,
  generation,
  learned: generation === null ? lost : null,
});
const never = (more: Partial<Extract<PayoutConclusion, { kind: 'never' }>> = {}): PayoutConclusion => ({
  kind: 'never',
  proof: 'failed',
  ended: null,
  isRenewed: false,
  others: [],
  ...more,
});

const { test, readyTest } = inPayoutWorlds('payout exits');

readyTest('a payout is settled by a transaction that no attempt explains', async (database) => {
  await bringOut(database, refund('r1'), 0);
  await stick(database, 'r1');
  assert.is(await database.payouts.ownerOf('lost tx'), null);
  assert.is(await conclude(database, 'r1', paid('lost tx', null)), true);
  has(await database.payouts.find('r1'), { state: 'succeeded', tx: 'lost tx', feeUnits: 7n });
  assert.is(await database.payouts.ownerOf('lost tx'), 'r1');
  const [entry] = await database.audit.list(1);
  has(entry, { target: 'r1', reason: 'a test' });
  has(entry?.before, { state: 'stuck' });
  has(entry?.after, { state: 'succeeded' });
  assert.is(await conclude(database, 'r1', never()), false, 'one more attempt than was seen');
});

readyTest('a sweep that was never sent from here is settled by its own attempt', async (database) => {
  const intent = sweep('s1');
  await bringOut(database, intent, 0);
  await stick(database, 's1');
  assert.is(await conclude(database, 's1', paid(txOf('s1'), 0)), true);
  const { balances } = await database.ledger.verify();
  assert.equal(balances.find(({ account }) => account === 'treasury')?.units, 9n);
});

readyTest('a payout that nothing has paid fails once, or goes on in the next generation', async (database) => {
  await bringOut(database, sweep('s1'), 0);
  await stick(database, 's1');
  const ended = { tx: txOf('s1'), feeUnits: 3n };
  assert.is(await conclude(database, 's1', never({ ended })), true);
  const [attempt] = await database.payouts.attempts('s1');
  has(await database.payouts.find('s1'), { state: 'failed' });
  assert.is(attempt?.feeUnits, 3n);
  await bringOut(database, refund('r1'), 1);
  await stick(database, 'r1');
  assert.is(await conclude(database, 'r1', never({ isRenewed: true })), true);
  has(await database.payouts.find('r1'), { state: 'waiting', generation: 1, proof: 'failed' });
  assert.is(await conclude(database, 'r1', never({ isRenewed: true, proof: null })), true);
  assert.is((await database.payouts.find('r1'))?.generation, 1, 'nothing is signed in this one');
});

readyTest('nothing happens if the payout has changed since the nodes were asked', async (database) => {
  await bringOut(database, refund('r1'), 0);
  assert.is(await conclude(database, 'r1', never(), 0), false, 'an attempt more');
  const seen = { state: 'stuck', generation: 0, attemptCount: 1 } as const;
  const late = { id: 'r1', seen, conclusion: never(), act: act('payout resolve') };
  assert.is(await database.payouts.conclude(late), false, 'it is sent, not stuck');
  assert.is(await database.payouts.conclude({ ...late, id: 'none' }), false);
  await database.engines.report(network, { code: 'payouts_not_adopted', message: 'an older database' });
  assert.is(await conclude(database, 'r1', never()), false);
  await database.engines.report(network, null);
  await database.engines.settle(network, 0);
  assert.is(await conclude(database, 'r1', never()), false, 'its engine has not looked yet');
  assert.is((await database.payouts.find('r1'))?.state, 'sent');
  assert.equal(await database.audit.list(1), []);
});

readyTest('a refund that its engine ends waits while it may have been paid unseen', async (database) => {
  await plan(database, refund('r1'));
  const outcome = { kind: 'failed', code: 'destination_invalid', message: 'it is a contract now' } as const;
  const fail = () => database.payouts.settle({ id: 'r1', generation: 0, outcome, nowMs: T0_MS });
  await database.engines.settle(network, 0);
  await fail();
  const { state, wait } = (await database.payouts.find('r1')) ?? {};
  assert.equal({ state, code: wait?.code }, { state: 'waiting', code: 'destination_invalid' });
  await database.engines.settle(network, null);
  await fail();
  assert.is((await database.payouts.find('r1'))?.state, 'failed');
});

readyTest('while a nonce is unexplained, nothing is canceled or ended as never paid', async (database) => {
  await plan(database, refund('r1'));
  await bringOut(database, refund('r2'), 0);
  await database.payouts.offerNonce(network, payer, counted(2), T0_MS);
  assert.is(await database.payouts.cancel('r1', T0_MS), false);
  assert.is((await database.payouts.doubt('r1'))?.code, 'payout_nonce_foreign');
  assert.is(await conclude(database, 'r1', never({ proof: null }), 0), false);
  assert.is(await conclude(database, 'r2', never()), false, 'an attempt that followed may be lost');
  await database.payouts.passNonces(network, payer, 2);
  assert.is((await thawAll(database, network, act('payout reconcile'))).length, 1);
  assert.is(await conclude(database, 'r2', never()), true);
  assert.is(await database.payouts.cancel('r1', T0_MS), true);
});

readyTest('a refund whose lock is set is ended only on what the nodes show', async (database) => {
  await plan(database, refund('r1'));
  const wait = { code: 'refund_lock_set', message: 'it was paid' };
  await database.payouts.recordWait({ id: 'r1', generation: 0, wait, nextLookAtMs: T0_MS, nowMs: T0_MS });
  assert.is(await database.payouts.cancel('r1', T0_MS), false);
  assert.equal(await database.payouts.doubt('r1'), wait);
  assert.is(await conclude(database, 'r1', never({ proof: null }), 0), true);
});

readyTest('a payout that ended here and was paid all the same raises an alarm', async (database) => {
  await bringOut(database, refund('r1'), 0);
  await stick(database, 'r1');
  await conclude(database, 'r1', never({ ended: { tx: txOf('r1'), feeUnits: 3n } }));
  assert.is(await conclude(database, 'r1', paid('lost tx', null)), true);
  assert.is((await database.payouts.find('r1'))?.state, 'succeeded');
  const fees = (await database.payouts.attempts('r1')).map(({ tx, feeUnits }) => [tx, feeUnits]);
  assert.equal(
    fees,
    [
      [txOf('r1'), 3n],
      ['lost tx', 7n],
    ],
    'what failed had its cost, too',
  );
  const alarm = (await database.alarms.list(10)).find(({ code }) => code === 'payout_paid_after_end');
  assert.match(alarm?.message ?? '', /^The refund of .* USD[CT].* \(r1\): it is failed here, but/);
});

test.run();
