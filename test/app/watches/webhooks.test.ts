/** Alarms about webhooks: disabled, failing for an hour, failed for good, not sent; each ends with its cause. */
import * as assert from 'uvu/assert';
import { watchWebhooks } from '../../../src/app/watches/webhooks.ts';
import type { Verdict } from '../../../src/core/delivery.ts';
import { answerDue } from '../../support/record-attempt.ts';
import { testsIn } from '../../support/tests-in.ts';
import { CALM_MS, watched } from '../../support/watched.ts';
import { inShop, type WebhookShop } from '../../support/webhook-shop.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

async function answer({ database, clock }: WebhookShop, status: number, verdict: Verdict): Promise<void> {
  assert.is((await answerDue(database, clock.nowMs(), { status }, verdict)).length, 1);
}
const bench = (shop: WebhookShop) =>
  watched(watchWebhooks(shop.database.deliveries), shop.database, {
    nowMs: shop.clock.nowMs,
    advance: shop.clock.skip,
  });

const test = testsIn(inShop);

test('an endpoint that accepts nothing for an hour is one alarm, which ends with a success', async (shop) => {
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
});

test('a disabled endpoint is an alarm until it is enabled or removed', async (shop) => {
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
});

test('deliveries that failed for good are reported for a day; those of a removed endpoint are not', async (shop) => {
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
});

test('due deliveries that nothing sends are an alarm after five minutes', async (shop) => {
  const { look, after } = bench(shop);
  await shop.addEndpoint('https://shop.example/hook');
  await shop.cancelOne();
  assert.equal(await look(), []);
  assert.equal(await after(4 * MINUTE_MS), []);
  assert.equal(await after(MINUTE_MS), ['webhooks_delayed']);
  await answer(shop, 200, { kind: 'delivered' });
  await look();
  assert.equal(await after(CALM_MS), []);
});

test.run();
