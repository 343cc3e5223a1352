/**
 * Two machines on one PostgreSQL database: whole installations with a data folder each, over one simulated node. Run by
 * `npm test -- --postgres`; without a server, all is skipped.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { codeOf, newSecretOf, stepAt } from '../../src/dashboard/second-factor.ts';
import { openSqliteDatabase } from '../../src/database/database.ts';
import { indexerLease, LEASE_MS } from '../../src/database/leases.ts';
import { hashOf } from '../../src/lib/id.ts';
import { openSecretKey } from '../../src/lib/secret-key.ts';
import { booksAgree } from '../conformance/database/place.ts';
import { keyOf } from '../e2e/simulated-network.ts';
import { openVisitor, PASSWORD } from '../support/dashboard.ts';
import type { Json } from '../support/instance.ts';
import { type Machine, openMachines, startMachine } from '../support/machines.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { copyTemplate } from '../support/postgres.ts';
import { signedClient } from '../support/signed-client.ts';
import { until } from '../support/until.ts';

const server = process.env.TEST_POSTGRES ?? '';
const test = suite('machines');
const onServer = server === '' ? test.skip : test;

const BLOCK_MS = 400;
const TAKEOVER_MS_MAX = 20_000;
const UNITS = 10_000_000n;
const LEASE = indexerLease('test:ethereum');

/** Closers of all that the test opened, newest last. They run in reverse, even if it fails. */
const opened: (() => unknown)[] = [];
test.after(async () => {
  for (const close of opened.reverse()) await close();
});

/** Kills a supervisor and its processes at once, as the loss of the machine does. */
async function lose({ supervisor }: Machine): Promise<void> {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  for (const line of lines) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number);
    if (pid && (pid === supervisor.pid || parent === supervisor.pid)) process.kill(pid, 'SIGKILL');
  }
  await supervisor.ended;
}

async function openBench() {
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{}'));
  opened.push(merchant.close);
  const copied = copyTemplate(server);
  const machines = await openMachines({ url: copied.url, blockMs: BLOCK_MS });
  opened.push(machines.close);
  const { node, folder, cli, storeId } = machines;
  await cli('webhook', 'add', `${merchant.origin}/hook`, '--store', storeId, '--mode', 'test');
  const secretKey = openSecretKey(join(folder.dataDir, 'secret.key'));
  const plain = { file: '', busyTimeoutMs: 5_000, bytesMax: null, outageWaitS: 600 };
  const database = openSqliteDatabase({ ...plain, url: copied.url, secretKey });
  opened.push(database.close, copied.remove);
  let orders = 0;
  const call = async (machine: Machine, method: string, path: string, body?: object): Promise<Json> => {
    const client = signedClient(machines.credentials(machine));
    const { status, json, text } = await client.send(method, `/api/v1/checkout/sessions/${path}`, body);
    assert.is(status, 200, text);
    return json;
  };
  const show = (machine: Machine, { id }: Json) => call(machine, 'GET', id);
  return {
    ...{ ...machines, database, show },
    newSession: (machine: Machine) =>
      call(machine, 'POST', 'create', { amount: 1000, currency: 'USD', order_id: `order-${++orders}` }),
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

/** Claims a link at one server, and signs in at the other one: each knows the sessions of both. */
async function signInOverBoth(bench: Awaited<ReturnType<typeof openBench>>, a: Machine, b: Machine): Promise<void> {
  const { link } = await bench.cli('user', 'link', 'alice', '--role', 'operator');
  const token = new URL(link).pathname.split('/').at(-1) ?? '';
  const found = await bench.database.people.findLink(hashOf(token), Date.now());
  const secret = newSecretOf(token, found?.salt ?? '');
  const atA = openVisitor(a.dashboardUrl);
  const claimed = await atA.post(`/link/${token}`, { password: PASSWORD, code: codeOf(secret, stepAt(Date.now())) });
  assert.is(claimed.status, 200, claimed.text);
  const cookie = claimed.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  for (const url of [a.dashboardUrl, b.dashboardUrl])
    assert.is((await openVisitor(url).get('/account', { cookie })).status, 200, url);
  // The code of this half minute was used; the next one is accepted early.
  const fields = { name: 'alice', password: PASSWORD, code: codeOf(secret, stepAt(Date.now()) + 1) };
  const signedIn = await openVisitor(b.dashboardUrl).post('/sign-in', fields);
  assert.is(signedIn.status, 303, signedIn.text);
  const again = await openVisitor(a.dashboardUrl).post('/sign-in', fields);
  assert.is(again.status, 403, 'a code that one server took is refused by the other one');
  const own = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  assert.is((await openVisitor(a.dashboardUrl).get('/account', { cookie: own })).status, 200);
}

onServer('two servers are one shop; a standby follows a network when its indexer is lost or paused', async () => {
  const bench = await openBench();
  let a = await startMachine(bench.folder);
  await until('the first follows', async () => (await bench.holder())?.includes(a.dataDir) === true);
  const b = await startMachine(bench.addFolder());
  await until('the second is a standby', () => b.supervisor.stderr().includes('is its standby'));

  const shared = await bench.newSession(a);
  bench.pay(shared);
  await bench.paid(b, shared);
  assert.is((await bench.show(a, shared)).payment_status, 'paid');
  await until('the merchant is told', () => bench.told(shared) > 0);
  await signInOverBoth(bench, a, b);
  assert.is(bench.told(shared), 1, 'by one of two senders');

  const lostAtMs = performance.now();
  await lose(a);
  const late = await bench.newSession(b);
  bench.pay(late);
  await until('the standby has seen the payment', async () => (await bench.show(b, late)).payments.length > 0);
  const takeoverMs = performance.now() - lostAtMs;
  assert.ok(takeoverMs < TAKEOVER_MS_MAX, `taken over within ${Math.round(takeoverMs)} ms`);
  await bench.paid(b, late);
  await until('the second machine has both jobs', async () => {
    const { leases } = await bench.cli('status');
    const ofB = leases.filter(({ holder, fence }: Json) => holder?.includes(b.dataDir) && fence === 2);
    return ['chores', LEASE].every((name) => ofB.some(({ job }: Json) => job === name));
  });

  a = await startMachine(bench.folder);
  const { pid } = (await bench.cli('status')).networks[0];
  process.kill(pid, 'SIGSTOP');
  const paused = await bench.newSession(a);
  bench.pay(paused);
  await bench.paid(a, paused);
  assert.ok((await bench.holder())?.includes(a.dataDir));
  process.kill(pid, 'SIGCONT');
  await until('the paused one has lost its lease', () => b.supervisor.stderr().includes('lease_lost'));
  const more = await bench.newSession(b);
  bench.pay(more);
  await bench.paid(b, more);
  await wait(LEASE_MS / 2);
  for (const session of [shared, late, paused, more]) {
    await until('the merchant is told', () => bench.told(session) > 0);
    assert.is(bench.told(session), 1);
    assert.is((await bench.show(a, session)).payments.length, 1, 'nothing is credited twice');
  }
  assert.ok((await bench.holder())?.includes(a.dataDir), 'the paused one is a standby');
  await booksAgree(bench.database);
});

test.run();
