/**
 * Concurrent histories on PostgreSQL: three clients, each with a shop, a follower of two networks, a payer and a
 * sender, while connections break at commits and between any two statements, clients end at any moment, the primary
 * crashes and starts again, its standby pauses for ten seconds, and at last takes its place. Run by
 * `npm test -- --postgres`.
 *
 *   CONCURRENT_S=600 npm test -- --postgres histories.slow      ten minutes of it
 */
import { randomBytes, randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as rest } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import { type Database, openSqliteDatabase } from '../../src/database/database.ts';
import { allot, network, payer, refund, sent, signatureOf } from '../conformance/database/payout-scene.ts';
import {
  addShop,
  booksAgree,
  addressOf as depositAddress,
  endpoint,
  keyOf,
  newSession,
  pays,
  pool,
  show,
} from '../conformance/database/place.ts';
import { createDatabaseFile } from '../support/database-file.ts';
import { have } from '../support/fields.ts';
import { ingestStep } from '../support/ingested-chain.ts';
import { counted } from '../support/nonces.ts';
import { addressOf, copyRows, cutOne, onPool, serverPrograms, startPostgres } from '../support/postgres.ts';
import { recordAttempt } from '../support/record-attempt.ts';
import { secretKey } from '../support/temp-database.ts';
import { until } from '../support/until.ts';
import { audit } from './engine/audit.ts';
import { type Break, openPostgresProxy } from './postgres-proxy.ts';

const test = suite('postgres-histories');
const onServer = process.env.TEST_POSTGRES === undefined ? test.skip : test;
const SECONDS = Number(process.env.CONCURRENT_S ?? 25);
const CLIENTS = 3;
const PAYOUTS = 40;
/** On a slow machine it takes longer until so many sessions were paid. */
const PAID_MIN = 10;
const BLOCK_MS = 150;
/** Often a commit breaks or a connection ends; rarely a client ends, or nobody answers. */
const BREAK_MS = 60;
const KILL_MS = 3_000;
/** Longer than a commit is waited for, and than a command is tried. */
const PAUSE_MS = 10_000;
/** So few orders that two shops often open one at the same time. */
const ORDERS = 4_000;
const FREE_MIN = 30;
const ADDED = 20;
const LEASE_MS = 3_000;
const DATABASE = 'template';
/** Commits are in the log before they are answered; the log survives the server, if not the machine. */
const careful = { fsync: 'off', synchronous_commit: 'on' };
const usualBreaks: readonly Break[] = ['before', 'after', 'late', 'after', 'late', 'silent'];
const decimals = { one: 6, two: 18 } as const;
const networks = ['one', 'two'] as const;
type On = (typeof networks)[number];

const openAt = (url: string): Database =>
  openSqliteDatabase({ file: '', url, secretKey, busyTimeoutMs: 5_000, outageWaitS: 600 });

/** The truth that the database is compared with: what clients were answered, and what only chains and a signer know. */
function createTruth() {
  const chains: Record<On, { block: BlockRef; transfers: ChainTransfer[] }[]> = { one: [], two: [] };
  const waiting: Record<On, ChainTransfer[]> = { one: [], two: [] };
  const sessionOfOrder = new Map<string, string>();
  const paid = new Map<string, string>();
  /** Payouts as the signer signed them: the place of each is its nonce and, with one, its number in the journal. */
  const journal: string[] = [];
  const claims: { id: string; atMs: number; untilMs: number }[] = [];
  let isOver = false;

  function mine(on: On): void {
    const before = chains[on].at(-1)?.block;
    const number = (before?.number ?? 99) + 1;
    const hash = `${on}/${number}`;
    const block = { hash, parent: before?.hash ?? 'genesis', number, timeS: Math.floor(Date.now() / 1000) };
    chains[on].push({ block, transfers: waiting[on].splice(0).map((one, index) => ({ ...one, index })) });
  }

  return {
    chains,
    paid,
    journal,
    claims,
    mine,
    opened(orderId: string, id: string, address: string): void {
      assert.is(sessionOfOrder.get(orderId) ?? id, id, `order ${orderId} has one session`);
      sessionOfOrder.set(orderId, id);
      if (paid.has(id) || isOver) return;
      assert.not([...paid.values()].includes(address), `${address} is given out once`);
      paid.set(id, address);
      const on = networks[randomInt(2)] ?? 'one';
      waiting[on].push(pays(address, 1000n, { network: on, tx: `0x${id}` }));
    },
    sign(id: string, nonce: number): void {
      if (journal[nonce] === id) return;
      assert.not(journal.includes(id), `${id} is signed for one nonce`);
      assert.is(nonce, journal.length, `nonce ${nonce} is used once, and none is left out`);
      journal.push(id);
    },
    /** Mines what is paid already. From now on, nothing is paid. */
    end(): void {
      isOver = true;
      for (const on of networks) for (let n = 0; n < 3; n++) mine(on);
    },
  };
}

type Truth = ReturnType<typeof createTruth>;
type Work = (database: Database) => Promise<void>;

function shopOf(truth: Truth): Work {
  let order = randomInt(10);
  return async (database) => {
    const { free, nextIndex } = await database.addresses.level(pool, 'xpub');
    const keys = Array.from({ length: ADDED }, (_, at) => keyOf(nextIndex + at + 1));
    if (free < FREE_MIN) await database.addresses.add({ ...pool, source: 'xpub one', firstIndex: nextIndex, keys });
    order = (order + randomInt(2)) % ORDERS;
    const [orderId, nowMs] = [`o${order}`, Date.now()];
    const id = `cs_${orderId}_${randomBytes(4).toString('hex')}`;
    const nonce = { keyId: 'k1', nonce: id, nowMs, keepUntilMs: nowMs + 60_000 };
    const replay = { idempotencyKey: orderId, path: '/sessions/create', bodyHash: orderId };
    const outcome = await database.sessions.create(newSession(orderId, { id, nonce, replay, nowMs }));
    if (outcome.kind === 'address_pool_empty' || outcome.kind === 'no_network_followed') return;
    if (outcome.kind !== 'created' && outcome.kind !== 'replayed') throw new Error(`a session is ${outcome.kind}`);
    truth.opened(orderId, outcome.session.id, depositAddress(outcome.session));
  };
}

/** Follows a network by the addresses that it has read, as `seq` names them. */
function followerOf(truth: Truth, on: On): Work {
  const watched = new Set<string>();
  let through = 0;
  return async (database) => {
    const [tip] = await database.blocks.tail(`test:${on}`, 1);
    const made = truth.chains[on].find(({ block }) => block.number === (tip?.number ?? 99) + 1);
    if (!made) return;
    const step = ingestStep({
      network: `test:${on}`,
      nowMs: Date.now(),
      expectTip: tip?.hash ?? null,
      watchedThrough: through,
      decimals: { USDT: decimals[on] },
      dustFloorPar: 1n,
      confirm: tip ? [{ hash: tip.hash }] : [],
      connect: [{ ...made, transfers: made.transfers.filter(({ to }) => watched.has(to)) }],
    });
    const outcome = await database.blocks.ingest(step);
    if (outcome !== 'stale_watch') return;
    for (const { seq, key } of await database.addresses.watchList(pool, through, 10_000)) {
      watched.add(key);
      through = seq;
    }
  };
}

/** Allots what waits, has it signed, and records what was signed. */
const payerOf =
  ({ journal, sign }: Truth): Work =>
  async (database) => {
    const nowMs = Date.now();
    const mined = journal.length;
    for (const { payout, attempts } of await database.payouts.open(network, nowMs, 100)) {
      const nonce = attempts[0]?.nonce;
      if (attempts[0]?.tx === null && nonce != null) sign(payout.id, nonce);
      if (payout.state !== 'waiting') continue;
      const offer = await database.payouts.offerNonce(network, payer, counted(mined), nowMs);
      if (offer.kind !== 'free') continue;
      const outcome = await allot(database, payout.id, { nonce: offer.nonce, nowMs });
      if (outcome.kind === 'allotted') sign(payout.id, offer.nonce);
    }
    const recorded = (await database.engines.list()).find((engine) => engine.network === network)?.journalId ?? 0;
    for (const [nonce, id] of [...journal.entries()].slice(recorded)) {
      const payout = await database.payouts.find(id);
      if (payout?.intent.kind !== 'refund') throw new Error(`${id} is a refund`);
      const stray = await database.payouts.recordSigned(network, [signatureOf(payout.intent, nonce + 1, { nonce })]);
      if (stray) throw new Error(`the signature of ${id} is stray`);
      await sent(database, id);
    }
  };

function senderOf({ claims }: Truth): Work {
  const holder = randomBytes(4).toString('hex');
  return async (database) => {
    const atMs = Date.now();
    const limits = { limit: 5, unprovenMax: 5, places: () => 5 };
    for (const one of await database.deliveries.claim({ nowMs: atMs, leaseMs: LEASE_MS, holder, ...limits })) {
      claims.push({ id: one.id, atMs, untilMs: one.leaseUntilMs });
      await recordAttempt(database, one, { startedAtMs: Date.now(), status: 200 }, { kind: 'delivered' });
    }
  };
}

/** Starts a client, each part of which has connections of its own. `kill` ends them and whatever is under way. */
async function startClient(server: string, truth: Truth, onFailure: (error: unknown) => void) {
  const proxy = await openPostgresProxy(server);
  let [isStopped, isKilled] = [false, false];

  /** Repeats a work, also after the database has refused it. */
  async function repeat(once: Work): Promise<void> {
    const database = openAt(proxy.address(DATABASE));
    while (!isStopped) {
      await once(database).catch((error: unknown) => {
        if (!isKilled && !(error instanceof Fault && error.kind === 'transient')) onFailure(error);
      });
      await rest(randomInt(5, 30));
    }
    database.close();
  }

  const works = [shopOf(truth), ...networks.map((on) => followerOf(truth, on)), payerOf(truth), senderOf(truth)];
  const ended = Promise.all(works.map(repeat));
  return {
    proxy,
    async stop(): Promise<void> {
      isStopped = true;
      await ended;
      proxy.close();
    },
    kill(): void {
      [isStopped, isKilled] = [true, true];
      proxy.close();
    },
  };
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
  /** Stops, and checks that nothing was missed. @returns how many events there are */
  return async (): Promise<number> => {
    isStopped = true;
    await ended;
    const all: string[] = [];
    for (let page = await list('evt_', 500); page.length > 0; page = await list(`${all.at(-1)}0`, 500))
      all.push(...page.map(({ id }) => id));
    assert.equal(seen, all.slice(0, seen.length), 'a reader misses no event');
    return all.length;
  };
}

async function setUp(database: Database): Promise<void> {
  await addShop(database, 60);
  await database.endpoints.add(endpoint('e1'));
  await database.engines.nextFence(network, 0);
  await database.payouts.offerNonce(network, payer, counted(0), Date.now());
  const nowMs = Date.now();
  const intents = Array.from({ length: PAYOUTS }, (_, at) => refund(`p${at}`, { units: BigInt(at + 1) }));
  const due = { sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs };
  await database.payouts.plan(intents.map((intent) => ({ intent, ...due })));
}

/** Waits until everything that happened is in the database. */
async function heal(database: Database, truth: Truth, failed: () => boolean): Promise<void> {
  truth.end();
  await until('everything that happened is in the database', async () => {
    if (failed()) return true;
    for (const on of networks) {
      const [tip] = await database.blocks.tail(`test:${on}`, 1);
      if (tip?.number !== truth.chains[on].at(-1)?.block.number) return false;
    }
    if ((await database.engines.list())[0]?.journalId !== PAYOUTS) return false;
    return (await database.deliveries.list({ limit: 1_000 })).every(({ state }) => state !== 'waiting');
  });
}

async function check(database: Database, truth: Truth): Promise<void> {
  for (const id of truth.paid.keys()) {
    const { life, payments } = await show(database, id);
    assert.is(life.status, 'paid', id);
    have(payments, [{ tx: `0x${id}`, state: 'confirmed' }], id);
  }
  const lease = new Map<string, number>();
  for (const { id, atMs, untilMs } of truth.claims.sort((a, b) => a.atMs - b.atMs)) {
    assert.ok((lease.get(id) ?? 0) <= atMs, `the delivery ${id} is with one sender`);
    lease.set(id, untilMs);
  }
  for (const id of truth.journal) assert.is((await database.payouts.find(id))?.state, 'sent', id);
  await booksAgree(database);
}

/** Looks at all rows with the eyes of the auditor, in a copy. */
async function auditRows(url: string): Promise<void> {
  const file = join(tmpdir(), `quayside-copy-${process.pid}.db`);
  createDatabaseFile(file);
  await onPool(url, (pool) => copyRows(pool, file));
  assert.equal(audit(file), []);
  rmSync(file);
}

onServer(`${SECONDS} s of ${CLIENTS} clients, breaks, kills, a crash, a standby that takes over`, async () => {
  const primary = await startPostgres(serverPrograms() ?? '', careful);
  const standby = primary.standBy();
  let current = primary;
  const own = await openPostgresProxy(primary.folder);
  const database = openAt(own.address(DATABASE));
  await setUp(database);
  const truth = createTruth();
  let failure: unknown = null;
  const begin = () => startClient(current.folder, truth, (error) => (failure ??= error));
  const clients = [await begin()];
  while (clients.length < CLIENTS) clients.push(await begin());
  const checkReader = startReader(database);
  const beganMs = Date.now();
  let [kills, cuts, broken, lastKillMs, lastBlockMs, crashes] = [0, 0, 0, beganMs, 0, 0];
  let [resume, resumeAtMs] = [() => {}, 0];

  /** Crashes the primary, pauses the standby that each commit waits for, and loses the primary for good. */
  async function crash(passed: number): Promise<void> {
    if (crashes === 0 && passed > 0.2) {
      crashes++;
      await primary.crash();
      primary.start();
    } else if (crashes === 1 && passed > 0.35) {
      crashes++;
      [resume, resumeAtMs] = [standby.pause(), Date.now() + PAUSE_MS];
    } else if (crashes === 2 && Date.now() > resumeAtMs) {
      crashes++;
      resume();
      resume = () => {};
    } else if (crashes === 3 && passed > 0.8) {
      crashes++;
      await primary.crash();
      standby.promote();
      current = standby;
      for (const proxy of [own, ...clients.map((client) => client.proxy)]) proxy.turnTo(standby.folder);
    }
  }

  try {
    const isShort = (nowMs: number) => nowMs < beganMs + SECONDS * 1000 || truth.paid.size < PAID_MIN || crashes < 4;
    for (let nowMs = beganMs; isShort(nowMs) && !failure; nowMs = Date.now()) {
      if (nowMs > lastBlockMs + BLOCK_MS) {
        for (const on of networks) truth.mine(on);
        lastBlockMs = nowMs;
      }
      const { next } = clients[randomInt(CLIENTS)]?.proxy ?? own;
      if (randomInt(2) === 0) cuts += await cutOne(addressOf(current.folder, DATABASE)).catch(() => 0);
      else if (next.length === 0) next.push(usualBreaks[randomInt(usualBreaks.length)] ?? 'after');
      if (nowMs > lastKillMs + KILL_MS) {
        lastKillMs = nowMs;
        const victim = clients.shift();
        victim?.kill();
        broken += victim?.proxy.broken() ?? 0;
        kills++;
        clients.push(await begin());
      }
      await crash((nowMs - beganMs) / (SECONDS * 1000));
      await rest(BREAK_MS);
    }
    for (const { proxy } of clients) proxy.next.length = 0;
    await heal(database, truth, () => failure !== null);
    await Promise.all(clients.map((client) => client.stop()));
    if (failure) throw failure;
    await check(database, truth);
    const events = await checkReader();
    await auditRows(addressOf(current.folder, DATABASE));
    for (const { proxy } of clients) broken += proxy.broken();
    process.stderr.write(`${JSON.stringify({ sessions: truth.paid.size, events, kills, cuts, broken })}\n`);
    assert.ok(events >= truth.paid.size && cuts > 5 && broken > 5, 'not idle');
  } finally {
    resume();
    for (const client of clients) client.kill();
    await checkReader().catch(() => {});
    database.close();
    own.close();
    for (const server of [primary, standby]) server.stop();
  }
});

test.run();
