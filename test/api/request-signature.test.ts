/** The second signature of a request, which covers method, path and query: checked if sent, and required if set. */
import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, withApi } from '../support/api-server.ts';
import type { Bend } from '../support/signed-client.ts';
import { expectError } from './expect-error.ts';

const CREATE = '/api/v1/checkout/sessions/create';
const HEADER = 'X-Service-Request-Signature';
const body = JSON.stringify({ amount: 100, currency: 'USD', order_id: 'a' });

/** Written from the reference: each part is followed by a line feed, then comes the body. */
const signed = (secret: string, parts: readonly string[], text: string): string =>
  createHmac('sha256', secret)
    .update(parts.map((part) => `${part}\n`).join('') + text)
    .digest('hex');

let sent = 0;
/** What a client sends for this method, path and body. */
function bendFor(api: ApiServer, method: string, target: string, text = ''): Bend {
  const [timestamp, nonce] = [String(Math.floor(api.clock.nowMs() / 1000)), `nonce-number-${sent++}`];
  const value = signed(api.testKey.apiSecret, [timestamp, nonce, method, target], text);
  return { timestamp, nonce, headers: { [HEADER]: value } };
}
const wrong = { status: 401, code: 'invalid_signature', param: HEADER } as const;

test('a request may carry it, and then it must fit method, path, query and body', () =>
  withApi({}, async (api) => {
    assert.is((await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, body))).status, 200);
    assert.is((await api.send('POST', CREATE, body)).status, 200, 'clients of the document send none');
    const id = (await api.send('POST', CREATE, body)).text.match(/cs_[0-9a-z]+/)?.[0];
    const read = `/api/v1/checkout/sessions/${id}`;
    assert.is((await api.send('GET', `${read}?a=1`, '', bendFor(api, 'GET', `${read}?a=1`))).status, 200);
    for (const [method, target] of [
      ['POST', read],
      ['GET', `${read}?a=2`],
      ['GET', read],
      ['GET', CREATE],
    ] as const) {
      expectError(await api.send('GET', `${read}?a=1`, '', bendFor(api, method, target)), wrong, `${method} ${target}`);
    }
    expectError(await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, `${body} `)), wrong);
    expectError(await api.send('POST', CREATE, body, { headers: { [HEADER]: '' } }), wrong);
  }));

test('a signed read cannot be sent again as a cancel of the session', () =>
  withApi({ requestSignature: 'required' }, async (api) => {
    const create = await api.send('POST', CREATE, body, bendFor(api, 'POST', CREATE, body));
    const read = `/api/v1/checkout/sessions/${create.text.match(/cs_[0-9a-z]+/)?.[0]}`;
    const overheard = bendFor(api, 'GET', read);
    expectError(await api.send('POST', `${read}/cancel`, '', overheard), wrong);
    const bare = { ...overheard, headers: { [HEADER]: null } };
    expectError(await api.send('POST', `${read}/cancel`, '', bare), {
      status: 401,
      code: 'missing_header',
      param: HEADER,
    });
    // The attempts used up no nonce.
    const answer = await api.send('GET', read, '', overheard);
    assert.is(answer.status, 200);
    assert.match(answer.text, '"pending"');
  }));

test.run();
