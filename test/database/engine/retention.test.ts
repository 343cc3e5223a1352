/**
 * Retention on a real file: what is removed is nothing that books, refunds or a late payment need.
 */
import { test as uvu } from 'uvu';
import * as assert from 'uvu/assert';
import type { StoreSettings } from '../../../src/database/column-values.ts';
import type { Database } from '../../../src/database/database.ts';
import { openRetentionDatabase, type RetentionKind } from '../../../src/database/retention.ts';
import type { Session } from '../../../src/database/session.ts';
import {
  addressOf,
  endpoint,
  type Feed,
  inWorld,
  newSession,
  pays,
  request,
  sessionOf,
  show,
  T0_MS,
  T0_S,
  type World,
} from '../../conformance/database/place.ts';
import { have } from '../../support/fields.ts';
import { raw } from '../../support/raw.ts';
import { answerDue } from '../../support/record-attempt.ts';

const DAY_MS = 86_400_000;
const LATER_MS = T0_MS + 100 * DAY_MS;

let file = '';
const test = (title: string, work: (world: World) => Promise<void>, more?: Partial<StoreSettings>) =>
  uvu(
    title,
    inWorld((world) => {
      file = world.place.file;
      return work(world);
    }, more),
  );

const select = (text: string): unknown[] => raw(file, (client) => client.prepare(text).pluck().all());
const change = (text: string) => raw(file, (client) => client.exec(text));

/** Runs one kind of work to its end, slice by slice. @returns how many it changed */
async function retain(kind: RetentionKind, beforeMs = LATER_MS, { nowMs = LATER_MS } = {}) {
  const database = openRetentionDatabase({ file, busyTimeoutMs: 5000 });
  try {
    let total = 0;
    for await (const done of database.retain(kind, { beforeMs, nowMs })) total += done;
    return total;
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
  const session = sessionOf(await database.sessions.create(wish));
  await pass(database, one, two);
  assert.is((await show(database, session.id)).life.status, 'expired');
  return session;
}

/** Lets two hours pass on both networks, and settles what is due. */
async function pass(database: Database, ...feeds: readonly Feed[]): Promise<void> {
  for (const feed of feeds) await feed.readThrough(T0_S + 7200);
  await database.sessions.settleDue(T0_MS + 7_200_000, 1000);
}

/** Delivers everything that waits. */
async function deliver(database: Database, nowMs = T0_MS + 7_200_000): Promise<void> {
  await answerDue(database, nowMs, { status: 200, responseExcerpt: 'thanks, Ann' }, { kind: 'delivered' });
}

const leaveAddress = async (database: Database, sessionId: string) => {
  const input = { sessionId, network: 'test:one', address: anAddress.key, nowMs: T0_MS } as const;
  assert.is(await database.refunds.leaveAddress(input, () => anAddress), 'done');
};

const anAddress = { kind: 'ok', family: 'evm', key: 'ab'.repeat(20) } as const;

const payerTexts = (): string => {
  const tables = ['sessions', 'refunds', 'refund_addresses', 'attempts'];
  return raw(file, (client) => JSON.stringify(tables.map((table) => client.prepare(`SELECT * FROM ${table}`).all())));
};

test('a payer is forgotten once the refund window is over and no refund is open; books and amounts stay', async ({
  database,
  one,
}) => {
  const session = sessionOf(await database.sessions.create(newSession('a', { request: request('a', payer) })));
  await one.confirm(await one.mine([pays(addressOf(session), 1000n)]));
  await leaveAddress(database, session.id);
  const refund = {
    id: 'rf_1',
    storeId: 'm1',
    mode: 'test',
    refundId: 'r1',
    sessionId: session.id,
    amountMinor: 100n,
    currency: 'USDT',
    reason: null,
    description: 'for Ann',
    metadata: { who: 'Ann Example' },
    destination: null,
    claimToken: 'token',
    replay: { idempotencyKey: null, path: '/refunds', bodyHash: 'r' },
    nowMs: T0_MS,
  } as const;
  const made = await database.refunds.create(refund as never, () => anAddress);
  assert.is(made.kind, 'created');
  const isIn = () => /Ann|ann@|Roses/.test(payerTexts());
  assert.is(await retain('anonymised'), 0, 'its refund window is open');
  const afterWindow = { nowMs: T0_MS + 181 * DAY_MS };
  assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 0, 'its refund is open');
  assert.ok(isIn());
  change("UPDATE refunds SET status = 'canceled', canceled_at_ms = 1");
  assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 1);
  assert.not.ok(isIn(), payerTexts());
  assert.equal(await database.refunds.addresses(session.id), {});
  const now = await show(database, session.id);
  const kept = { ...session.request, description: null, metadata: null, lineItems: null };
  assert.equal(now.request, { ...kept, successUrl: null, cancelUrl: null });
  assert.is(now.payments.length, 1);
  const { problems } = await database.ledger.verify();
  assert.not.ok(problems.some((text) => text.includes('exceed')));
  assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 0, 'once');
  await leaveAddress(database, session.id);
  assert.is(await retain('anonymised', T0_MS + 170 * DAY_MS, afterWindow), 1, 'and what comes after that');
  // The books still hold the refund's reservation.
  change("UPDATE refunds SET status = 'processing', canceled_at_ms = NULL");
});

test('a session that was never paid is forgotten as well, in as many slices as it takes; its late money is held', async (world) => {
  const { database, one } = world;
  const session = await expire(world, 'first');
  const columns = select("SELECT name FROM pragma_table_info('sessions')").join(', ');
  const own = columns.replace(/\bid\b/, "'cs_' || value").replace(/\border_id\b/, "'o' || value");
  change(
    `INSERT INTO sessions (${columns}) SELECT ${own} FROM sessions, (
         WITH RECURSIVE counted (value) AS (SELECT 100000 UNION ALL SELECT value + 1 FROM counted LIMIT 1100)
         SELECT value FROM counted) WHERE id = '${session.id}'`,
  );
  assert.is(await retain('anonymised', T0_MS), 0);
  assert.is(await retain('anonymised'), 1101);
  assert.is(await retain('anonymised'), 0);
  assert.not.match(payerTexts(), /Ann|ann@|Roses/);
  change(`DELETE FROM sessions WHERE id <> '${session.id}'`);
  one.nowMs = LATER_MS;
  await one.confirm(await one.mine([pays(addressOf(session), 400n)]));
  const held = await database.held.list({ sessionId: session.id, limit: 9 });
  have(held, [{ kind: 'late', state: 'open' }]);
});

test('answers of servers are forgotten by age, the rest of an attempt stays', async (world) => {
  const { database } = world;
  await database.endpoints.add(endpoint('we_1'));
  await expire(world, 'a');
  await deliver(database);
  const excerpts = () => select('SELECT response_excerpt FROM attempts');
  assert.is(await retain('attempts', T0_MS), 0);
  assert.equal(excerpts(), ['thanks, Ann']);
  assert.is(await retain('attempts'), 1);
  assert.equal(excerpts(), [null]);
  assert.equal(select('SELECT status FROM attempts'), [200]);
  assert.is(await retain('attempts'), 0);
});

uvu.run();
