/**
 * Retention on a real file: what is archived is found, answered and paid as before; what is removed is nothing that
 * books, refunds or a late payment need.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { QUARTER_MS } from '../../../src/database/credit-totals.ts';
import type { Database, Session } from '../../../src/database/database.ts';
import type { RetentionKind, RetentionPlace } from '../../../src/database/retention.ts';
import { openRetentionDatabase } from '../../../src/database/sqlite/retention/retention-database.ts';
import {
  addressOf,
  claimAll,
  endpoint,
  type Feed,
  inWorld,
  newSession,
  type Place,
  pays,
  request,
  sessionOf,
  show,
  T0_MS,
  T0_S,
  type World,
} from '../../conformance/database/place.ts';
import { recordAttempt } from '../../support/record-attempt.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { audit } from './audit.ts';

const DAY_MS = 86_400_000;
const LATER_MS = T0_MS + 100 * DAY_MS;
const ALL = Number.MAX_SAFE_INTEGER;

let file = '';
const makePlace = (outageWaitS?: number): Place => {
  const place = openTempDatabase(outageWaitS);
  file = place.file;
  return { ...place, audit: () => [...audit(place.file), ...dangling()] };
};

/** Rows that refer to nothing: the connection that removes rows does not check. */
function dangling(): string[] {
  const client = new Sqlite(file, { readonly: true });
  try {
    return (client.pragma('foreign_key_check') as unknown[]).map((row) => JSON.stringify(row));
  } finally {
    client.close();
  }
}

/** Returns every row of the tables that archiving moves; attempts are not kept. */
function content(): string {
  const client = new Sqlite(file, { readonly: true });
  const tables = ['sessions', 'events', 'deliveries', 'endpoints', 'addresses', 'session_counts'];
  try {
    return JSON.stringify(tables.map((table) => client.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()));
  } finally {
    client.close();
  }
}

const select = (text: string): unknown[] => {
  const client = new Sqlite(file, { readonly: true });
  try {
    return client.prepare(text).pluck().all();
  } finally {
    client.close();
  }
};

/** Runs one kind of work to its end, slice by slice. @returns how many it changed */
async function retain(kind: RetentionKind, beforeMs = LATER_MS, { nowMs = LATER_MS, isDryRun = false } = {}) {
  const database = openRetentionDatabase({ file, busyTimeoutMs: 5000, bytesMax: null });
  try {
    let total = 0;
    for (let place: RetentionPlace | null = null; ; ) {
      const { done, next }: Readonly<{ done: number; next: RetentionPlace | null }> = await database.retainSlice({
        ...{ kind, beforeMs, place, nowMs, isDryRun },
      });
      total += done;
      if (next === null) return total;
      place = next;
    }
  } finally {
    database.close();
  }
}

const payer = {
  description: 'Flowers for Ann Example',
  metadata: { customer: 'ann@example.com' },
  successUrl: 'https://shop.example/thanks?customer=ann',
  cancelUrl: 'https://shop.example/cart?customer=ann',
  lineItems: [{ price_data: { currency: 'USD', unit_amount: 1000, product_data: { name: 'Roses' } }, quantity: 1 }],
} as const;

/** Creates a session that nobody pays, and lets it expire. */
async function expire({ database, one, two }: World, name: string, webhookUrl: string | null = null): Promise<Session> {
  const wish = newSession(name, { request: request(name, { ...payer, webhookUrl }) });
  const session = sessionOf(await database.createSession(wish));
  await pass(database, one, two);
  assert.is((await show(database, session.id)).life.status, 'expired');
  return session;
}

/** Lets two hours pass on both networks, and settles what is due. */
async function pass(database: Database, ...feeds: readonly Feed[]): Promise<void> {
  for (const feed of feeds) await feed.readThrough(T0_S + 7200);
  await database.settleDue(T0_MS + 7_200_000, 1000);
}

/** Delivers everything that waits. */
async function deliver(database: Database, nowMs = T0_MS + 7_200_000): Promise<void> {
  for (const { id: deliveryId, attempt, trigger } of await claimAll(database, nowMs)) {
    const went = { deliveryId, attempt, trigger, startedAtMs: nowMs, durationMs: 3, status: 200, error: null };
    await recordAttempt(database, { ...went, responseExcerpt: 'thanks, Ann' }, { kind: 'delivered' });
  }
}

test(
  'an archived session is answered as before, and a write brings back each row as it was',
  inWorld(makePlace, async (world) => {
    const { database } = world;
    await database.addEndpoint(endpoint('we_1'));
    const session = await expire(world, 'a', 'https://shop.example/order/a');
    await deliver(database);
    const [before, shown] = [content(), await show(database, session.id)];
    const events = await database.eventsOfSession(session.id);
    assert.is(await retain('archived', LATER_MS, { isDryRun: true }), 1);
    assert.is(content(), before, 'a dry run changes nothing');
    assert.is(await retain('archived'), 1);
    assert.equal(select('SELECT id FROM sessions'), []);
    assert.equal(select("SELECT id FROM endpoints WHERE id <> 'we_1'"), [], 'its own URL went with it');
    assert.equal(await show(database, session.id), shown);
    assert.equal(await database.eventsOfSession(session.id), events);
    assert.equal(await database.sessionsOfOrder('a'), [session.id]);
    const at = { storeId: 'm1', mode: 'test', limit: 9 } as const;
    const found = async (search: Parameters<Database['searchSessions']>[0]) =>
      (await database.searchSessions(search, at)).map(({ id }) => id);
    assert.equal(await found({ kind: 'order', orderId: 'a' }), [session.id]);
    assert.equal(await found({ kind: 'address', family: 'evm', key: addressOf(session) }), [session.id]);
    assert.is((await database.findArchived(session.id))?.archivedAtMs, LATER_MS);
    assert.is((await database.archiveSummary()).sessions, 1);
    assert.is((await database.stats(LATER_MS)).archivedSessions, 1);
    await database.requestLookups({
      ...{ sessionId: session.id, asks: [{ network: 'test:one', family: 'evm', tx: '0x1' }], nowMs: LATER_MS },
    });
    assert.is(content(), before);
    assert.is(await database.findArchived(session.id), null);
    assert.is((await database.stats(LATER_MS)).archivedSessions, 0);
  }),
);

test(
  'money that comes to an archived session is credited by its policy, and its shop is told at the URL that it named',
  inWorld(
    makePlace,
    async (world) => {
      const { database, one } = world;
      const url = 'https://shop.example/order/late';
      const session = await expire(world, 'late', url);
      await deliver(database);
      const at = { storeId: 'm1', mode: 'test' } as const;
      const quarters = [0, 1].map((after) => (Math.floor(T0_MS / QUARTER_MS) + after) * QUARTER_MS);
      const counts = async () => (await database.countSessions(at, quarters))[0];
      assert.is(await retain('archived'), 1);
      assert.equal(await counts(), { created: 1, paid: 0, unpaid: 1 }, 'it stays counted');
      one.nowMs = T0_MS + 6 * DAY_MS;
      const block = await one.mine([pays(addressOf(session), 1000n)]);
      assert.is(await database.findArchived(session.id), null, 'it is back before the money is confirmed');
      await one.confirm(block);
      const paid = await show(database, session.id);
      assert.is(paid.life.status, 'paid');
      assert.is(paid.life.paidLate, true);
      assert.equal(await counts(), { created: 1, paid: 1, unpaid: 0 });
      const waiting = await claimAll(database, one.nowMs);
      assert.equal(
        waiting.map((delivery) => [delivery.url, delivery.sessionId]),
        [[url, session.id]],
      );
      const { differences, unbalanced, overdrawn, sums } = await database.verifyLedger();
      assert.equal([differences, unbalanced, overdrawn, sums], [[], [], [], []]);
      assert.is(await retain('archived'), 0, 'what was paid is never archived');
    },
    { latePolicy: 'accept' },
  ),
);

test(
  'late money that its store holds is held, beyond every window too',
  inWorld(makePlace, async (world) => {
    const { database, one } = world;
    const session = await expire(world, 'held');
    assert.is(await retain('archived'), 1);
    one.nowMs = LATER_MS;
    await one.confirm(await one.mine([pays(addressOf(session), 400n)]));
    const held = await database.listHeldMoney({ sessionId: session.id, limit: 9 });
    assert.equal(
      held.map(({ kind, state }) => [kind, state]),
      [['late', 'open']],
    );
    assert.equal(
      (await database.listAlarms(9)).map(({ sessionId }) => sessionId),
      [session.id],
    );
  }),
);

test(
  'an order whose session was archived can be tried again, and the archived session is found by its id',
  inWorld(makePlace, async (world) => {
    const { database } = world;
    const session = await expire(world, 'order');
    assert.is(await retain('archived'), 1);
    const other = newSession('order', { id: 'cs_other' });
    const replay = { ...other.replay, idempotencyKey: 'k' };
    const again = await database.createSession({ ...other, replay });
    assert.is(again.kind, 'created');
    assert.is(sessionOf(again).id, 'cs_other');
    const cancel = { id: session.id, storeId: 'm1', mode: 'test', replay, nowMs: LATER_MS } as const;
    assert.is((await database.cancelSession({ ...cancel, replay: { ...replay, path: '/cancel' } })).kind, 'refused');
  }),
);

test(
  'what was paid, is under way, or received anything stays where it is',
  inWorld(makePlace, async (world) => {
    const { database, one, two } = world;
    await database.createSession(newSession('open', { expiresInS: 365 * 24 * 3600 }));
    const make = async (name: string, webhookUrl: string | null = null) =>
      sessionOf(await database.createSession(newSession(name, { request: request(name, { webhookUrl }) })));
    const paid = await make('paid');
    const dusted = await make('dusted');
    const asked = await make('asked');
    const named = await make('named');
    await make('untold', 'https://shop.example/hook');
    const plain = await make('plain');
    await one.confirm(await one.mine([pays(addressOf(paid), 1000n)]));
    await pass(database, one, two);
    assert.is((await show(database, paid.id)).life.status, 'paid');
    await one.mine([pays(addressOf(dusted), 0n, { units: 1n })]);
    await database.requestLookups({
      ...{ sessionId: asked.id, asks: [{ network: 'test:one', family: 'evm', tx: '0x1' }], nowMs: LATER_MS },
    });
    await leaveAddress(database, named.id);
    assert.is(await retain('archived', ALL), 1, 'only the one about which nothing is known');
    assert.is((await database.findArchived(plain.id))?.id, plain.id);
    assert.is(await retain('archived', ALL), 0);
    assert.is(select('SELECT id FROM sessions').length, 6);
  }),
);

const leaveAddress = async (database: Database, sessionId: string) => {
  const input = { sessionId, network: 'test:one', address: anAddress.key, nowMs: T0_MS } as const;
  assert.is(await database.leaveRefundAddress(input, () => anAddress), 'done');
};

const anAddress = { kind: 'ok', family: 'evm', key: 'ab'.repeat(20) } as const;

const payerTexts = (): string => {
  const client = new Sqlite(file, { readonly: true });
  try {
    const tables = ['sessions', 'refunds', 'refund_addresses', 'attempts'];
    return JSON.stringify(tables.map((table) => client.prepare(`SELECT * FROM ${table}`).all()));
  } finally {
    client.close();
  }
};

test(
  'a payer is forgotten once the refund window is over and no refund is open; books and amounts stay',
  inWorld(makePlace, async ({ database, one }) => {
    const session = sessionOf(await database.createSession(newSession('a', { request: request('a', payer) })));
    await one.confirm(await one.mine([pays(addressOf(session), 1000n)]));
    await leaveAddress(database, session.id);
    const refund = {
      ...{ id: 'rf_1', storeId: 'm1', mode: 'test', refundId: 'r1', sessionId: session.id, amountMinor: 100n },
      ...{
        currency: 'USDT',
        reason: null,
        description: 'for Ann',
        metadata: { who: 'Ann Example' },
        destination: null,
      },
      ...{ claimToken: 'token', replay: { idempotencyKey: null, path: '/refunds', bodyHash: 'r' }, nowMs: T0_MS },
    } as const;
    const made = await database.createRefund(refund as never, () => anAddress);
    assert.is(made.kind, 'created');
    const act = { atMs: T0_MS, operator: 'Sue (dashboard)', command: 'add note', reason: null };
    const write = () => database.addPaymentNote({ sessionId: session.id, text: 'Ann called' }, act);
    assert.is(await write(), 'added');
    const isIn = () => /Ann|ann@|Roses/.test(payerTexts());
    assert.is(await retain('anonymised'), 0, 'its refund window is open');
    const afterWindow = { nowMs: T0_MS + 181 * DAY_MS };
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 0, 'its refund is open');
    assert.ok(isIn());
    const client = new Sqlite(file);
    client.exec("UPDATE refunds SET status = 'canceled', canceled_at_ms = 1");
    client.close();
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, { ...afterWindow, isDryRun: true }), 1);
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 1);
    assert.not.ok(isIn(), payerTexts());
    assert.equal(await database.refundAddresses(session.id), {});
    assert.equal(await database.listPaymentNotes(session.id), []);
    const now = await show(database, session.id);
    const kept = { ...session.request, description: null, metadata: null, lineItems: null };
    assert.equal(now.request, { ...kept, successUrl: null, cancelUrl: null });
    assert.is(now.payments.length, 1);
    assert.equal((await database.verifyLedger()).overdrawn, []);
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 0, 'once');
    await leaveAddress(database, session.id);
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 1, 'and what comes after that');
    await write();
    assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 1, 'a note, too');
    assert.equal(await database.listPaymentNotes(session.id), []);
  }),
);

test(
  'a session that somebody has written a note about is not archived, and an archived one comes back for a note',
  inWorld(makePlace, async (world) => {
    const { database } = world;
    const [first, second] = [await expire(world, 'first'), await expire(world, 'second')];
    const act = { atMs: T0_MS, operator: 'Sue (dashboard)', command: 'add note', reason: null };
    await database.addPaymentNote({ sessionId: first.id, text: 'asked for an invoice' }, act);
    assert.is(await retain('archived'), 1);
    assert.ok(await database.findArchived(second.id));
    assert.is(await database.addPaymentNote({ sessionId: second.id, text: 'called' }, act), 'added');
    assert.is(await database.findArchived(second.id), null);
    assert.is((await database.listPaymentNotes(second.id)).length, 1);
  }),
);

test(
  'archived sessions are anonymised, in the archive and after they came back',
  inWorld(makePlace, async (world) => {
    const { database, one } = world;
    const [first, second] = [await expire(world, 'first'), await expire(world, 'second')];
    assert.is(await retain('anonymised', T0_MS), 0);
    assert.is(await retain('archived'), 2);
    assert.is((await database.archiveSummary()).withPayerData, 2);
    one.nowMs = LATER_MS;
    await one.mine([pays(addressOf(second), 400n)]);
    assert.is(await retain('anonymised_archived'), 1);
    assert.is((await database.findArchived(first.id))?.hasPayerData, false);
    const { request: asked, ...rest } = await show(database, first.id);
    assert.equal([asked.description, asked.metadata, asked.lineItems, asked.successUrl], [null, null, null, null]);
    assert.equal([asked.orderId, rest.life.status, rest.options.length], ['first', 'expired', 4]);
    assert.is(await retain('anonymised_archived'), 0);
    assert.is(await retain('anonymised', LATER_MS, { nowMs: LATER_MS + 200 * DAY_MS }), 1, 'the one that came back');
  }),
);

test(
  'answers of servers are forgotten by age, the rest of an attempt stays',
  inWorld(makePlace, async (world) => {
    const { database } = world;
    await database.addEndpoint(endpoint('we_1'));
    await expire(world, 'a');
    await deliver(database);
    const excerpts = () => select('SELECT response_excerpt FROM attempts');
    assert.is(await retain('attempts', T0_MS), 0);
    assert.equal(excerpts(), ['thanks, Ann']);
    assert.is(await retain('attempts'), 1);
    assert.equal(excerpts(), [null]);
    assert.equal(select('SELECT status FROM attempts'), [200]);
    assert.is(await retain('attempts'), 0);
  }),
);

test(
  'a retired one-off URL is removed, unless something waits for it, and comes back with the next event',
  inWorld(
    makePlace,
    async (world) => {
      const { database, one } = world;
      const url = 'https://shop.example/order/1';
      const wish = newSession('a', { request: request('a', { webhookUrl: url }) });
      const session = sessionOf(await database.createSession(wish));
      const waits = newSession('b', { request: request('b', { webhookUrl: `${url}/waits` }) });
      const other = sessionOf(await database.createSession(waits));
      await one.confirm(await one.mine([pays(addressOf(session), 900n)]));
      await pass(database, one, world.two);
      await database.settleDue(T0_MS + 10_000_000, 100);
      for (const { id: deliveryId, attempt, trigger, sessionId } of await claimAll(database, T0_MS + 10_000_000)) {
        if (sessionId === other.id) continue;
        const went = { deliveryId, attempt, trigger, startedAtMs: T0_MS, durationMs: 3, status: 200, error: null };
        await recordAttempt(database, { ...went, responseExcerpt: null }, { kind: 'delivered' });
      }
      assert.is(await database.retireEndpoints(LATER_MS, 30 * DAY_MS), 2);
      assert.is(await retain('endpoints', LATER_MS + 1, { nowMs: LATER_MS }), 1);
      assert.equal(select('SELECT url FROM endpoints WHERE removed = 0'), [`${url}/waits`]);
      one.nowMs = T0_MS + 6 * DAY_MS;
      await one.confirm(await one.mine([pays(addressOf(session), 100n)]));
      const sent = (await claimAll(database, one.nowMs)).filter(({ sessionId }) => sessionId === session.id);
      assert.equal(
        sent.map((delivery) => delivery.url),
        [url],
      );
    },
    { latePolicy: 'accept' },
  ),
);

test.run();
