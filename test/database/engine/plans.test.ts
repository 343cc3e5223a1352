/**
 * Statements find their rows by an index: `inWorld` looks at the plan of each that a test has run, and here those of
 * pages are looked at closely.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventTypes } from '../../../src/core/event.ts';
import type { Database } from '../../../src/database/database.ts';
import { openSqlite } from '../../../src/database/engine/open.ts';
import { inWorld, keyOf, pays, start } from '../../conformance/database/place.ts';
import { closing } from '../../support/closing.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { plansOf, watchPlans } from './plans.ts';

/** Returns the text of every statement that is prepared until `work` has ended. */
async function preparedBy(work: () => unknown): Promise<readonly string[]> {
  const statements = new Set<string>();
  const { prepare } = Sqlite.prototype;
  Sqlite.prototype.prepare = function (this: Sqlite.Database, text: string) {
    statements.add(text);
    return prepare.call(this, text);
  } as typeof prepare;
  try {
    await work();
  } finally {
    Sqlite.prototype.prepare = prepare;
  }
  return [...statements];
}

test('a statement that scans a table is found', async () => {
  const { file } = closing(openTempDatabase());
  const checkPlans = watchPlans();
  const db = openSqlite({ file: file, busyTimeoutMs: 1_000 });
  await db.read(() => db.client.prepare('SELECT id FROM transfers WHERE units = ?').all('1'));
  db.close();
  assert.throws(() => checkPlans(file), /SCAN transfers/);
});

test('a page of events is read from an index that has its order and its filter', async () => {
  const plans = await plansWithPayment(async (database, storeId) => {
    const page = { storeId, mode: 'test', fromId: 'evt_1', beforeId: 'evt_2', limit: 9 } as const;
    for (const first of ['newest', 'oldest'] as const) await database.events.list({ ...page, first });
  });
  const pages = [...plans].filter(([text]) =>
    /^\s*select .*facts.* from "events"\s+where store_id.*order by/is.test(text),
  );
  assert.is(pages.length, 2, 'from either end');
  for (const [text, steps] of pages) {
    assert.is(steps.length, 1, `${steps}: ${text}`);
    assert.match(String(steps[0]), /events_by_type \(store_id=\? AND mode=\? AND type=\? AND id>\? AND id<\?\)/);
  }
});

/** Returns the plans of the queries that `work` makes on a database with one paid session. */
async function plansWithPayment(work: (database: Database, storeId: string) => Promise<void>) {
  let plans: ReturnType<typeof plansOf> = new Map();
  await inWorld(async ({ database, one, place }) => {
    const to = await start(database, '1');
    await one.confirm(await one.mine([pays(to, 1000n)]));
    plans = plansOf(place.file, await preparedBy(() => work(database, 'm1')));
  })();
  return plans;
}

test('lists and searches of payments seek in an index that has their order', async () => {
  const none = { status: null, orderId: null, fromId: '', beforeId: 'd', first: 'newest' } as const;
  let found = 0;
  const made = await plansWithPayment(async (database, storeId) => {
    const at = { storeId, mode: 'test' } as const;
    for (const filter of [{}, { status: 'paid' }, { status: 'held' }] as const)
      found += (await database.sessions.list({ ...none, ...filter, ...at, limit: 50 })).length;
    const [session] = await database.sessions.list({ ...none, ...at, limit: 1 });
    assert.is((await database.sessions.find(session?.id ?? ''))?.payments.length, 1);
    await database.refunds.ofSession([session?.id ?? '']);
    await database.refunds.room(session?.id ?? '', 1);
    await database.refunds.findNamed(at, 'rf_1', ['0x1', '1']);
    await database.events.find('evt_1');
    await database.ledger.sumCredits(at, [0, 1]);
    await database.ledger.hasCredits(at);
    await database.sessions.countOpen(at, 1);
  });
  assert.is(found, 2, 'all but the list of another day find the session');
  const steps = [...made].flatMap(([text, plan]) => plan.map((step) => `${step} <- ${text}`));
  // Sums of a store are grouped by network and coin, of which there are few.
  const small = /^CORRELATED SCALAR SUBQUERY|^USE TEMP B-TREE FOR GROUP BY <- \s*SELECT p.asset AS currency, /;
  const sorted = steps.filter((step) => small.test(step));
  assert.equal(
    steps.filter(
      (step) =>
        !step.startsWith('SEARCH') || / USING (INDEX|COVERING INDEX|(INTEGER )?PRIMARY KEY)/.test(step) === false,
    ),
    sorted,
  );
  for (const index of [
    ...['sessions_by_status', 'receipt_number=?)', 'refunds_by_transaction', 'ledger_entries_of_store'],
  ]) {
    assert.ok(
      steps.some((step) => step.includes(` ${index}`)),
      index,
    );
  }
});

test('a page of whole sessions seeks in an index that has its order and its filter, from either end', async () => {
  const plans = await plansWithPayment(async (database, storeId) => {
    const page = { storeId, mode: 'test', fromId: 'cs_1', beforeId: 'cs_2', limit: 9 } as const;
    for (const first of ['newest', 'oldest'] as const) {
      await database.sessions.page({ ...page, first, orderId: null, status: null });
      await database.sessions.page({ ...page, first, orderId: null, status: 'paid' });
      await database.sessions.page({ ...page, first, orderId: 'o1', status: null });
    }
  });
  const steps = [...plans].flatMap(([text, plan]) =>
    /^select .*"sessions"\."id" >= \?|id >= :fromId/i.test(text) ? plan : [],
  );
  const seeks = ['sessions_by_status', 'sessions_by_order'];
  assert.equal(
    seeks.filter((index) => !steps.some((step) => step.includes(`INDEX ${index} (`))),
    [],
    steps.join('\n'),
  );
  assert.equal(
    steps.filter((step) => !step.startsWith('SEARCH')),
    [],
  );
});

test('a page of refunds seeks in an index that has its order, also where it goes on', async () => {
  const plans = await plansWithPayment(async (database, storeId) => {
    const page = {
      storeId,
      mode: 'test',
      fromMs: 1,
      toMs: 2,
      before: { createdAtMs: 1, id: 'rf_1' },
      limit: 9,
    } as const;
    await database.refunds.list(page);
    await database.refunds.list({ ...page, status: 'pending' });
  });
  const steps = [...plans].flatMap(([text, plan]) => (/^select .*"refunds"/i.test(text) ? plan : []));
  const times = '\\(created_at_ms,id\\)<\\(\\?,\\?\\)|created_at_ms>\\? AND created_at_ms<\\?';
  assert.is(steps.length, 2, steps.join('; '));
  assert.match(steps[0] ?? '', new RegExp(`INDEX refunds_listed \\(store_id=\\? AND mode=\\? AND (${times})`));
  assert.match(
    steps[1] ?? '',
    /INDEX refunds_listed_by_status \(store_id=\? AND mode=\? AND status=\? AND .*created_at_ms/,
  );
});

test('what came to an address is sought by the address, dust too', async () => {
  const plans = await plansWithPayment(async (database) => {
    const [own] = await database.addresses.findKey('evm', keyOf(1));
    assert.is((await database.addresses.transfersTo({ id: own?.id ?? 0 })).length, 1);
  });
  const steps = [...plans].flatMap(([text, plan]) => (/ from "transfers"/i.test(text) ? plan : []));
  const seeks = steps.filter((step) => step.includes('transfers_by_address (address_id=? AND dust=?)'));
  assert.is(seeks.length, 1, steps.join('; '));
  assert.equal(
    steps.filter((step) => step.startsWith('SCAN')),
    [],
  );
});

test('deliveries of a store follow the events in their order', async () => {
  const plans = await plansWithPayment(async (database, storeId) => {
    const page = { after: null, limit: 9, lookMax: 9 };
    for (const endpointId of [null, 'we_1'])
      await database.deliveries.ofStore({ storeId, mode: 'test' }, { endpointId, state: null }, page);
  });
  const pages = [...plans].filter(([text]) => text.includes('FROM events AS v'));
  assert.is(pages.length, 2, 'of all endpoints, and of one');
  for (const [text, steps] of pages) {
    const newest = 'SEARCH events USING COVERING INDEX events_by_type (store_id=? AND mode=? AND type=? AND id<?)';
    assert.is(steps.filter((step) => step === newest).length, eventTypes.length, 'the newest of each type');
    const isOne = text.includes(':endpointId');
    const seek = `SEARCH d USING INDEX deliveries_of_event (event_id=?${isOne ? ' AND endpoint_id=?' : ''}) LEFT-JOIN`;
    assert.ok(steps.includes(seek), steps.join('\n'));
    // The deliveries of one event, of which there are few; that of one endpoint is alone.
    const sorted = steps.filter((step) => step.startsWith('USE TEMP'));
    assert.equal(sorted, isOne ? [] : ['USE TEMP B-TREE FOR LAST TERM OF ORDER BY']);
  }
});

test('a page of the audit log seeks by id', async () => {
  const act = { atMs: 1_800_000_000_000, operator: 'a', command: 'b', reason: null };
  const plans = await plansWithPayment(async (database) => {
    await database.audit.record(act, { target: 't', before: null, after: null });
    await database.audit.list(1, 1);
  });
  const steps = [...plans].flatMap(([text, plan]) =>
    /^select .*audit_log/i.test(text) ? plan.filter((step) => step.includes('audit_log')) : [],
  );
  assert.ok(steps.length >= 1, steps.join('; '));
  for (const step of steps) assert.match(step, /USING INTEGER PRIMARY KEY/);
});

test.run();
