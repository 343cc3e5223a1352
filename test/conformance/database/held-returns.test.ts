/** Held money that an operator sends back: it counts for nothing, is paid once, and is held again if that fails. */
import * as assert from 'uvu/assert';
import { createIntentMac, type ReturnIntent } from '../../../src/core/intent.ts';
import type { Currency } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import type { HeldMoney, ReturnHeldMoney, ReturnHeldOutcome } from '../../../src/database/held-money.ts';
import type { DestinationCheck, NewRefund } from '../../../src/database/refunds/refund.ts';
import { has } from '../../support/fields.ts';
import { counted } from '../../support/nonces.ts';
import { allot, network, payer, sent, signatureOf, succeed } from './payout-scene.ts';
import {
  act,
  booksAgree,
  endpoint,
  eventTypes,
  type Feed,
  inWorlds,
  passTo,
  pays,
  request,
  show,
  start,
  T0_S,
  type World,
} from './place.ts';

const GRACE_END_S = T0_S + 3600;
const payee = 'b'.repeat(40);
const check: DestinationCheck = (_network, key) =>
  key.length === 40 ? { kind: 'ok', family: 'evm', key } : { kind: 'bad', why: 'malformed' };

async function pay(one: Feed, to: string, minor: bigint, more: Partial<{ currency: Currency; from: string }> = {}) {
  const network = one.network === 'test:one' ? 'one' : 'two';
  const block = await one.mine([pays(to, minor, { network, ...more })]);
  await one.confirm(block);
  assert.is(await one.step({ floor: block.number }), 'done');
}

const held = (database: Database): Promise<readonly HeldMoney[]> => database.held.list({ limit: 100 });

const brief = async (database: Database): Promise<string[]> =>
  (await held(database))
    .map(({ kind, state, valuePar, returns }) =>
      [kind, state, valuePar / 10n ** 16n, ...returns.map(({ status }) => status)].join(' '),
    )
    .sort();

async function giveBack({ database, one }: World, more: Partial<ReturnHeldMoney> = {}): Promise<ReturnHeldOutcome> {
  const open = (await held(database)).filter(({ state }) => state === 'open');
  const wish = { id: open[0]?.id ?? '', to: payee, requestedBy: null, isDryRun: false };
  return database.held.giveBack({ ...wish, act: act('held return', one.nowMs), ...more }, check);
}

async function returned(world: World, more: Partial<ReturnHeldMoney> = {}): Promise<string> {
  const outcome = await giveBack(world, more);
  assert.ok(outcome.kind === 'done', `not ${outcome.kind}`);
  return outcome.refund.id;
}

const laterMs = ({ one }: World): number => one.nowMs + 61_000;

/** Starts what is ready, and sends the first attempt of the payout with this id. */
async function bringOut(world: World, id: string, kind: 'refund' | 'return'): Promise<void> {
  const { database, one } = world;
  await database.refunds.advance(one.nowMs, 10);
  const [open] = await database.payouts.open(network, laterMs(world), 10);
  assert.ok(open, 'a payout is due');
  const { intent } = open.payout;
  has(intent, { id, kind });
  await database.payouts.offerNonce(network, payer, counted(0), one.nowMs);
  assert.is((await allot(database, id, { nowMs: laterMs(world) })).kind, 'allotted');
  await database.engines.nextFence(network, 0);
  await database.payouts.recordSigned(network, [signatureOf(intent, 1)]);
  await sent(database, id);
}

/** Returns it as above, and settles it as paid. */
async function payOut(world: World, id: string): Promise<void> {
  await bringOut(world, id, 'return');
  assert.ok(await succeed(world.database, id));
}

const refundOf = (world: World, refundId: string, amountMinor: bigint): NewRefund => ({
  storeId: 'm1',
  mode: 'test',
  refundId,
  sessionId: 'cs_o1',
  amountMinor,
  currency: 'USDT',
  reason: null,
  description: null,
  metadata: null,
  refundAddress: payee,
  replay: { idempotencyKey: null, path: '/refunds/create', bodyHash: refundId },
  nowMs: world.one.nowMs,
});

const test = inWorlds('returns of held money');

test('a surplus is paid back once; the session stays paid, and no event is sent', async (world) => {
  const { database, one } = world;
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.reversed', 'refund.processing'] }));
  await pay(one, await start(database, 'o1'), 1250n);
  const events = await eventTypes(database, 'cs_o1');
  const tried = await giveBack(world, { isDryRun: true });
  assert.ok(tried.kind === 'done');
  assert.equal(await brief(database), ['surplus open 250'], 'a dry run changes nothing');
  const id = await returned(world);
  assert.is(id, tried.refund.id);
  assert.match(id, /^rt_/);
  assert.equal(await brief(database), ['surplus gone 0 pending']);
  const [record] = await held(database);
  assert.is((await database.held.accept(record?.id ?? '', act('held accept'), false)).kind, 'not_open');
  assert.is((await giveBack(world, { id: record?.id ?? '' })).kind, 'not_open');
  await booksAgree(database);
  await payOut(world, id);
  assert.equal(await brief(database), ['surplus gone 0 completed']);
  const { life, standing } = await show(database, 'o1');
  assert.is(life.status, 'paid');
  has(standing, { confirmedPar: 10n * 10n ** 18n, funded: 'full' });
  assert.equal(await eventTypes(database, 'cs_o1'), events);
  has((await database.refunds.list({ limit: 9 }))[0], { heldKind: 'surplus', units: 2_500_000n, status: 'completed' });
  const entry = (await database.audit.list(9)).find(({ command }) => command === 'held return');
  has(entry, { target: record?.id, reason: 'a test' });
  assert.is(entry?.after?.return, id);
  assert.is((await database.refunds.create(refundOf(world, 'r1', 1001n), check)).kind, 'refused');
  assert.is((await database.refunds.create(refundOf(world, 'r1', 1000n), check)).kind, 'created');
});

test(
  'returned money never pays the session',
  async (world) => {
    const { database, one } = world;
    const to = await start(database, 'o1');
    await pay(one, to, 600n);
    await passTo(world, GRACE_END_S + 1);
    assert.equal(await brief(database), ['short open 600']);
    const id = await returned(world);
    await pay(one, to, 400n);
    const { life, standing } = await show(database, 'o1');
    assert.is(life.status, 'failed');
    assert.is(standing.confirmedPar, 4n * 10n ** 18n);
    await payOut(world, id);
    await pay(one, to, 500n);
    assert.is((await show(database, 'o1')).life.status, 'failed');
    await booksAgree(database);
    await pay(one, to, 100n);
    assert.is((await show(database, 'o1')).life.status, 'paid');
    await booksAgree(database);
  },
  { latePolicy: 'accept' },
);

test('a return that is rejected is held again with an alarm, and the next one has another id', async (world) => {
  const { database, one } = world;
  await passTo(world, T0_S);
  const to = await start(database, 'o1');
  await passTo(world, T0_S + 1801);
  await pay(one, to, 300n);
  const id = await returned(world);
  await database.refunds.advance(one.nowMs, 10);
  assert.is((await database.payouts.find(id))?.intent.kind, 'return');
  const alarms = (await database.alarms.list(99)).length;
  assert.is(await database.refunds.reject(id, 'rejected_by_operator', one.nowMs), true);
  assert.equal(await brief(database), ['late open 300 failed']);
  assert.is((await database.alarms.list(99)).length, alarms + 1);
  assert.is((await database.payouts.find(id))?.state, 'canceled');
  await booksAgree(database);
  const next = await returned(world);
  assert.is.not(next, id);
  await payOut(world, next);
  assert.equal(await brief(database), ['late gone 0 failed completed']);
});

test('a refund whose attempts have all expired can be rejected in any generation, which frees its amount, and not before', async (world) => {
  const { database, one } = world;
  await pay(one, await start(database, 'o1'), 1000n);
  const created = await database.refunds.create(refundOf(world, 'r1', 1000n), check);
  assert.ok(created.kind === 'created');
  const { id } = created.refund;
  const reject = () => database.refunds.reject(id, 'rejected_by_operator', laterMs(world));
  await bringOut(world, id, 'refund');
  for (const generation of [0, 1, 2]) {
    has(await database.payouts.find(id), { generation, state: generation === 0 ? 'sent' : 'waiting' });
    if (generation === 0) assert.is(await reject(), false, 'it is on its way');
    const next = { id, generation, proof: 'dead', ended: null, isStuck: false, why: null } as const;
    await database.payouts.renew({ ...next, notBeforeMs: one.nowMs, nowMs: one.nowMs });
  }
  const { replay } = refundOf(world, 'r1', 0n);
  const cancel = { storeId: 'm1', mode: 'test', refundId: 'r1', replay, nowMs: laterMs(world) } as const;
  assert.is((await database.refunds.cancel(cancel)).kind, 'not_cancelable', 'the merchant’s window has ended');
  assert.is(await reject(), true);
  assert.is((await database.payouts.find(id))?.state, 'canceled');
  assert.equal(await database.payouts.open(network, laterMs(world), 10), []);
  await booksAgree(database);
  assert.is((await database.refunds.create(refundOf(world, 'r2', 1000n), check)).kind, 'created');
});

test('a wrong coin goes back while the session is pending, and an accepted one never counts what went back', async (world) => {
  const { database, one } = world;
  const to = await start(database, 'o1', { accepts: ['USDT'], request: request('o1', { currency: 'USDT' }) });
  await pay(one, to, 700n, { currency: 'USDC' });
  const id = await returned(world);
  await payOut(world, id);
  await pay(one, to, 200n, { currency: 'USDC' });
  assert.equal(await brief(database), ['wrong_token open 200 completed']);
  const [record] = await held(database);
  const accepted = await database.held.accept(record?.id ?? '', act('held accept'), false);
  assert.ok(accepted.kind === 'done');
  assert.is(accepted.effect, 'credited');
  assert.is(accepted.after.confirmedPar, 2n * 10n ** 18n);
});

test('of several parts one is chosen; a bad address and refunded money are refused', async (world) => {
  const { database, one, two } = world;
  const to = await start(database, 'o1');
  await pay(one, to, 1000n, { from: '1'.repeat(40) });
  await pay(one, to, 100n, { from: '2'.repeat(40) });
  await pay(two, to, 50n, { from: '3'.repeat(40) });
  const choose = await giveBack(world);
  assert.ok(choose.kind === 'choose');
  assert.equal(choose.parts.map((part) => `${part.network} ${part.amountMinor}`).sort(), [
    'test:one 150',
    'test:two 50',
  ]);
  assert.is((await giveBack(world, { network, currency: 'USDC' })).kind, 'choose');
  assert.equal(await giveBack(world, { network, to: 'short' }), { kind: 'bad_destination', why: 'malformed' });
  assert.is((await giveBack(world, { network, to })).kind, 'bad_destination', 'not to a deposit address');
  await returned(world, { network: 'test:two' });
  assert.equal(await brief(database), ['surplus open 100 pending']);
  assert.is((await database.refunds.create(refundOf(world, 'r1', 1050n), check)).kind, 'created');
  assert.is((await giveBack(world)).kind, 'refunded');
  assert.is((await giveBack(world, { id: 'held_nobody' })).kind, 'not_found');
});

test('a return that this database lost in a restore counts for nothing, and the same one is not paid again', async (world) => {
  const { database, one } = world;
  await pay(one, await start(database, 'o1'), 1250n);
  const tried = await giveBack(world, { isDryRun: true });
  assert.ok(tried.kind === 'done');
  const { id, units } = tried.refund;
  const bound = { id, network, currency: 'USDT', to: payee, units } as const;
  const named = { ...bound, session: { id: 'cs_o1', amount: '2.50' }, held: 'surplus' } as const;
  const mac = createIntentMac(new Uint8Array(32))(named);
  const intent: ReturnIntent = { kind: 'return', ...named, mac: tried.refund.destination?.mac ?? mac };
  const whole = { ...signatureOf(intent, 1), payer, payerRole: 'refund' } as const;
  await database.payouts.adopt(network, { signatures: [whole], servedFence: 3, nowMs: one.nowMs });
  assert.equal(await brief(database), ['surplus gone 0 processing']);
  assert.ok(await succeed(database, id));
  assert.equal(await brief(database), ['surplus gone 0 completed']);
  assert.is((await giveBack(world, { id: (await held(database))[0]?.id ?? '' })).kind, 'not_open');
  assert.is((await database.refunds.create(refundOf(world, 'r1', 1001n), check)).kind, 'refused');
});

test.run();
