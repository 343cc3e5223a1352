/** How much one transaction may change: everybody else who writes waits for it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCursor, type Look, type Step } from '../../../indexers/follower/cursor.ts';
import { WRITE_ROWS_MAX } from '../../../src/database/engine/write-queue.ts';
import {
  addressOf,
  addShop,
  endpoint,
  Feed,
  newSession,
  pays,
  sessionOf,
  T0_MS,
} from '../../conformance/database/place.ts';
import { closing } from '../../support/closing.ts';
import { raw } from '../../support/raw.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { audit } from './audit.ts';

/** More than two transactions of the largest size. */
const MANY = 2 * WRITE_ROWS_MAX + 500;

/** Opens a database with a merchant and a followed network, and collects what its writes take. */
function measured() {
  const place = closing(openTempDatabase());
  const rows: number[] = [];
  const database = closing(place.connect(undefined, { onWrite: (measure) => void rows.push(measure.rows) }));
  return {
    database,
    file: place.file,
    /** Runs one command. @returns its result, and the rows of each of its transactions */
    async rowsOf<T>(command: () => Promise<T>): Promise<readonly [T, number[]]> {
      rows.length = 0;
      return [await command(), [...rows]];
    },
  };
}

const largest = (rows: readonly number[]) => Math.max(...rows);

test('removing an endpoint with a long backlog is done in slices', async () => {
  const { database, file, rowsOf } = measured();
  await addShop(database, 1);
  await database.endpoints.add(endpoint('e1'));
  await new Feed(database, 'one').mine();
  await database.sessions.create(newSession('o1'));
  const backlog = `
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${MANY})
    INSERT INTO events (id, store_id, session_id, type, facts, created_at_ms, mode)
    SELECT n, 'm1', 'cs_o1', 'payment.pending', '{}', ${T0_MS}, 'live' FROM n;
    INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, due_at_ms)
    SELECT id, id, 'e1', 'waiting', 0, ${T0_MS} FROM events;`;
  raw(file, (client) => client.exec(backlog));
  const [isRemoved, rows] = await rowsOf(() => database.endpoints.remove('e1'));
  assert.ok(isRemoved);
  assert.is(rows.length, Math.ceil(MANY / (WRITE_ROWS_MAX / 4)) + 1, 'a delivery takes up to four rows');
  assert.ok(largest(rows) <= WRITE_ROWS_MAX, rows.join(' '));
  assert.is((await database.stats(T0_MS)).deliveriesWaiting, 0);
  assert.equal(await database.endpoints.list('m1'), []);
});

test('a follower saves blocks with many payments, and confirms them, in parts; so are sessions settled', async () => {
  const { database, file, rowsOf } = measured();
  const sessions = 500;
  await addShop(database, 1000);
  await database.endpoints.add(endpoint('e1'));
  const network = { ...testNetwork({ name: 'one' }), dustFloorPar: 1n };
  const cursor = createCursor(database, network, () => T0_MS);
  await cursor.refresh();
  const blockAt = (number: number) => ({
    hash: `0xhash${number}`,
    parent: `0xhash${number - 1}`,
    number,
    timeS: T0_MS / 1000 + number,
  });
  const lookAt = (number: number): Look => ({
    head: blockAt(number),
    finalized: null,
    finalNumber: null,
    safe: null,
    askedAtMs: T0_MS,
    isOld: false,
    whyStale: null,
  });
  const save = (step: Partial<Step>, head: number) =>
    rowsOf(() =>
      cursor.save({ drop: [], connect: [], confirm: [], ...step }, lookAt(head), {
        watchedThrough: 1_000_000,
        ownWallet: 0,
      }),
    );
  await save({ connect: [{ block: blockAt(0), transfers: [] }] }, 0);
  await new Feed(database, 'one').readThrough(T0_MS / 1000);
  const option = newSession('x').options[0];
  assert.ok(option);
  const addresses: string[] = [];
  for (let n = 0; n < 2 * sessions; n++) {
    const input = newSession(`o${n}`, { options: [option] });
    addresses.push(addressOf(sessionOf(await database.sessions.create(input))));
  }

  const blocks = Array.from({ length: 10 }, (_, at) => ({
    block: blockAt(at + 1),
    transfers: addresses.slice(at * 50, at * 50 + 50).flatMap((to) => [pays(to, 400n), pays(to, 600n)]),
  }));
  const [connected, connectRows] = await save({ connect: blocks }, 10);
  assert.is(connected, 'done');
  assert.ok(largest(connectRows) <= WRITE_ROWS_MAX, connectRows.join(' '));
  const confirm = blocks.map(({ block: { hash }, transfers }) => ({ hash, txs: transfers.map(({ tx }) => tx) }));
  const [confirmed, confirmRows] = await save({ confirm }, 10);
  assert.is(confirmed, 'done');
  assert.ok(largest(confirmRows) <= WRITE_ROWS_MAX, confirmRows.join(' '));
  assert.is((await database.stats(T0_MS)).sessions.paid, sessions);
  assert.equal(
    (await database.blocks.tail('test:one', 99)).map(({ hash }) => hash),
    [blockAt(0), ...blocks.map(({ block }) => block)].map(({ hash }) => hash),
  );

  const [settled, settleRows] = await rowsOf(() => database.sessions.settleDue(T0_MS + 86_400_000, 200));
  assert.is(settled, 200);
  assert.ok(largest(settleRows) <= WRITE_ROWS_MAX, settleRows.join(' '));
  assert.equal(audit(file), []);
});

test.run();
