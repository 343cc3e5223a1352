/** A database or a whole machine that was restored to a snapshot. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { retireAfterGap, watchForGaps } from '../../src/addresses/gaps.ts';
import { prepareDatabase } from '../../src/app/prepare-database.ts';
import type { Config } from '../../src/config/config.ts';
import { mayHaveGiven } from '../../src/database/addresses.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { newSessionId } from '../../src/lib/id.ts';
import { openLog } from '../../src/lib/log.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { closing } from '../support/closing.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { testNetwork } from '../support/test-network.ts';
import { until } from '../support/until.ts';

const evm = { family: 'evm', mode: 'test', source: 'xpub one' } as const;
const list = { family: 'solana', mode: 'test', source: 'signer' } as const;
const network = testNetwork({ name: 'one' });
const store = merchantStore();
const keyOf = (n: number) => n.toString(16).padStart(40, '0');
const log = openLog('test', 'silent');
const ADDRESSES = 60;

type Run = Readonly<{ database: Database; take(): Promise<number>; stop(): void }>;

/** An installation, whose data folder can be restored. */
function openMachine() {
  const dataDir = mkdtempSync(join(tmpdir(), 'quayside-gap-'));
  const snapshot = `${dataDir}-snapshot`;
  const clock = handClock(1_790_000_000_000);
  let running: Run | null = null;
  let sessions = 0;
  const database = () => {
    assert.ok(running);
    return running.database;
  };
  const chain = ingestedChain(database, clock, network);

  /** Does what the supervisor and the server do at a start. */
  async function start(): Promise<Run> {
    const config = { dataDir, databaseUrl: null, sandbox: false, signer: null } as unknown as Config;
    await prepareDatabase(config, {}, log);
    const opened = openSqliteDatabase({
      file: databaseFile(dataDir),
      secretKey: readSecretKey(dataDir, {}),
      busyTimeoutMs: 5000,
      outageWaitS: 600,
    });
    await retireAfterGap({ addresses: opened.addresses, clock, log });
    running = {
      database: opened,
      async take() {
        sessions++;
        const wish = { storeId: store.id, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() };
        const id = newSessionId(clock.nowMs());
        const made = await opened.sessions.create({ ...newSession({ ...wish, name: `order ${sessions}` }), id });
        assert.is(made.kind, 'created');
        return made.kind === 'created' ? Number.parseInt(made.session.addresses.evm ?? '', 16) : -1;
      },
      stop() {
        running = null;
        opened.close();
      },
    };
    return running;
  }

  return {
    dataDir,
    clock,
    chain,
    start,
    /** Starts for the first time, with addresses, a store and a network that is followed. */
    async begin(): Promise<Run> {
      const first = await start();
      await first.database.stores.create(store);
      const keys = Array.from({ length: ADDRESSES }, (_, n) => keyOf(n));
      await first.database.addresses.add({ ...evm, firstIndex: 0, keys });
      await first.database.addresses.add({
        ...list,
        firstIndex: 0,
        keys: keys.slice(0, 16).map((key) => `${key}${'0'.repeat(24)}`),
      });
      await chain.mine();
      await chain.report('following');
      return first;
    },
    /** Copies the data folder, as a snapshot of the file system does. */
    keep: () => cpSync(dataDir, snapshot, { recursive: true }),
    putBack(): void {
      rmSync(dataDir, { recursive: true });
      cpSync(snapshot, dataDir, { recursive: true });
    },
    close(): void {
      running?.stop();
      for (const folder of [dataDir, snapshot]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const alarmsOf = async ({ database }: Run) => (await database.alarms.list(10)).map(({ code }) => code);

test('after a whole machine was restored nobody gets the address of another payer, whose late payment is noticed', async () => {
  const { begin, start, keep, putBack, clock, chain } = closing(openMachine());
  const first = await begin();
  assert.is(await first.take(), 0);
  keep();
  const [alice] = [await first.take(), await first.take(), await first.take()];
  assert.is(alice, 1);
  first.stop();
  putBack();
  clock.advance(20 * MINUTE_MS);
  const second = await start();
  await chain.mine();
  await chain.report('following');
  const bob = await second.take();
  assert.ok(bob > 3, `${bob} was not given before`);
  clock.advance(60_000);
  await chain.mine([{ to: keyOf(alice), currency: 'USDT', units: 10_000_000n }]);
  assert.equal(await alarmsOf(second), ['payment_without_session']);
});

test('addresses that may have been given out and are not derived yet are never given either', async () => {
  const { begin, start, keep, putBack, clock, chain } = closing(openMachine());
  const first = await begin();
  for (let n = 0; n < 30; n++) await first.take();
  clock.advance(60_000);
  await chain.report('following');
  keep();
  first.stop();
  putBack();
  clock.advance(HOUR_MS);
  const second = await start();
  // Three times the busiest hour, and ten: the 30 that are left here, and 70 more.
  const level = await second.database.addresses.level(evm, evm.source);
  assert.equal([level.free, level.nextIndex, level.retiredThrough], [0, ADDRESSES, 130]);
  await second.database.addresses.add({
    ...evm,
    firstIndex: 60,
    keys: Array.from({ length: 80 }, (_, n) => keyOf(60 + n)),
  });
  await chain.mine();
  await chain.report('following');
  assert.is(await second.take(), 130);
  const watched = await second.database.addresses.watchList(evm, 0, 200);
  assert.is(watched.length, 140);
});

test('a restart retires nothing, and a start that fails and is repeated retires what a longer gap adds', async () => {
  const { begin, start, clock } = closing(openMachine());
  const free = async ({ database }: Run) => (await database.addresses.level(evm, evm.source)).free;
  const first = await begin();
  first.stop();
  clock.advance(10_000);
  const second = await start();
  assert.is(await free(second), ADDRESSES);
  second.stop();
  for (let hours = 1; hours <= 5; hours++) {
    clock.advance(HOUR_MS);
    const failed = await start();
    const { retiredThrough } = await failed.database.addresses.level(evm, evm.source);
    assert.is(retiredThrough, 11 + 60 * hours, 'ten and one a minute: no session was ever created');
    failed.stop();
  }
});

test('imported addresses, which are not derived, are never all retired', async () => {
  const { begin, start, clock } = closing(openMachine());
  const first = await begin();
  first.stop();
  for (const left of [8, 8]) {
    clock.advance(HOUR_MS);
    const next = await start();
    assert.is((await next.database.addresses.level(list, list.source)).free, left);
    next.stop();
  }
});

test('a server whose time jumps ahead was restored with its memory, and retires addresses that may have been given', async () => {
  const { begin, clock } = closing(openMachine());
  const { database } = await begin();
  const stopping = new AbortController();
  const free = async () => (await database.addresses.level(evm, evm.source)).free;
  const sleep = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
  const parts = { addresses: database.addresses, clock: { ...clock, sleep }, log };
  const watching = watchForGaps(parts, stopping.signal);
  clock.advance(5_000);
  await sleep();
  assert.is(await free(), ADDRESSES);
  clock.advance(HOUR_MS);
  await until('addresses are retired', async () => (await free()) === 0);
  stopping.abort();
  await watching;
});

test('after a gap of more than two minutes, payouts settle in from the start on; a restart within them waits for nothing', async () => {
  const { begin, clock } = closing(openMachine());
  const { database } = await begin();
  const start = () => database.engines.settleIn([network.key], clock.nowMs());
  const settling = async () => (await database.engines.list()).map(({ settlingUntilMs }) => settlingUntilMs);
  await start();
  assert.equal(await settling(), [0]);
  assert.is(await database.engines.beat(network.key, clock.nowMs()), 0);
  await database.engines.settle(network.key, null);
  clock.advance(119_000);
  await start();
  assert.equal(await settling(), [null]);
  clock.advance(2_000);
  await start();
  assert.equal(await settling(), [0]);
});

test('a start does not settle in for a heartbeat that came while it waited to write, but for a clock that was set back', async () => {
  const { begin, clock } = closing(openMachine());
  const { database } = await begin();
  const { engines } = database;
  const settling = async () => (await engines.list()).map(({ settlingUntilMs }) => settlingUntilMs);
  const atMs = clock.nowMs();
  await engines.beat(network.key, atMs);
  await engines.settle(network.key, null);
  await engines.beat(network.key, atMs + 3_000);
  await engines.settleIn([network.key], atMs);
  assert.equal(await settling(), [null]);
  await engines.settleIn([network.key], atMs - 10_000);
  assert.equal(await settling(), [0]);
});

test('a gap may have been three times as busy as the busiest hour or day, and is bounded', () => {
  const quiet = Array.from({ length: 3 * 24 }, (_, hour) => ({ hour, sessions: 1 }));
  const hours = [{ hour: 0, sessions: 5 }, ...quiet.slice(1)];
  assert.is(mayHaveGiven([], 10 * HOUR_MS), 10);
  assert.is(mayHaveGiven(hours, HOUR_MS), 10 + 15);
  assert.is(mayHaveGiven(hours, HOUR_MS / 60), 10 + 1);
  assert.is(mayHaveGiven(hours, 10 * 24 * HOUR_MS), 10 + 3 * 28 * 10, 'no ten days are as busy as that hour');
  assert.is(mayHaveGiven([{ hour: 7, sessions: 1_000_000 }], 24 * HOUR_MS), 50_000);
});

test.run();
