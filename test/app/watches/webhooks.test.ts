/** Alarms about webhooks: disabled, failing for an hour, failed for good, not sent; each ends with its cause. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchWebhooks } from '../../../src/app/watches/webhooks.ts';
import type { DeliveryVerdict } from '../../../src/database/attempts.ts';
import { recordAttempt } from '../../support/record-attempt.ts';
import { CALM_MS, watched } from '../../support/watched.ts';
import { inShop, type WebhookShop } from '../../support/webhook-shop.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function answer({ database, clock }: WebhookShop, status: number, verdict: DeliveryVerdict): Promise<void> {
  const claimed = await database.sending.claim({ nowMs: clock.nowMs(), leaseMs: 1_000, limit: 9, perEndpointMax: 9 });
  assert.is(claimed.length, 1);
  for (const { id: deliveryId, attempt, trigger } of claimed) {
    const went = { startedAtMs: clock.nowMs(), durationMs: 1, status, error: null, responseExcerpt: null };
    await recordAttempt(database, { deliveryId, attempt, trigger, ...went }, verdict);
  }
}
const bench = (shop: WebhookShop) =>
  watched(watchWebhooks(shop.database), shop.database, { nowMs: shop.clock.nowMs, advance: shop.clock.skip });

test(
  'an endpoint that accepts nothing for an hour is one alarm, which ends with a success',
  inShop(async (shop) => {
    const { look, after, open } = bench(shop);
    const endpoint = await shop.addEndpoint('https://shop.example/hook');
    assert.equal(await look(), []);
    await shop.cancelOne();
    await answer(shop, 503, { kind: 'retry', atMs: shop.clock.nowMs() + 2 * HOUR_MS });
    assert.equal(await after(HOUR_MS - MINUTE_MS), []);
    assert.equal(await after(MINUTE_MS), ['webhook_failing']);
    const [alarm] = await open();
    assert.is(alarm?.key, `endpoint:${endpoint}`);
    assert.match(alarm?.message ?? '', /has accepted nothing since .* UTC.*`quayside show/);
    shop.clock.skip(HOUR_MS);
    await answer(shop, 200, { kind: 'delivered' });
    await look();
    assert.equal(await after(CALM_MS), []);
  }),
);

test(
  'a disabled endpoint is an alarm until it is enabled or removed',
  inShop(async (shop) => {
    const { look, after } = bench(shop);
    for (const end of ['enable', 'remove']) {
      const endpoint = await shop.addEndpoint(`https://shop.example/${end}`);
      await shop.database.endpoints.enable(endpoint, false, 'it answers 410', shop.clock.nowMs());
      assert.equal(await look(), ['webhook_off']);
      if (end === 'enable') await shop.database.endpoints.enable(endpoint, true, null, shop.clock.nowMs());
      else await shop.database.endpoints.remove(endpoint);
      await look();
      assert.equal(await after(CALM_MS), []);
    }
  }),
);

test(
  'deliveries that failed for good are reported for a day; those of a removed endpoint are not',
  inShop(async (shop) => {
    const { look, after, open } = bench(shop);
    const endpoint = await shop.addEndpoint('https://shop.example/hook');
    await shop.cancelOne();
    await answer(shop, 400, { kind: 'failed' });
    assert.equal(await look(), ['webhooks_failed']);
    assert.match((await open())[0]?.message ?? '', /failed for good \(1\).*`quayside webhook resend --since 1d`/);
    await shop.database.endpoints.remove(endpoint);
    await shop.addEndpoint('https://shop.example/other');
    await after(24 * HOUR_MS);
    assert.equal(await after(CALM_MS), []);
    await shop.cancelOne();
    for (const { id } of await shop.database.endpoints.list(null)) await shop.database.endpoints.remove(id);
    assert.equal(await look(), [], 'what waited for it is no failure');
  }),
);

test(
  'due deliveries that nothing sends are an alarm after five minutes',
  inShop(async (shop) => {
    const { look, after } = bench(shop);
    await shop.addEndpoint('https://shop.example/hook');
    await shop.cancelOne();
    assert.equal(await look(), []);
    assert.equal(await after(4 * MINUTE_MS), []);
    assert.equal(await after(MINUTE_MS), ['webhooks_delayed']);
    await answer(shop, 200, { kind: 'delivered' });
    await look();
    assert.equal(await after(CALM_MS), []);
  }),
);

test(
  'hosts that sessions name and that accept nothing for an hour are an alarm each, at most ten, until they accept',
  inShop(async (shop) => {
    const { look, after, open } = bench(shop);
    for (let n = 0; n < 14; n++) {
      for (const path of ['a', 'b']) await shop.cancelOne(`https://host${n}.example/${path}`);
      shop.clock.skip(1_000);
    }
    assert.equal(await look(), []);
    await after(HOUR_MS - MINUTE_MS);
    assert.equal(await open(), [], 'retries go on');
    await after(MINUTE_MS);
    const alarms = await open();
    assert.equal([...new Set(alarms.map(({ code }) => code))], ['webhooks_delayed']);
    assert.is(alarms.length, 11);
    assert.match(
      alarms[0]?.message ?? '',
      /host0\.example wait: it has accepted nothing since .* `quayside webhook list/,
    );
    assert.equal(alarms.at(-1)?.key, 'sending:+');
    for (let n = 0; n < 10; n++) {
      const claimed = await shop.database.sending.claim({
        nowMs: shop.clock.nowMs(),
        leaseMs: 1_000,
        limit: 99,
        perEndpointMax: 9,
      });
      for (const { id: deliveryId, attempt, trigger } of claimed) {
        const went = {
          startedAtMs: shop.clock.nowMs(),
          durationMs: 1,
          status: 200,
          error: null,
          responseExcerpt: null,
        };
        await recordAttempt(shop.database, { deliveryId, attempt, trigger, ...went }, { kind: 'delivered' });
      }
    }
    await look();
    assert.equal(await after(CALM_MS), []);
  }),
);

test.run();
