/**
 * Concurrent histories on PostgreSQL: three processes, each with a shop, a follower of two networks, a payer and a
 * sender, while connections break at commits and between any two statements, processes are killed, the primary crashes
 * and starts again, its standby pauses for ten seconds, and at last takes its place. Run by `npm test -- --postgres`.
 *
 *   CONCURRENT_S=600 npm test -- --postgres histories.slow      ten minutes of it
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { openPool } from '../../src/database/engine/postgres-server.ts';
import { network, payer, refund } from '../conformance/database/payout-scene.ts';
import { booksAgree, endpoint, keyOf, merchant, pays, pool, show } from '../conformance/database/place.ts';
import { createDatabaseFile } from '../support/database-file.ts';
import { counted } from '../support/nonces.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { addressOf, serverPrograms, startPostgres } from '../support/postgres.ts';
import { type Break, openPostgresProxy } from '../support/postgres-proxy.ts';
import { copyRows } from '../support/postgres-rows.ts';
import { secretKey } from '../support/temp-database.ts';
import { audit } from './engine/audit.ts';
import type { FromClient, MadeBlock, Signed, ToClient } from './postgres-client.ts';

const test = suite('postgres-histories');
const onServer = process.env.TEST_POSTGRES === undefined ? test.skip : test;
const SECONDS = Number(process.env.CONCURRENT_S ?? 30);
const PROCESSES = 3;
const PAYOUTS = 40;
/** On a slow machine it takes longer until so many sessions were paid. */
const PAID_MIN = 10;
const BLOCK_MS = 150;
/** Often a commit breaks or a connection ends; rarely a process is killed, or nobody answers. */
const BREAK_MS = 60;
const KILL_MS = 3_000;
const HEAL_MS = 60_000;
/** Longer than a commit is waited for, and than a command is tried. */
const PAUSE_MS = 10_000;
const DATABASE = 'template';
/** Commits are in the log before they are answered; the log survives the server, if not the machine. */
const careful = { fsync: 'off', synchronous_commit: 'on' };
const usualBreaks: readonly Break[] = ['before', 'after', 'late', 'after', 'late', 'silent'];

const program = ownProgram(new URL('./postgres-client.ts', import.meta.url));
const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The truth that the database is compared with: no process that writes to it knows it. */
function createTruth(tellAll: (message: ToClient) => void) {
  const chains: Record<'one' | 'two', MadeBlock[]> = { one: [], two: [] };
  const waiting: Record<'one' | 'two', ChainTransfer[]> = { one: [], two: [] };
  const [sessionOfOrder, paid, nonceOf] = [
    new Map<string, string>(),
    new Map<string, string>(),
    new Map<string, number>(),
  ];
  const journal: Signed[] = [];
  const claims: { id: string; atMs: number; untilMs: number }[] = [];
  const refusals = new Map<string, number>();
  let isOver = false;

  function mine(on: 'one' | 'two'): void {
    const before = chains[on].at(-1)?.block;
    const number = (before?.number ?? 99) + 1;
    const hash = `${on}/${number}`;
    const block = { hash, parent: before?.hash ?? 'genesis', number, timeS: Math.floor(Date.now() / 1000) };
    const made = { block, transfers: waiting[on].splice(0).map((one, index) => ({ ...one, index })) };
    chains[on].push(made);
    tellAll({ is: 'block', on, made });
  }

  function hear(message: FromClient): void {
    if (message.is === 'broken') throw new Error(message.why);
    if (message.is === 'claimed') claims.push(message);
    else if (message.is === 'refused') refusals.set(message.code, (refusals.get(message.code) ?? 0) + 1);
    else if (message.is === 'session') {
      const { id, orderId, address } = message;
      assert.is(sessionOfOrder.get(orderId) ?? id, id, `order ${orderId} has one session`);
      sessionOfOrder.set(orderId, id);
      if (paid.has(id) || isOver) return;
      assert.not([...paid.values()].includes(address), `${address} is given out once`);
      paid.set(id, address);
      const on = randomInt(2) === 0 ? 'one' : 'two';
      waiting[on].push(pays(address, 1000n, { network: on, tx: `0x${id}` }));
    } else {
      const { id, nonce } = message;
      const known = nonceOf.get(id);
      assert.is(known ?? nonce, nonce, `${id} is signed for one nonce`);
      if (known !== undefined) return;
      assert.is(nonce, journal.length, `nonce ${nonce} is used once, and none is left out`);
      nonceOf.set(id, nonce);
      journal.push({ id, nonce });
      tellAll({ is: 'signed', signed: { id, nonce } });
    }
  }

  /** Mines what is paid already. From now on, nothing is paid. */
  function end(): void {
    isOver = true;
    for (const on of ['one', 'two'] as const) for (let n = 0; n < 3; n++) mine(on);
  }

  return { chains, paid, journal, claims, refusals, mine, hear, end };
}

/** Reads events on from the newest one that it has seen, all the time. */
function startReader(database: Database) {
  const seen: string[] = [];
  let isStopped = false;
  const list = (fromId: string, limit: number) =>
    database.events.list({ storeId: 'm1', mode: 'test', fromId, beforeId: 'evt_~', first: 'oldest', limit });
  const ended = (async () => {
    while (!isStopped) {
      const found = await list(`${seen.at(-1) ?? 'evt_'}0`, 50).catch(() => []);
      seen.push(...found.map(({ id }) => id));
      await rest(5);
    }
  })();
  const stop = (): void => {
    isStopped = true;
  };
  return {
    stop,
    /** Stops, and checks that nothing was missed. @returns how many events there are */
    async check(): Promise<number> {
      stop();
      await ended;
      const all: string[] = [];
      for (let page = await list('evt_', 500); page.length > 0; page = await list(`${all.at(-1)}0`, 500))
        all.push(...page.map(({ id }) => id));
      assert.equal(seen, all.slice(0, seen.length), 'a reader misses no event');
      return all.length;
    },
  };
}

async function setUp(database: Database): Promise<void> {
  await database.stores.create(merchant('m1'));
  await database.endpoints.add(endpoint('e1'));
  const keys = Array.from({ length: 60 }, (_, at) => keyOf(at + 1));
  await database.addresses.add({ ...pool, source: 'xpub', firstIndex: 0, keys });
  await database.engines.nextFence(network, 0);
  await database.payouts.offerNonce(network, payer, counted(0), Date.now());
  const nowMs = Date.now();
  const intents = Array.from({ length: PAYOUTS }, (_, at) => refund(`p${at}`, { units: BigInt(at + 1) }));
  const due = { sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs };
  await database.payouts.plan(intents.map((intent) => ({ intent, ...due })));
}

const openAt = (url: string): Database =>
  openSqliteDatabase({ file: '', url, secretKey, busyTimeoutMs: 5_000, bytesMax: null, outageWaitS: 600 });

/** Waits until everything that happened is in the database, as long as it goes on. */
async function heal(database: Database, truth: ReturnType<typeof createTruth>): Promise<void> {
  truth.end();
  let [untilMs, before] = [Date.now() + HEAL_MS, ''];
  for (let left = ['all']; left.length > 0; await rest(200)) {
    if (left.join() !== before) untilMs = Date.now() + HEAL_MS;
    before = left.join();
    left = [];
    for (const on of ['one', 'two'] as const) {
      const [tip] = await database.blocks.tail(`test:${on}`, 1);
      const head = truth.chains[on].at(-1)?.block.number;
      if (tip?.number !== head) left.push(`${on} is read to ${tip?.number} of ${head}`);
    }
    const recorded = (await database.engines.list())[0]?.journalId;
    if (truth.journal.length < PAYOUTS || recorded !== PAYOUTS) left.push(`${recorded} of ${PAYOUTS} are recorded`);
    const waiting = (await database.deliveries.list({ limit: 1_000 })).filter(
      ({ state }) => state === 'waiting',
    ).length;
    if (waiting > 0) left.push(`${waiting} deliveries wait`);
    assert.ok(Date.now() < untilMs, `all heals: ${left.join('; ')}`);
  }
}

async function check(database: Database, truth: ReturnType<typeof createTruth>): Promise<void> {
  for (const id of truth.paid.keys()) {
    const { life, payments } = await show(database, id);
    assert.equal([life.status, payments.map(({ tx, state }) => [tx, state])], ['paid', [[`0x${id}`, 'confirmed']]], id);
  }
  const lease = new Map<string, number>();
  for (const { id, atMs, untilMs } of truth.claims.sort((a, b) => a.atMs - b.atMs)) {
    assert.ok((lease.get(id) ?? 0) <= atMs, `the delivery ${id} is with one sender`);
    lease.set(id, untilMs);
  }
  for (const [at, { id }] of truth.journal.entries()) {
    const payout = await database.payouts.find(id);
    assert.is(payout?.state, 'sent', `${id}, which has nonce ${at}`);
  }
  await booksAgree(database);
}

onServer(
  `${SECONDS} s of ${PROCESSES} processes, breaks, kills, a crash, a standby that pauses and takes over`,
  async () => {
    const primary = await startPostgres(serverPrograms() ?? '', careful);
    const standby = primary.standBy();
    let current = primary;
    const proxy = await openPostgresProxy(primary.folder);
    const url = proxy.address(DATABASE);
    const database = openAt(url);
    const children = new Set<ChildProcess>();
    /** Processes that have done something: one that starts is left alone. */
    const working = new Set<ChildProcess>();
    let failure: unknown = null;
    const truth = createTruth((message) => {
      for (const child of children) child.send(message);
    });
    const begin = (): void => {
      const child = fork(program, [url], { execArgv: [...loaderOptions], serialization: 'advanced' });
      children.add(child);
      child.on('exit', () => {
        children.delete(child);
        working.delete(child);
      });
      child.on('message', (message: FromClient) => {
        working.add(child);
        try {
          truth.hear(message);
        } catch (error) {
          failure ??= error;
        }
      });
      child.on('error', () => {});
      for (const on of ['one', 'two'] as const)
        for (const made of truth.chains[on]) child.send({ is: 'block', on, made } satisfies ToClient);
      for (const signed of truth.journal) child.send({ is: 'signed', signed } satisfies ToClient);
    };

    await setUp(database);
    const reader = startReader(database);
    for (let n = 0; n < PROCESSES; n++) begin();
    while (working.size < PROCESSES && !failure) {
      truth.mine('one');
      truth.mine('two');
      await rest(BLOCK_MS);
    }
    const beganMs = Date.now();
    let [kills, cuts, lastKillMs, lastBlockMs, crashes] = [0, 0, beganMs, 0, 0];
    let resume = () => {};

    async function cut(): Promise<void> {
      const admin = openPool(addressOf(current.folder, DATABASE), { max: 1, application_name: 'chaos' });
      const { rowCount } = await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE application_name = 'quayside' AND state <> 'idle' ORDER BY random() LIMIT 1`,
      );
      cuts += rowCount ?? 0;
      await admin.end();
    }

    /** Crashes the primary, pauses the standby that each commit waits for, and loses the primary for good. */
    async function crash(passed: number): Promise<void> {
      if (crashes === 0 && passed > 0.2) {
        crashes++;
        await primary.crash();
        primary.start();
      } else if (crashes === 1 && passed > 0.35) {
        crashes++;
        resume = standby.pause();
        setTimeout(resume, PAUSE_MS);
      } else if (crashes === 2 && passed > 0.8) {
        crashes++;
        await primary.crash();
        standby.promote();
        current = standby;
        proxy.turnTo(standby.folder);
      }
    }

    try {
      const isShort = (nowMs: number) => nowMs < beganMs + SECONDS * 1000 || truth.paid.size < PAID_MIN;
      for (let nowMs = beganMs; isShort(nowMs) && !failure; nowMs = Date.now()) {
        if (nowMs > lastBlockMs + BLOCK_MS) {
          truth.mine('one');
          truth.mine('two');
          lastBlockMs = nowMs;
        }
        if (randomInt(2) === 0) await cut().catch(() => {});
        else if (proxy.next.length === 0) proxy.next.push(usualBreaks[randomInt(usualBreaks.length)] ?? 'after');
        if (nowMs > lastKillMs + KILL_MS) {
          lastKillMs = nowMs;
          const victim = [...working][0];
          if (!victim) continue;
          kills++;
          working.delete(victim);
          victim.kill('SIGKILL');
          begin();
        }
        await crash((nowMs - beganMs) / (SECONDS * 1000));
        await rest(BREAK_MS);
      }
      proxy.next.length = 0;
      if (!failure) await heal(database, truth);
      if (failure) throw failure;
      for (const child of children) child.send({ is: 'stop' } satisfies ToClient);
      while (children.size > 0) await rest(50);
      await check(database, truth);
      const events = await reader.check();
      const file = join(tmpdir(), `quayside-copy-${process.pid}.db`);
      createDatabaseFile(file);
      const looking = openPool(addressOf(current.folder, DATABASE), { max: 1 });
      await copyRows(looking, file).finally(() => looking.end());
      assert.equal(audit(file), []);
      rmSync(file);
      const did = {
        sessions: truth.paid.size,
        events,
        kills,
        cuts,
        broken: proxy.broken(),
        refusals: [...truth.refusals],
      };
      process.stderr.write(`${JSON.stringify(did)}\n`);
      assert.ok(events >= truth.paid.size && cuts > 5 && proxy.broken() > 5, 'not idle');
      assert.is(crashes, 3);
    } finally {
      resume();
      for (const child of children) child.kill('SIGKILL');
      reader.stop();
      database.close();
      proxy.close();
      for (const server of [primary, standby]) server.stop();
    }
  },
);

test.run();
