/**
 * Two machines on one PostgreSQL database: whole installations with a data folder each, over one simulated node. Run by
 * `npm test -- --postgres`; without a server, all is skipped.
 *
 *   SERVERS_S=300 npm test -- --postgres machines.slow      five minutes of orders, while either server is killed
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { indexerLease, LEASE_MS } from '../../src/database/leases.ts';
import { openSecretKey } from '../../src/lib/secret-key.ts';
import { booksAgree } from '../conformance/database/place.ts';
import { keyOf } from '../e2e/simulated-network.ts';
import type { Json, Machine } from '../support/instance.ts';
import { openMachines } from '../support/machines.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { copyTemplate, cutOne, onPool } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const server = process.env.TEST_POSTGRES ?? '';
const test = suite('machines');
const onServer = server === '' ? test.skip : test;

const SECONDS = Number(process.env.SERVERS_S ?? 12);
const BLOCK_MS = 400;
const UNITS = 10_000_000n;
const LEASE = indexerLease('test:ethereum');

/** Orders come so often, and wait for an answer; on a slow machine they come slower. A server is killed meanwhile. */
const EACH_SECOND = 25;
const WAITING_MAX = 100;
const TRY_AGAIN_MS = 200;
const KILL_MS = 5_000;
const CUT_MS = 700;
/** So many of the sessions are paid: every tenth. */
const PAID_EACH = 10;

/** Closers of all that the test opened, newest last. They run in reverse, even if it fails. */
const opened: (() => unknown)[] = [];
test.after(async () => {
  for (const close of opened.reverse()) await close();
});

async function openBench() {
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{}'));
  opened.push(merchant.close);
  const copied = copyTemplate(server);
  opened.push(copied.remove);
  const machines = await openMachines(copied.url, BLOCK_MS, { limits: { pool_target: 1_000 } });
  opened.push(machines.close);
  const { node, first, store } = machines;
  const { cli } = first;
  await cli('webhook', 'add', `${merchant.origin}/hook`, '--store', store.id, '--mode', 'test');
  const secretKey = openSecretKey(join(first.dataDir, 'secret.key'));
  const plain = { file: '', busyTimeoutMs: 5_000, outageWaitS: 600 };
  const database = openSqliteDatabase({ ...plain, url: copied.url, secretKey });
  opened.push(database.close);
  const send = (machine: Machine, method: string, path: string, body?: object) =>
    store.clientOf(machine).send(method, `/api/v1/checkout/sessions/${path}`, body);
  const call = async (...asked: Parameters<typeof send>): Promise<Json> => {
    const { status, json, text } = await send(...asked);
    assert.is(status, 200, text);
    return json;
  };
  const show = (machine: Machine, { id }: Json) => call(machine, 'GET', id);
  const orderOf = (id: string) => ({ amount: 1000, currency: 'USD', order_id: id, expires_in: 3600 });
  let orders = 0;
  return {
    ...machines,
    cli,
    database,
    url: copied.url,
    send,
    show,
    orderOf,
    newSession: (machine: Machine) => call(machine, 'POST', 'create', orderOf(`single-${++orders}`)),
    pay: (session: Json) => node.pay(keyOf(node, 'ethereum', session), UNITS),
    paid: (machine: Machine, session: Json) =>
      until('the session is paid', async () => (await show(machine, session)).payment_status === 'paid'),
    /** Counts the webhooks about a session's payment. */
    told: ({ id }: Json) =>
      merchant
        .on('/hook')
        .filter(({ headers, body }) => headers['x-service-event-type'] === 'payment.completed' && body.includes(id))
        .length,
    holder: async (): Promise<string | null> =>
      (await database.leases.list()).find(({ name, isHeld }) => name === LEASE && isHeld)?.holder ?? null,
  };
}

type Bench = Awaited<ReturnType<typeof openBench>>;

/** Tries an order at both machines until it is answered. @returns the ids that were answered, which must be one */
async function order(
  { send, orderOf, pay }: Bench,
  machines: readonly Machine[],
  number: number,
): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let at = number; ; at++) {
    const machine = machines[at % machines.length] as Machine;
    const answer = await send(machine, 'POST', 'create', orderOf(`load-${number}`)).catch((error: Error) => error);
    if (answer instanceof Error || answer.status !== 200) {
      if (!(answer instanceof Error)) assert.is(answer.status, 503, answer.text);
      await wait(TRY_AGAIN_MS);
      continue;
    }
    const session = answer.json as Json;
    ids.add(session.id);
    // An answer may be lost on its way to the client, who then calls again.
    if (randomInt(10) === 0 && ids.size === 1) continue;
    if (number % PAID_EACH === 0) pay(session);
    return ids;
  }
}

/** Kills a server, which its supervisor starts again. @returns how many */
function kill(machine: Machine): number {
  try {
    process.kill(machine.server().pid, 'SIGKILL');
    return 1;
  } catch {
    // It is just being started.
    return 0;
  }
}

/** Asserts that no order is lost or made twice, and that no answer is one that a client may not answer by a retry. */
async function orderAtBoth(bench: Bench, machines: readonly Machine[]): Promise<void> {
  const made: Promise<Set<string>>[] = [];
  let [failure, waiting, kills, cuts]: [unknown, number, number, number] = [null, 0, 0, 0];
  const beganMs = performance.now();
  let [killedAtMs, cutAtMs] = [beganMs, beganMs];
  for (let number = 0; performance.now() < beganMs + SECONDS * 1000 && !failure; number++) {
    waiting++;
    const making = order(bench, machines, number).finally(() => waiting--);
    making.catch((error: unknown) => {
      failure = error;
    });
    made.push(making);
    while (waiting >= WAITING_MAX) await wait(TRY_AGAIN_MS);
    await wait(Math.max(0, beganMs + (1000 * number) / EACH_SECOND - performance.now()));
    if (performance.now() > cutAtMs + CUT_MS) {
      cutAtMs = performance.now();
      cuts += await cutOne(bench.url);
    }
    if (performance.now() > killedAtMs + KILL_MS) {
      killedAtMs = performance.now();
      kills += kill(machines[kills % machines.length] as Machine);
    }
  }
  const answered = (await Promise.all(made)).map((ids, number) => [`load-${number}`, [...ids].join()]);
  process.stderr.write(`${JSON.stringify({ orders: answered.length, kills, cuts })}\n`);
  const ofLoad = "FROM sessions WHERE order_id LIKE 'load-%'";
  const text = `SELECT order_id, id ${ofLoad} ORDER BY order_id`;
  const { rows } = await onPool(bench.url, (pool) => pool.query({ text, rowMode: 'array' }));
  assert.equal(
    rows,
    answered.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  );
  await until('all that were paid are', async () => {
    const paid = `SELECT count(*) AS paid ${ofLoad} AND status = 'paid'`;
    const counted = await onPool(bench.url, (pool) => pool.query(paid));
    return Number(counted.rows[0].paid) === Math.ceil(answered.length / PAID_EACH);
  });
  assert.ok(kills > 0 && cuts > 0, 'processes and connections were ended');
}

onServer('two servers are one shop; a standby follows a network when its indexer is lost or paused', async () => {
  const bench = await openBench();
  const a = bench.first;
  await a.start();
  await until('the first follows', async () => (await bench.holder())?.includes(a.dataDir) === true);
  const b = bench.add();
  await b.start();
  await until('the second is a standby', () => b.output().includes('is its standby'));

  const shared = await bench.newSession(a);
  bench.pay(shared);
  await bench.paid(b, shared);
  assert.is((await bench.show(a, shared)).payment_status, 'paid');
  await until('the merchant knows', () => bench.told(shared) > 0);
  assert.is(bench.told(shared), 1, 'by one of two senders');
  // A sender that is killed before would leave the webhook to be sent again.
  await until('that is recorded', async () => {
    const sent = await bench.database.deliveries.list({ sessionId: shared.id, limit: 9 });
    return sent.every(({ state }) => state === 'delivered');
  });

  await a.kill();
  const late = await bench.newSession(b);
  bench.pay(late);
  await until('the standby has seen the payment', async () => (await bench.show(b, late)).payments.length > 0);
  await bench.paid(b, late);
  await until('the second machine has both jobs', async () => {
    const { leases } = await bench.cli('status');
    const ofB = leases.filter(({ holder, fence }: Json) => holder?.includes(b.dataDir) && fence === 2);
    return ['chores', LEASE].every((name) => ofB.some(({ job }: Json) => job === name));
  });

  await a.start();
  const { pid } = (await bench.cli('status')).networks[0];
  process.kill(pid, 'SIGSTOP');
  const paused = await bench.newSession(a);
  bench.pay(paused);
  await bench.paid(a, paused);
  assert.ok((await bench.holder())?.includes(a.dataDir));
  process.kill(pid, 'SIGCONT');
  await until('the paused one has lost its lease', () => b.output().includes('lease_lost'));
  const more = await bench.newSession(b);
  bench.pay(more);
  await bench.paid(b, more);
  await wait(LEASE_MS / 2);
  for (const session of [shared, late, paused, more]) {
    await until('the merchant knows', () => bench.told(session) > 0);
    assert.is(bench.told(session), 1);
    assert.is((await bench.show(a, session)).payments.length, 1, 'nothing is credited twice');
  }
  assert.ok((await bench.holder())?.includes(a.dataDir), 'the paused one is a standby');
  await orderAtBoth(bench, [a, b]);
  await booksAgree(bench.database);
});

test.run();
