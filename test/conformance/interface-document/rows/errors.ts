/** The error body, limits and versioning. */
import * as assert from 'uvu/assert';
import { has } from '../../../support/fields.ts';
import { RETRY_DELAYS_S } from '../installation.ts';
import { create, order, refundedTwice, SESSIONS } from '../journeys.ts';
import { row, section } from '../row.ts';
import { accepted, nowS, refused } from '../shop.ts';
import { slow, TIMEOUT_S } from './events.ts';

export const errorSections = [
  section(
    'Error response body',
    row(
      [
        'error.type: string, for example invalid_request_error; error.code: string; error.message: string',
        'error.param: name of the offending parameter; error.doc_url: link to the error documentation',
        'request_id: string; timestamp: number, Unix seconds',
      ],
      async (shop) => {
        const { body } = await shop.call('POST', `${SESSIONS}/create`, order(shop, { amount: 'much' }));
        const { error, request_id, timestamp } = body;
        has(error, { type: 'invalid_request_error', param: 'amount' });
        assert.ok(error.message.length > 10);
        const page = await fetch(error.doc_url);
        assert.is(page.status, 200);
        assert.ok((await page.text()).includes(error.code));
        assert.type(request_id, 'string');
        assert.ok(Number.isInteger(timestamp) && Math.abs(timestamp - nowS()) < 3600);
      },
    ),
  ),
  section(
    'Limits',
    row('Refund count per session: several allowed', async (shop) => {
      const { parts } = await refundedTwice(shop);
      assert.is(new Set(parts.map(({ completed }) => completed.receipt_number)).size, 2);
    }),
    row(
      ['A session expires after 30 minutes by default', 'expires_in (seconds, 60 to 3600) overrides this'],
      async (shop) => {
        const [usual, short] = await Promise.all([create(shop), create(shop, { expires_in: 61 })]);
        assert.equal(
          [usual, short].map(({ created, expires_at }) => expires_at - created),
          [1800, 61],
        );
      },
    ),
    row('Webhook timeout: 30 seconds', async (shop) => {
      assert.ok((await slow(shop)).openMs >= TIMEOUT_S * 1000);
    }),
    row('Webhook retries: at most 10', (shop) => {
      assert.is(shop.installation.shipped().webhooks.retry_delays_s.length, 10);
      assert.is(RETRY_DELAYS_S.length, 10);
    }),
  ),
  section(
    'Versioning',
    row('The path prefix /api/v1 carries the major version of the interface', async (shop) => {
      refused(await shop.call('GET', `/api/v2/checkout/sessions/${(await create(shop)).id}`), 404);
    }),
    row('a version header named after the service (Service-Version) with a date-form value', async (shop) => {
      const { id } = await create(shop);
      const plain = accepted(await shop.call('GET', `${SESSIONS}/${id}`));
      const bend = { headers: { 'Service-Version': '2025-01-01' } };
      assert.equal(accepted(await shop.call('GET', `${SESSIONS}/${id}`, '', bend)), plain);
    }),
  ),
];
