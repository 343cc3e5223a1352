/** What strangers send to the payer's pages: odd URLs, odd forms, many requests from one subscriber. */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, startApi } from '../support/api-server.ts';
import { openSale } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';

const FORM = 'application/x-www-form-urlencoded';
const NO_REFUND = `/refund/${'0'.repeat(32)}`;

const test = suite<{ api: ApiServer }>('requests to pages');
test.before(async (world) => {
  world.api = await startApi({ pages: true });
});
test.after(({ api }) => api.close());

/** Sends a request with an absolute target, as to a proxy. @returns the status */
function askWhole(api: ApiServer, target: string): Promise<number> {
  const { hostname, port } = new URL(api.baseUrl);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: target }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', reject).end();
  });
}

test('a target that is not a URL is answered, and its path is not logged', async ({ api }) => {
  const { path } = await openSale(api);
  assert.is(await askWhole(api, `http://999.999.999.999${path}?lang=tr`), 200);
  assert.is(await askWhole(api, `http://a:999999${NO_REFUND}`), 404);
  assert.not.match(api.logged(), 'request failed');
  assert.not.match(api.logged(), NO_REFUND);
});

test('an unreadable form is the sender’s error and raises no alarm', async ({ api }) => {
  const { path } = await openSale(api);
  const post = async (type: string, body: string, more: Record<string, string> = {}) =>
    (await exchange('POST', `${api.baseUrl}${path}/look-up`, { 'Content-Type': type, ...more }, body)).status;
  assert.is(await post(`${FORM}; charset=utf-16`, 'transaction=x'), 400);
  assert.is(await post(FORM, 'not compressed', { 'Content-Encoding': 'gzip' }), 400);
  assert.is(await post(FORM, 'a&'.repeat(1500)), 303);
  assert.is(await post(FORM, `transaction=${'a'.repeat(9000)}`), 413);
  assert.is(await post('application/json', '{}'), 303);
  assert.not.match(api.logged(), 'request failed');
});

test('an IPv6 subscriber is one caller, whichever address is used', async ({ api }) => {
  const tryFrom = async (address: string) =>
    (await exchange('POST', `${api.baseUrl}${NO_REFUND}`, { 'Content-Type': FORM, 'X-Forwarded-For': address })).status;
  const statuses = [];
  for (let at = 1; at <= 31; at++) statuses.push(await tryFrom(`2001:db8:0:1::${at}`));
  assert.equal(statuses, [...Array(30).fill(404), 429]);
  assert.is(await tryFrom('2001:db8:0:2::1'), 404);
});

test.run();
