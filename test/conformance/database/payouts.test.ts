import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { column, has, have } from '../../support/fields.ts';
import { counted } from '../../support/nonces.ts';
import {
  allot,
  bringOut,
  inPayoutWorlds,
  name,
  network,
  openIds,
  payer,
  plan,
  refund,
  renew,
  sent,
  signatureOf,
  stateOf,
  succeed,
  sweep,
  txOf,
} from './payout-scene.ts';
import { act, breaks, T0_MS } from './place.ts';

const codes = async (database: Database) => (await database.alarms.list(100)).map(({ code }) => code);

const { test, readyTest } = inPayoutWorlds('payouts');

test('the fence rises with each start, and never below the signer’s', async ({ database, place }) => {
  assert.is(await database.engines.nextFence(network, 0), 1);
  const other = place.connect();
  assert.is(await other.engines.nextFence(network, 1), 2);
  other.close();
  assert.is(await database.engines.nextFence(network, 2), 3);
  assert.is(await database.engines.nextFence(network, 4), null);
  assert.is(await database.engines.nextFence('test:two', 1), null, 'an empty database');
  await database.engines.report(network, { code: 'x', message: 'y' });
  const [engine] = await database.engines.list();
  assert.equal(engine, {
    network,
    fence: 3,
    journalId: 0,
    reason: { code: 'x', message: 'y' },
    beatAtMs: null,
    settlingUntilMs: null,
  });
  assert.is(await database.engines.nextFence(network, 3), 4);
  has((await database.engines.list())[0], { fence: 4, reason: { code: 'x', message: 'y' } });
});

readyTest('a payout is planned once, keeps its intent, and is open when it is due', async (database) => {
  await database.payouts.plan([
    { intent: refund('r1'), sessionId: null, servesId: null, notBeforeMs: T0_MS + 60_000, nowMs: T0_MS },
  ]);
  await plan(database, refund('r1'));
  assert.equal(await database.payouts.open(network, T0_MS + 59_999, 10), []);
  const [open] = await database.payouts.open(network, T0_MS + 60_000, 10);
  assert.equal(open?.payout.intent, refund('r1'));
  has(open, { attempts: [], approval: null });
  await breaks(plan(database, { ...refund('r1'), units: 6n }));
  assert.is((await allot(database, 'r1')).kind, 'moved', 'not before it is due');
  assert.equal(await database.payouts.open('test:two', T0_MS + 60_000, 10), []);
});

readyTest('a payout can be canceled only while nothing of it is allotted', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  assert.is(await database.payouts.cancel('r1', T0_MS), true);
  assert.is(await database.payouts.cancel('r1', T0_MS), false);
  assert.is((await allot(database, 'r1')).kind, 'moved');
  const wait = { code: 'token_short', message: 'too late' };
  const late = { id: 'r1', generation: 0, nowMs: T0_MS };
  assert.is(await database.payouts.recordWait({ ...late, wait, nextLookAtMs: T0_MS }), false);
  assert.is(await database.payouts.settle({ ...late, outcome: { kind: 'failed', ...wait } }), false);
  assert.is((await database.payouts.find('r1'))?.wait, null);
  await database.engines.report(network, { code: 'payouts_not_adopted', message: 'an older database' });
  assert.is(await database.payouts.cancel('r2', T0_MS), false, 'it may have been signed');
  await database.engines.report(network, null);
  await database.engines.settle(network, 0);
  assert.is(await database.payouts.cancel('r2', T0_MS), false, 'its engine has not looked yet');
  await database.engines.settle(network, null);
  await allot(database, 'r2');
  assert.is(await database.payouts.cancel('r2', T0_MS), false);
  assert.is(await database.payouts.cancel('none', T0_MS), false);
  assert.equal([await stateOf(database, 'r1'), await stateOf(database, 'r2')], ['canceled', 'sent']);
});

readyTest('a payout that the signer refused for good can be canceled', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  const why = { code: 'signer_refused_mac', message: 'made with another secret key' };
  const stick = (id: string) => database.payouts.stick({ id, generation: 0, why, freezes: false, nowMs: T0_MS });
  await allot(database, 'r1');
  await database.payouts.withdraw({ ...name('r1'), wait: why, nextLookAtMs: T0_MS, nowMs: T0_MS });
  await stick('r1');
  assert.is(await stateOf(database, 'r1'), 'stuck');
  assert.is(await database.payouts.cancel('r1', T0_MS), true);
  await allot(database, 'r2');
  await stick('r2');
  assert.is(await database.payouts.cancel('r2', T0_MS), false);
  assert.equal([await stateOf(database, 'r1'), await stateOf(database, 'r2')], ['canceled', 'stuck']);
});

readyTest('a payout whose attempts have all ended can be canceled', async (database) => {
  await plan(database, refund('r1'), refund('r2'), refund('r3'));
  for (const [at, id] of ['r1', 'r2', 'r3'].entries()) {
    await bringOut(database, refund(id), at + 1, { nonce: at });
    assert.is(await database.payouts.cancel(id, T0_MS), false, 'it may be mined');
  }
  const end = (id: string, more = {}) =>
    renew(database, id, { proof: 'failed', ended: { tx: txOf(id), feeUnits: 3n }, ...more });
  await end('r1', { notBeforeMs: T0_MS + 60_000 });
  const why = { code: 'payout_generations', message: 'five times' };
  await end('r2', { isStuck: true, why });
  await end('r3');
  assert.equal((await database.payouts.find('r2'))?.wait, why);
  assert.equal(column(await database.alarms.list(10), 'code'), ['payout_generations']);
  assert.is((await allot(database, 'r1', { generation: 1, nonce: 3 })).kind, 'moved', 'it pauses');
  assert.is(await database.payouts.cancel('r1', T0_MS), true);
  assert.is(await database.payouts.cancel('r2', T0_MS), true);
  await allot(database, 'r3', { generation: 1, nonce: 3 });
  assert.is(await database.payouts.cancel('r3', T0_MS), false);
  const states = await Promise.all(['r1', 'r2', 'r3'].map((id) => stateOf(database, id)));
  assert.equal(states, ['canceled', 'canceled', 'sent']);
});

readyTest('sweeps take no place of a refund; what was sent comes before what waits', async (database) => {
  await plan(database, sweep('s1'), sweep('s2'), refund('r1'), refund('r2'));
  await allot(database, 's2');
  assert.equal(await openIds(database, 1), ['r1', 's2']);
});

readyTest('a sweep waits for its gas', async (database) => {
  const gas = { kind: 'gas', id: 'g1', network, form: 'transfer', index: 3, units: 7n } as const;
  const common = { sessionId: null, notBeforeMs: T0_MS, nowMs: T0_MS };
  await database.payouts.plan([
    { ...common, intent: sweep('s1'), servesId: null },
    { ...common, intent: gas, servesId: 's1' },
  ]);
  assert.equal(await openIds(database), ['g1']);
  await allot(database, 'g1');
  await database.payouts.recordSigned(network, [signatureOf(gas, 1)]);
  await sent(database, 'g1');
  await succeed(database, 'g1', 0, 2n);
  assert.equal(await openIds(database), ['s1']);
  const { balances } = await database.ledger.verify();
  have(balances, [
    { asset: 'native', account: 'collected', units: 7n },
    { asset: 'native', account: 'fees', units: 2n },
    { asset: 'native', account: 'hot', units: -9n },
  ]);
});

readyTest('nonces have no gaps: each is given out once, and taken back with a refusal', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  assert.is((await allot(database, 'r1', { nonce: 1 })).kind, 'moved', 'no number is skipped');
  assert.is((await allot(database, 'r1')).kind, 'allotted');
  assert.equal(await database.payouts.offerNonce(network, payer, counted(0), T0_MS), { kind: 'busy' });
  assert.is((await allot(database, 'r2', { nonce: 1 })).kind, 'moved');
  const wait = { code: 'signer_refused_cap', message: 'too much today' };
  await database.payouts.withdraw({ ...name('r1'), wait, nextLookAtMs: T0_MS + 5000, nowMs: T0_MS });
  assert.is(await stateOf(database, 'r1'), 'waiting');
  assert.equal((await database.payouts.find('r1'))?.wait, wait);
  assert.equal(await codes(database), ['signer_refused_cap']);
  assert.equal(await database.payouts.offerNonce(network, payer, counted(0), T0_MS), { kind: 'free', nonce: 0 });
  await bringOut(database, refund('r2'), 1);
  assert.equal(await database.payouts.offerNonce(network, payer, counted(1), T0_MS), { kind: 'free', nonce: 1 });
  assert.equal(await openIds(database, 10, T0_MS + 4999), ['r2'], 'the refused payout is looked at later');
  await breaks(database.payouts.withdraw({ ...name('r2'), wait, nextLookAtMs: T0_MS, nowMs: T0_MS }));
  const other = { code: 'fee_too_high', message: 'wait for a lower price' };
  await database.payouts.recordWait({ id: 'r1', generation: 0, wait: other, nextLookAtMs: T0_MS, nowMs: T0_MS });
  assert.equal((await database.payouts.find('r1'))?.wait, other);
});

test('two concurrent engines give each number out once', async ({ database, place }) => {
  const other = place.connect();
  await database.engines.nextFence(network, 0);
  await database.payouts.offerNonce(network, payer, counted(7), T0_MS);
  await plan(database, refund('r1'), refund('r2'));
  const outcomes = await Promise.all([allot(database, 'r1', { nonce: 7 }), allot(other, 'r2', { nonce: 7 })]);
  assert.equal(outcomes.map(({ kind }) => kind).sort(), ['allotted', 'moved']);
  other.close();
});

readyTest('a wallet has one nonce that is in no block; a foreign one freezes', async (database) => {
  const offer = (seen: ReturnType<typeof counted>) => database.payouts.offerNonce(network, payer, seen, T0_MS);
  await plan(database, refund('r0'), refund('r1'), refund('last'));
  await bringOut(database, refund('r0'), 1, { nonce: 0 });
  assert.equal(await offer(counted(0)), { kind: 'busy' });
  // Once it is in a block, the next one need not wait for its finality.
  assert.equal(await offer({ final: 0, head: 1, pending: 1 }), { kind: 'free', nonce: 1 });
  await bringOut(database, refund('r1'), 2, { nonce: 1 });
  assert.equal([await offer(counted(3)), await offer(counted(3))], [{ kind: 'busy' }, { kind: 'busy' }]);
  assert.is((await allot(database, 'last', { nonce: 2 })).kind, 'moved');
  const freezes = await database.holds.list();
  have(freezes, [{ network, code: 'payout_nonce_foreign' }]);
  assert.equal(await database.payouts.nonces(network), [{ network, payer, nextNonce: 2 }]);
  await database.payouts.passNonces(network, payer, 3);
  await database.payouts.passNonces(network, payer, 0);
  assert.equal(await offer(counted(3)), { kind: 'free', nonce: 3 });
  assert.equal(await database.holds.list(), freezes);
});

readyTest('a pending transaction that is not known here freezes, too', async (database) => {
  await plan(database, refund('r1'));
  await bringOut(database, refund('r1'), 1);
  const at = (head: number, pending = head) => ({ final: null, head, pending });
  assert.equal(await database.payouts.offerNonce(network, payer, at(0, 1), T0_MS), { kind: 'busy' });
  const [unknown, unused] = ['ef'.repeat(20), 'fe'.repeat(20)];
  assert.equal(await database.payouts.offerNonce(network, unknown, at(5), T0_MS), { kind: 'unsettled' });
  assert.equal(await database.payouts.offerNonce(network, unknown, counted(5), T0_MS), { kind: 'free', nonce: 5 });
  assert.equal(await database.payouts.offerNonce(network, unused, at(0), T0_MS), { kind: 'free', nonce: 0 });
  assert.equal(await codes(database), []);
  assert.equal(await database.payouts.offerNonce(network, payer, at(1, 2), T0_MS), { kind: 'busy' });
  assert.is((await database.holds.find(network))?.code, 'payout_nonce_foreign');
});

readyTest('a signature is recorded with its attempt; a stray one stops everything', async (database) => {
  await plan(database, refund('r1'));
  await allot(database, 'r1');
  const signature = signatureOf(refund('r1'), 4);
  for (const stray of [
    { ...signature, terms: { ...signature.terms, salt: 'other' } },
    { ...signature, intent: { ...refund('r1'), units: 6n } },
    { ...signature, generation: 1 },
    signatureOf(refund('unknown'), 4),
  ]) {
    assert.equal(await database.payouts.recordSigned(network, [stray]), stray);
  }
  assert.is((await database.engines.list())[0]?.journalId, 0);
  assert.is(await database.payouts.recordSigned(network, [signature]), null);
  assert.is(await database.payouts.recordSigned(network, [signature]), null, 'each time it is read');
  assert.is((await database.payouts.recordSigned(network, [{ ...signature, tx: 'another' }]))?.tx, 'another');
  assert.is((await database.engines.list())[0]?.journalId, 4);
  has((await database.payouts.attempts('r1'))[0], { tx: signature.tx, bytes: signature.bytes });
});

readyTest('a replacement has its attempt’s nonce, a new generation its own', async (database) => {
  await plan(database, refund('r1'));
  await bringOut(database, refund('r1'), 1);
  await breaks(allot(database, 'r1', { attempt: 1, nonce: 1 }));
  assert.is((await allot(database, 'r1', { attempt: 2 })).kind, 'moved');
  assert.is((await allot(database, 'r1', { attempt: 1 })).kind, 'allotted');
  await database.payouts.recordSigned(network, [signatureOf(refund('r1'), 2, { attempt: 1 })]);
  const failed = { proof: 'failed', ended: { tx: txOf('r1', 0, 1), feeUnits: 3n } };
  await renew(database, 'r1', failed);
  assert.is(await renew(database, 'r1', failed), false);
  assert.equal(await database.payouts.offerNonce(network, payer, counted(1), T0_MS), { kind: 'free', nonce: 1 });
  await bringOut(database, refund('r1'), 3, { generation: 1, nonce: 1 });
  await succeed(database, 'r1', 1, 4n);
  assert.is(await succeed(database, 'r1', 1, 4n), false);
  has(await database.payouts.find('r1'), { state: 'succeeded', tx: txOf('r1', 1), feeUnits: 4n });
  assert.is((await database.payouts.attempts('r1')).length, 3, 'every attempt is kept');
  const fees = (await database.ledger.verify()).balances.find(({ account }) => account === 'fees');
  assert.is(fees?.units, 7n);
});

readyTest('settling in stops a first attempt, and a freeze a replacement too', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  await bringOut(database, refund('r1'), 1);
  await database.engines.settle(network, T0_MS + 1);
  assert.is((await allot(database, 'r2', { nonce: 1 })).kind, 'moved');
  const freeze = { network, code: 'payouts_frozen', reason: 'lost', frozenBy: 'anna', sinceMs: T0_MS } as const;
  await database.holds.freeze(freeze, null);
  assert.is((await allot(database, 'r1', { attempt: 1 })).kind, 'moved');
  await database.holds.thaw({ freezes: [freeze], transfers: [] }, act('payout thaw'));
  assert.is((await allot(database, 'r1', { attempt: 1 })).kind, 'allotted');
});

readyTest('the reason to wait raises one alarm, and a refusal is reported', async (database) => {
  await plan(database, refund('r1'));
  const wait = { code: 'token_short', message: 'the wallet has 3' };
  const later = { id: 'r1', generation: 0, wait, nextLookAtMs: T0_MS + 5000.5, nowMs: T0_MS };
  await database.payouts.recordWait(later);
  await database.payouts.recordWait({ ...later, wait: { ...wait, message: 'the wallet has 4' } });
  assert.equal(await codes(database), ['token_short']);
  assert.is((await database.payouts.find('r1'))?.wait?.message, 'the wallet has 4');
  const notDue = { fault: null, overdue: 0, overdueSinceMs: null };
  assert.equal(await database.payouts.countOpen(T0_MS), [
    { network, code: 'token_short', count: 1, oldestAtMs: T0_MS, ...notDue },
  ]);
  assert.is((await allot(database, 'r1', { nowMs: T0_MS + 5001 })).kind, 'allotted');
  assert.is((await database.payouts.find('r1'))?.wait, null);
  await database.payouts.recordSigned(network, [signatureOf(refund('r1'), 1)]);
  const refusal = { code: 'payout_not_included', message: 'pool full' };
  await sent(database, 'r1', 0, { answerCode: 'rejected', answer: 'rejected', refusal });
  assert.is((await database.payouts.find('r1'))?.wait?.code, 'payout_not_included');
  await sent(database, 'r1');
  assert.is((await database.payouts.find('r1'))?.wait, null);
  has((await database.payouts.attempts('r1'))[0], { sentAtMs: T0_MS, answer: 'accepted' });
});

readyTest('a fault is saved with its payout, beside what it waits for, until the payout advances', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  const wait = { code: 'token_short', message: 'it has 3' };
  const fault = { code: 'node_inconsistent', message: 'two answers' };
  await database.payouts.recordWait({ ...name('r1'), wait, nextLookAtMs: T0_MS + 5000, nowMs: T0_MS });
  const record = (saved: typeof fault | null, generation = 0) =>
    database.payouts.recordFault({ ...name('r1', generation), fault: saved, nowMs: T0_MS });
  const shown = async () => {
    const payout = await database.payouts.find('r1');
    return [payout?.fault, payout?.wait, payout?.notBeforeMs];
  };
  assert.is(await record(fault), true);
  assert.is(await record(null, 1), false, 'of another generation');
  assert.equal(await shown(), [fault, wait, T0_MS + 5000]);
  assert.equal(await codes(database), ['token_short'], 'raises no alarm by itself');
  const open = await database.payouts.open(network, T0_MS + 5000, 2);
  assert.equal(open.find(({ payout }) => payout.id === 'r1')?.payout.fault, fault);
  have(await database.payouts.countOpen(T0_MS + 1), [
    { code: null, fault: null, overdue: 1, overdueSinceMs: T0_MS },
    { code: 'node_inconsistent', fault: 'two answers', overdue: 0, overdueSinceMs: null },
  ]);
  await record(null);
  assert.equal(await shown(), [null, wait, T0_MS + 5000]);
  await record(fault);
  await allot(database, 'r1', { nowMs: T0_MS + 5000 });
  assert.equal((await shown()).slice(0, 2), [null, null]);
  await record(fault);
  await database.payouts.stick({ ...name('r1'), why: wait, freezes: false, nowMs: T0_MS });
  assert.is(await record(fault), false, 'it is no longer open');
  assert.equal((await shown()).slice(0, 2), [null, wait]);
});

readyTest('a sweep is in transit while it is on its way, in any generation', async (database) => {
  await plan(database, sweep('s1'));
  const transit = async () =>
    (await database.ledger.verify()).balances.flatMap(({ account, units }) => (account === 'in_transit' ? units : []));
  await bringOut(database, sweep('s1'), 1);
  assert.equal(await transit(), [9n]);
  await renew(database, 's1');
  assert.equal(await transit(), []);
  await bringOut(database, sweep('s1'), 2, { generation: 1, nonce: 1 });
  assert.equal(await transit(), [9n]);
  await succeed(database, 's1', 1, 0n);
  assert.equal(await transit(), []);
});

readyTest('a payout fails only while none of its attempts can be on the chain', async (database) => {
  await plan(database, refund('r1'), refund('r2'));
  const failed = { kind: 'failed', code: 'destination_frozen', message: 'by its issuer' } as const;
  await database.payouts.settle({ id: 'r1', generation: 0, outcome: failed, nowMs: T0_MS });
  assert.is(await stateOf(database, 'r1'), 'failed');
  await bringOut(database, refund('r2'), 1);
  await breaks(database.payouts.settle({ id: 'r2', generation: 0, outcome: failed, nowMs: T0_MS }));
  const why = { code: 'payout_nonce_foreign', message: 'stolen' };
  await database.payouts.stick({ id: 'r2', generation: 0, why, freezes: true, nowMs: T0_MS });
  assert.equal(await database.payouts.open(network, T0_MS, 10), []);
  assert.is((await database.holds.find(network))?.code, why.code, 'the other payouts are in danger');
  const look = (id: string, state: 'failed' | 'stuck', attemptCount: number) => {
    const seen = { state, generation: 0, attemptCount };
    return database.payouts.conclude({ id, seen, conclusion: { kind: 'look' }, act: act('payout resolve') });
  };
  assert.is(await look('r1', 'failed', 0), false);
  assert.is(await look('r2', 'stuck', 1), true);
  assert.is(await stateOf(database, 'r2'), 'sent', 'its attempt may still be mined');
});

test.run();
