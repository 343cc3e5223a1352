import { spawn } from 'node:child_process';
import { once } from 'node:events';
import Sqlite from 'better-sqlite3';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { type Answer, merchantServer } from '../support/merchant-server.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { testsIn } from '../support/tests-in.ts';
import { until } from '../support/until.ts';
import { inShop, webhookConfig } from '../support/webhook-shop.ts';

const ok: Answer = (response) => void response.writeHead(200).end();
/** Longer than any lease with the shop's timeout. */
const LEASE_OVER_MS = webhookConfig.timeoutMs + 60_000;

/** Holds the file's write lock, like a process that is stuck in the middle of a transaction. */
function lockFile(file: string): { release(): void } {
  const client = new Sqlite(file);
  client.exec('BEGIN IMMEDIATE');
  // Closing rolls back.
  return { release: () => void client.close() };
}

const test = testsIn(inShop);

test('if a process is killed between the response and the record, the next one sends the event again', async (shop) => {
  const server = await merchantServer(ok);
  await shop.addEndpoint(`${server.origin}/hook`);
  await shop.cancelOne();
  const program = ownProgram(new URL('./dying-dispatcher.ts', import.meta.url));
  const child = spawn(process.execPath, [...loaderOptions, program, shop.file], { stdio: 'inherit' });
  assert.equal(await once(child, 'exit'), [null, 'SIGKILL']);
  assert.is(server.received.length, 1);
  assert.equal((await shop.only()).log, []);

  const dispatcher = shop.dispatch();
  shop.clock.skip(LEASE_OVER_MS);
  dispatcher.wake();
  await until('it is delivered', async () => (await shop.only()).state === 'delivered');
  assert.is(server.received.length, 2);
  assert.is(server.received[1]?.body, server.received[0]?.body);
  assert.is(server.received[1]?.headers['webhook-id'], server.received[0]?.headers['webhook-id']);
  assert.is((await shop.only()).attempts, 1);
});

test('an attempt that cannot be recorded is logged, and the event is sent again after its lease', async (shop) => {
  const locks: { release(): void }[] = [];
  const server = await merchantServer((response, _, earlier) => {
    if (earlier === 0) locks.push(lockFile(shop.file));
    response.writeHead(200).end();
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  await shop.cancelOne();
  const database = shop.connect(20);
  const lines: string[] = [];
  const dispatcher = shop.dispatch({ database, log: openLog('test', 'info', (line) => void lines.push(line)) });
  const isLogged = (text: string) => () => lines.some((line) => line.includes(text));
  await until('recording has failed', isLogged('could not record webhook attempts; the deliveries will be sent again'));
  shop.clock.skip(LEASE_OVER_MS);
  dispatcher.wake();
  await until('the next claim meets the lock and waits', isLogged('webhook delivery failed; retrying'));
  for (const lock of locks) lock.release();
  await until('it is recorded', async () => (await shop.only()).state === 'delivered');
  assert.is(server.received.length, 2);
  assert.is(server.received[0]?.body, server.received[1]?.body);
  await dispatcher.stop();
  database.close();
});

test('a stop lets deliveries under way finish and be recorded, and leaves what waited to the next dispatcher at once', async (shop) => {
  const answers: (() => void)[] = [];
  let isOpen = false;
  const server = await merchantServer((response, _, earlier) => {
    const answer = () => void response.writeHead(200).end();
    // One quick answer has several rounds leased ahead.
    if (isOpen || earlier === 0) answer();
    else answers.push(answer);
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  for (let count = 0; count < 12; count++) await shop.cancelOne();
  const dispatcher = shop.dispatch();
  await until('as many are under way as may be', () => answers.length === 4);
  const stopped = dispatcher.stop();
  for (const answer of answers) answer();
  await stopped;
  const states = (await shop.deliveries()).map(({ state }) => state);
  assert.is(states.filter((state) => state === 'delivered').length, 5);
  assert.is(server.received.length, 5);
  isOpen = true;
  shop.dispatch({ holder: 'webhooks of another machine' });
  await until('the rest has arrived', () => server.received.length === 12);
});

test('a stop does not wait for a receiver that hangs; its event is sent after the lease', async (shop) => {
  const server = await merchantServer((response, _, earlier) => {
    if (earlier > 0) response.writeHead(200).end();
  });
  await shop.addEndpoint(`${server.origin}/hook`);
  await shop.cancelOne();
  const dispatcher = shop.dispatch({}, { timeoutMs: 300_000 });
  await until('it is under way', () => server.received.length === 1);
  await dispatcher.stop();
  assert.equal((await shop.only()).log, []);
  shop.clock.skip(300_000 + LEASE_OVER_MS);
  shop.dispatch();
  await until('it is delivered', async () => (await shop.only()).state === 'delivered');
  assert.is(server.received.length, 2);
});

test('an endpoint that is removed while its event is under way gets no more, and the dispatcher continues', async (shop) => {
  const answers: (() => void)[] = [];
  const server = await merchantServer((response, { path }) => {
    const answer = () => void response.writeHead(500).end();
    if (path === '/removed') answers.push(answer);
    else response.writeHead(200).end();
  });
  const endpoint = await shop.addEndpoint(`${server.origin}/removed`);
  await shop.cancelOne();
  const dispatcher = shop.dispatch();
  await until('it is under way', () => answers.length === 1);
  await shop.database.endpoints.remove(endpoint);
  for (const answer of answers) answer();
  const attempts = async () => shop.database.deliveries.attempts((await shop.deliveries()).at(-1)?.id ?? '');
  await until('the attempt is recorded', async () => (await attempts()).length === 1);
  await shop.addEndpoint(`${server.origin}/kept`);
  await shop.cancelOne();
  shop.clock.skip(3_600_000);
  dispatcher.wake();
  await until('the other endpoint has its event', () => server.on('/kept').length === 1);
  assert.is(server.on('/removed').length, 1);
});

test.run();
