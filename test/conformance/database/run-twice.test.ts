/** A command that is aborted after its first try and run again leaves the rows of one that ran once. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { openTempDatabase, type TempDatabase } from '../../support/temp-database.ts';
import {
  act,
  addressOf,
  addShop,
  allExtended,
  cancelSession,
  endpoint,
  Feed,
  newSession,
  OUTAGE_WAIT_S,
  pays,
  sessionOf,
  T0_MS,
} from './place.ts';
import { rowsOf } from './rows-text.ts';

/** A session that is paid, one that is canceled, one that expires with too little, and what is decided about it. */
async function story(database: Database): Promise<void> {
  await addShop(database, 4);
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const [one, two] = [new Feed(database, 'one'), new Feed(database, 'two')];
  await one.mine();
  await two.mine();
  const replay = (name: string) => ({ idempotencyKey: name, path: '/x', bodyHash: name });
  const open = async (name: string) => sessionOf(await database.sessions.create(newSession(name)));
  const [paid, canceled, short] = [await open('o1'), await open('o2'), await open('o3')];
  await cancelSession(database, canceled.id);
  const block = await one.mine([
    pays(addressOf(paid), 1000n, { tx: '0xa' }),
    pays(addressOf(short), 400n, { tx: '0xb' }),
  ]);
  await one.confirm(block);
  await one.reorg(1, [[pays(addressOf(paid), 1000n, { tx: '0xa' }), pays(addressOf(short), 400n, { tx: '0xb' })]]);
  await one.confirm(...one.chain.slice(-1));
  const lateS = Math.floor(T0_MS / 1000) + 100_000;
  for (const feed of [one, two]) await feed.readThrough(lateS);
  await database.sessions.settleDue(lateS * 1000, 10);
  const [held] = await database.held.list({ sessionId: short.id, limit: 1 });
  assert.ok(held);
  await database.held.accept(held.id, act('held accept', lateS * 1000), false);
  const asked = { reason: null, description: null, metadata: null, refundAddress: null, replay: replay('refund') };
  const refund = await database.refunds.create(
    {
      storeId: 'm1',
      mode: 'test',
      refundId: 'r1',
      sessionId: paid.id,
      amountMinor: 500n,
      currency: 'USDT',
      ...asked,
      nowMs: lateS * 1000,
    },
    () => ({ kind: 'bad', why: 'malformed' }),
  );
  assert.is(refund.kind, 'created');
}

/** Returns the database with each command run again after its first try was aborted before the commit. */
function eachTwice(place: TempDatabase): Readonly<{ database: Database; aborted: () => number; close: () => void }> {
  const abort = new Error('aborted before the commit');
  let [isArmed, aborted] = [false, 0];
  const beforeCommit = (): void => {
    if (!isArmed) return;
    isArmed = false;
    aborted++;
    throw abort;
  };
  const real = place.connect(undefined, { beforeCommit });
  const again =
    (run: (...args: unknown[]) => unknown) =>
    async (...args: unknown[]): Promise<unknown> => {
      isArmed = true;
      try {
        return await run(...args);
      } catch (error) {
        if (error !== abort) throw error;
        return await run(...args);
      } finally {
        isArmed = false;
      }
    };
  const twice = (commands: object): object =>
    Object.fromEntries(
      Object.entries(commands).map(([name, value]) => [
        name,
        typeof value === 'function' ? again(value) : twice(value as object),
      ]),
    );
  return { database: twice(real) as Database, aborted: () => aborted, close: real.close };
}

test('every command can run twice', async () => {
  const [once, other] = [openTempDatabase(OUTAGE_WAIT_S), openTempDatabase(OUTAGE_WAIT_S)];
  const twice = eachTwice(other);
  try {
    await story(once.database);
    await story(twice.database);
    assert.ok(twice.aborted() > 15, `${twice.aborted()} commands were aborted`);
    assert.equal(rowsOf(await other.rows()), rowsOf(await once.rows()));
  } finally {
    twice.close();
    once.close();
    other.close();
  }
});

test.run();
