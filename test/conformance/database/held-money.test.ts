/** Confirmed money that counts for nothing: how it is held, and what an operator's decision does. */
import * as assert from 'uvu/assert';
import type { Currency } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import type { AcceptHeldOutcome, HeldMoney } from '../../../src/database/held-money.ts';
import { column, has } from '../../support/fields.ts';
import {
  act,
  booksAgree,
  cancelSession,
  claimAll,
  endpoint,
  eventTypes,
  type Feed,
  inWorlds,
  merchant,
  newSession,
  passTo,
  pays,
  request,
  show,
  start,
  T0_MS,
  T0_S,
} from './place.ts';

const END_S = T0_S + 1800;
const GRACE_END_S = END_S + 1800;
/** A price in USDT. */
const inUsdt = (orderId: string) => ({ accepts: ['USDT'], request: request(orderId, { currency: 'USDT' }) }) as const;

/** Pays and confirms on network one. */
async function pay(one: Feed, to: string, minor: bigint, currency: Currency = 'USDT'): Promise<void> {
  await one.confirm(await one.mine([pays(to, minor, { currency })]));
}

const held = (database: Database, sessionId?: string): Promise<readonly HeldMoney[]> =>
  database.held.list({ ...(sessionId !== undefined && { sessionId: `cs_${sessionId}` }), limit: 100 });

const brief = (all: readonly HeldMoney[]): string[] =>
  all.map(({ kind, state, valuePar, settledPar }) => `${kind} ${state} ${cents(valuePar)} ${cents(settledPar)}`).sort();
const cents = (par: bigint): bigint => par / 10n ** 16n;

const idOf = async (database: Database, sessionId: string): Promise<string> => {
  const open = (await held(database, sessionId)).filter(({ state }) => state === 'open');
  assert.is(open.length, 1, `one open amount, not ${brief(open)}`);
  return open[0]?.id ?? '';
};

const accept = async (database: Database, sessionId: string, isDryRun = false): Promise<AcceptHeldOutcome> =>
  database.held.accept(await idOf(database, sessionId), act('held accept'), isDryRun);

const effectOf = (outcome: AcceptHeldOutcome): string => (outcome.kind === 'done' ? outcome.effect : outcome.kind);

/** The newest alarm about money of the session; its message names commands with the id. */
async function alarmOf(database: Database, sessionId: string): Promise<string | undefined> {
  const found = (await database.alarms.list(100)).find((one) => one.sessionId === `cs_${sessionId}`);
  if (!found) return undefined;
  const [own] = (await held(database, sessionId)).filter(({ id }) => found.message.includes(id));
  assert.ok(own, 'the alarm names held money of the session');
  assert.match(found.message, `quayside show ${own.id}`);
  return found.code;
}

/** Returns the money held for a session, and the newest alarm about it. */
const told = async (database: Database, sessionId: string) => ({
  held: brief(await held(database)),
  alarm: await alarmOf(database, sessionId),
});

/** Returns the codes of alarms about a session that last until its held money is decided, and have not ended. */
async function openAlarms(database: Database, sessionId: string): Promise<readonly string[]> {
  const found = (await database.alarms.list(100)).filter((one) => one.sessionId === `cs_${sessionId}`);
  return found.filter(({ key, endedAtMs }) => key !== null && endedAtMs === null).map(({ code }) => code);
}

const test = inWorlds('held money');

test('late: held with an alarm; accepted, the session is paid late, once, and stays paid through a reorg', async (world) => {
  const { database, one } = world;
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.late', 'payment.reversed'] }));
  const to = await start(database, 'o1');
  await passTo(world, END_S + 1);
  const transfers = [pays(to, 1000n)];
  const block = await one.mine(transfers);
  assert.equal(await held(database), [], 'not before it is confirmed');
  await one.confirm(block);
  assert.equal(await told(database, 'o1'), { held: ['late open 1000 0'], alarm: 'money_late' });
  const tried = await accept(database, 'o1', true);
  assert.ok(tried.kind === 'done');
  has(tried, { effect: 'paid' });
  assert.is(tried.after.status, 'paid');
  assert.is((await show(database, 'o1')).life.status, 'expired', 'a dry run changes nothing');
  assert.equal(brief(await held(database)), ['late open 1000 0']);
  assert.equal(await database.audit.list(9), []);
  const id = await idOf(database, 'o1');
  assert.equal(await openAlarms(database, 'o1'), ['money_late']);
  assert.equal(await accept(database, 'o1'), tried, 'and tells what happens');
  assert.equal(await openAlarms(database, 'o1'), [], 'nobody needs to look any more');
  const { life, standing } = await show(database, 'o1');
  has(life, { status: 'paid', paidLate: true, endedAtS: END_S + 1 });
  has(standing, { funded: 'full', latePar: 0n });
  assert.equal(brief(await held(database)), ['late settled 0 1000']);
  const again = await database.held.accept(id, act('held accept'), false);
  assert.is(again.kind, 'not_open');
  const [entry, ...others] = await database.audit.list(9);
  has(entry, { command: 'held accept', target: id, reason: 'a test' });
  has(entry?.before, { status: 'expired' });
  has(entry?.after, { status: 'paid' });
  assert.equal(others, []);
  await booksAgree(database);
  await one.reorg(1, [[], []]);
  await one.reconnect(2, [{ block, transfers }]);
  await one.confirm(block);
  assert.is((await show(database, 'o1')).standing.confirmedPar, 10n * 10n ** 18n);
  assert.equal(await eventTypes(database, 'cs_o1'), [
    'payment.expired',
    'payment.late',
    'payment.completed',
    'payment.reversed',
  ]);
  assert.equal(brief(await held(database)), ['late settled 0 1000']);
});

test('money mined before a cancel and read after it is held, and can be accepted', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const block = { ...one.child(), timeS: T0_S };
  one.nowMs = T0_MS + 10_000;
  await cancelSession(database, 'cs_o1', one.nowMs);
  assert.is(await one.step({ connect: [{ block, transfers: [pays(to, 1000n)] }] }), 'done');
  one.chain.push(block);
  await one.confirm(block);
  assert.is((await show(database, 'o1')).life.status, 'canceled');
  assert.equal(await told(database, 'o1'), { held: ['late open 1000 0'], alarm: 'money_late' });
  assert.is(effectOf(await accept(database, 'o1')), 'paid');
  const { life } = await show(database, 'o1');
  has(life, { status: 'paid', paidLate: true });
});

test('short: held when the session fails; accepted, it is paid with what came, and shows as underpaid', async (world) => {
  const { database, one } = world;
  await database.endpoints.add(endpoint('e1'));
  const to = await start(database, 'o1');
  await pay(one, to, 400n);
  assert.equal(await held(database), [], 'it counts while there is time');
  await passTo(world, GRACE_END_S + 1);
  assert.equal(await told(database, 'o1'), { held: ['short open 400 0'], alarm: 'money_short' });
  assert.is(effectOf(await accept(database, 'o1')), 'paid');
  const { life, standing } = await show(database, 'o1');
  has(life, { status: 'paid', paidLate: false });
  assert.is(standing.funded, 'part');
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.failed', 'payment.completed']);
  const [completed] = (await database.deliveries.list({ sessionId: 'cs_o1', limit: 1 })) ?? [];
  assert.is(completed?.eventType, 'payment.completed');
  await booksAgree(database);
  // The rest comes after all: the payment is complete, and nothing is held.
  await pay(one, to, 600n);
  assert.is((await show(database, 'o1')).standing.funded, 'full');
  assert.equal(brief(await held(database)), ['short settled 0 400']);
});

test('a late part on top of a short one: accepting either takes both, and only what is above the price is left over', async (world) => {
  const { database, one } = world;
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.overpaid'] }));
  const to = await start(database, 'o1');
  await pay(one, to, 400n);
  await passTo(world, GRACE_END_S + 1);
  await pay(one, to, 700n);
  assert.equal(brief(await held(database)), ['late open 700 0', 'short open 400 0']);
  const late = (await held(database)).find(({ kind }) => kind === 'late');
  await database.held.accept(late?.id ?? '', act('held accept'), false);
  const { life, standing } = await show(database, 'o1');
  has(life, { status: 'paid', paidLate: true });
  assert.is(standing.funded, 'over');
  const alarms = (await database.alarms.list(100)).map(({ code }) => code);
  assert.not(alarms.includes('money_surplus'), 'the operator knew the sum');
  assert.equal(brief(await held(database)), ['late settled 0 700', 'short gone 0 0', 'surplus settled 100 100']);
  assert.equal((await eventTypes(database, 'cs_o1')).slice(-2), ['payment.completed', 'payment.overpaid']);
});

test('surplus: held once the session is paid, acknowledged, opened by more', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.overpaid'] }));
  await database.endpoints.add(endpoint('plain'));
  const to = await start(database, 'o1');
  await pay(one, to, 1250n);
  assert.equal(await told(database, 'o1'), { held: ['surplus open 250 0'], alarm: 'money_surplus' });
  const before = await show(database, 'o1');
  assert.is(effectOf(await accept(database, 'o1')), 'acknowledged');
  assert.equal(await show(database, 'o1'), before);
  await booksAgree(database);
  await one.confirm(await one.mine([{ ...pays(to, 0n), units: 9_999n }]));
  assert.equal(brief(await held(database)), ['surplus settled 250 250'], 'less than a cent opens nothing');
  await pay(one, to, 100n);
  assert.equal(brief(await held(database)), ['surplus open 350 250']);
  const sent = await database.deliveries.list({ sessionId: 'cs_o1', limit: 9 });
  assert.equal(sent.map(({ endpointId, eventType }) => `${endpointId} ${eventType}`).sort(), [
    'e1 payment.completed',
    'e1 payment.overpaid',
    'e1 payment.overpaid',
    'plain payment.completed',
  ]);
  const id = await idOf(database, 'o1');
  assert.equal((await database.held.find(id))?.orderId, 'o1');
  assert.is(await database.held.find('held_nobody'), null);
  assert.is((await database.held.accept('held_nobody', act('held accept'), false)).kind, 'not_found');
});

test('wrong token: held at once; accepted in time it counts at par', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.wrong_token'] }));
  const to = await start(database, 'o1', inUsdt('o1'));
  await pay(one, to, 400n, 'USDC');
  assert.equal(await told(database, 'o1'), { held: ['wrong_token open 400 0'], alarm: 'money_wrong_token' });
  const sent = await claimAll(database, T0_MS);
  assert.is(sent[0]?.eventType, 'payment.wrong_token');
  has(JSON.parse(sent[0]?.body ?? '').data.object, { amount: 400, currency: 'USDC', status: 'pending' });
  assert.is(effectOf(await accept(database, 'o1')), 'credited');
  const { life, standing } = await show(database, 'o1');
  assert.is(life.status, 'pending');
  assert.is(standing.confirmedPar, 4n * 10n ** 18n);
  await booksAgree(database);
  await pay(one, to, 100n, 'USDC');
  await pay(one, to, 500n);
  const paid = await show(database, 'o1');
  has(paid.life, { status: 'paid', paidLate: false });
  assert.is(paid.standing.funded, 'full');
  assert.equal(brief(await held(database)), ['wrong_token settled 0 400']);
  assert.equal(await eventTypes(database, 'cs_o1'), ['payment.wrong_token', 'payment.completed']);
});

test('wrong token after the end, accepted: paid; in a paid session, or for a price in dollars: only acknowledged', async (world) => {
  const { database, one } = world;
  const addresses = [
    await start(database, 'ended', inUsdt('ended')),
    await start(database, 'paid', inUsdt('paid')),
    await start(database, 'dollars', { accepts: ['USDT'] }),
  ] as const;
  await pay(one, addresses[1], 1000n);
  await passTo(world, END_S + 1);
  for (const to of addresses) await pay(one, to, 1000n, 'USDC');
  assert.is(effectOf(await accept(database, 'ended')), 'paid');
  const { life, standing } = await show(database, 'ended');
  has(life, { status: 'paid', paidLate: true });
  assert.is(standing.funded, 'full');
  for (const id of ['paid', 'dollars']) {
    const before = await show(database, id);
    assert.is(effectOf(await accept(database, id)), 'acknowledged');
    assert.equal(await show(database, id), before);
    assert.equal(brief(await held(database, id)), ['wrong_token settled 1000 1000']);
  }
});

test('a reorg or a store that accepts late money ends the question; the right coin on a sister network was none', async (world) => {
  const { database, one, two } = world;
  await database.stores.create(merchant('m2', { latePolicy: 'accept' }));
  const [gone, forgiven] = [await start(database, 'gone'), await start(database, 'forgiven', { storeId: 'm2' })];
  const { options } = newSession('x');
  const onOne = options.filter(({ network }) => network === 'one');
  const sister = await start(database, 'sister', { options: onOne });
  await two.confirm(await two.mine([pays(sister, 1000n, { network: 'two' })]));
  assert.is((await show(database, 'sister')).life.status, 'paid');
  await passTo(world, END_S + 1);
  await pay(one, gone, 1000n);
  await one.reorg(1, [[]]);
  assert.equal(brief(await held(database)), ['late gone 0 0']);
  assert.equal(await openAlarms(database, 'gone'), []);
  await pay(one, gone, 1000n);
  assert.equal(await openAlarms(database, 'gone'), ['money_late']);
  await pay(one, forgiven, 300n);
  assert.equal(brief(await held(database, 'forgiven')), ['short open 300 0']);
  await pay(one, forgiven, 700n);
  assert.is((await show(database, 'forgiven')).life.status, 'paid');
  assert.equal(brief(await held(database, 'forgiven')), ['short gone 0 0']);
  const open = await database.held.list({ state: 'open', limit: 9 });
  assert.equal(column(open, 'sessionId'), ['cs_gone']);
  assert.equal(await database.held.list({ storeId: 'm2', state: 'open', limit: 9 }), []);
  assert.is((await database.stats(one.nowMs)).heldOpen, 1);
});

test.run();
