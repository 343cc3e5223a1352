/** Requests while another process writes to the database: what only reads is answered, what writes waits its turn. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { closing } from '../support/closing.ts';
import { startLockHolder } from '../support/lock.ts';
import { exchange } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const SESSIONS = '/api/v1/checkout/sessions';

let orders = 0;
const order = () => ({ order_id: `busy-${++orders}`, amount: 1000, currency: 'USD' });
const idOf = (answer: { json: unknown }) => (answer.json as { id: string }).id;

/** A server, and a process that can hold its database's write lock. */
async function openBeside(busyTimeoutMs = 60_000) {
  const api = closing(await startApi({ busyTimeoutMs, pages: true }));
  await api.follow();
  const other = await startLockHolder(api.file);
  closing({ close: () => other.kill() });
  return { api, other };
}

test('while another process holds the write lock, sessions and pages are read; what is created waits and then succeeds', async () => {
  const { api, other } = await openBeside();
  const id = idOf(await api.send('POST', CREATE, order()));
  await other.tell('hold');
  let isCreated = false;
  const creating = api.send('POST', CREATE, order()).then((answer) => {
    isCreated = true;
    return answer;
  });
  for (let n = 0; n < 5; n++) {
    assert.is((await api.send('GET', `${SESSIONS}/${id}`)).status, 200);
    assert.is((await exchange('GET', `${api.baseUrl}/livez`)).status, 200);
  }
  assert.is((await exchange('GET', `${api.baseUrl}/pay/${id}`)).status, 200);
  assert.not(isCreated);
  await other.tell('release');
  assert.is((await creating).status, 200);
});

test('a nonce is single-use even while it cannot be saved, and afterwards', async () => {
  const { api, other } = await openBeside();
  const id = idOf(await api.send('POST', CREATE, order()));
  const read = (nonce: string) => api.send('GET', `${SESSIONS}/${id}`, '', { nonce });
  assert.is((await read('nonce-before')).status, 200);
  await other.tell('hold');
  expectError(await read('nonce-before'), { status: 401, code: 'nonce_reused', param: null });
  assert.is((await read('nonce-meanwhile')).status, 200);
  expectError(await read('nonce-meanwhile'), { status: 401, code: 'nonce_reused', param: null });
  await other.tell('release');
  expectError(await read('nonce-meanwhile'), { status: 401, code: 'nonce_reused', param: null });
  // This write comes after the nonce's: it is on the disk now.
  await api.send('POST', CREATE, order());
  api.reopenDatabase();
  expectError(await read('nonce-meanwhile'), { status: 401, code: 'nonce_reused', param: null });
});

test('at the deadline a request is refused with 503 and Retry-After, and nothing is created later', async () => {
  const { api, other } = await openBeside(200);
  await other.tell('hold');
  const body = order();
  const refused = await api.send('POST', CREATE, body);
  expectError(refused, { status: 503, code: 'storage_unavailable', param: null });
  assert.is(refused.headers['retry-after'], '1');
  assert.not.match(refused.text, /sqlite|quayside\.db|SELECT|INSERT/i);
  const ready = await exchange('GET', `${api.baseUrl}/readyz`);
  const { reasons } = ready.json as { reasons: string[] };
  assert.equal({ status: ready.status, reasons }, { status: 503, reasons: ['storage_unavailable'] });
  await other.tell('release');
  const created = await api.send('POST', CREATE, body);
  assert.is(created.status, 200);
  assert.is(created.headers['idempotent-replayed'], undefined, 'the refused request had created nothing');
});

test('a server that stops answers what waits first', async () => {
  const api = await startApi({ busyTimeoutMs: 60_000 });
  const other = await startLockHolder(api.file);
  const known = idOf(await api.send('POST', CREATE, order()));
  await other.tell('hold');
  const creating = api.send('POST', CREATE, order());
  // It was answered after the other request came in.
  await api.send('GET', `${SESSIONS}/${known}`);
  const stopping = api.close(60_000);
  await other.tell('release');
  assert.is((await creating).status, 200);
  await stopping;
  await other.kill();
});

test.run();
