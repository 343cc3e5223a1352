/** `webhook resend` and `show`, on deliveries that a real dispatcher could not make. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commandOf } from '../../scripts/cli/act-command.ts';
import type { Command } from '../../scripts/cli/command.ts';
import { show } from '../../scripts/cli/show.ts';
import { resendWebhooks } from '../../src/acts/webhooks.ts';
import type { Config } from '../../src/config/config.ts';
import type { Verdict } from '../../src/core/delivery.ts';
import { type Attempt, RESEND_PACE_MS } from '../../src/database/events.ts';
import { answerDue } from '../support/record-attempt.ts';
import { inShop, type WebhookShop } from '../support/webhook-shop.ts';

const HOUR_MS = 3_600_000;
const webhooksResend = commandOf(resendWebhooks);

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they use
type Ran = { json: any; text: string; isBad: boolean };
async function run({ database, clock }: WebhookShop, command: Command, args: string[], options = {}): Promise<Ran> {
  const config = {
    baseUrl: 'http://localhost:8420',
    checkoutUrl: 'http://localhost:8420',
    networks: [],
    webhooks: { allowCidrs: [] },
    dataDir: '.',
  } as unknown as Config;
  const installation = { database, clock, config };
  const act = { atMs: clock.nowMs(), operator: 'test', command: command.name, reason: null };
  const input = { args, options, env: {}, cwd: '.', act, progress: { show() {}, end() {} } };
  const answer = await command.run(input, installation);
  return { json: answer.json, text: answer.lines.join('\n'), isBad: answer.isBad ?? answer.code === 1 };
}

/** Records an answer to everything that is due. */
const answer = ({ database, clock }: WebhookShop, verdict: Verdict, went: Partial<Attempt>) =>
  answerDue(database, clock.nowMs(), went, verdict);
const delivered = (shop: WebhookShop) => answer(shop, { kind: 'delivered' }, { status: 200 });
const failed = (shop: WebhookShop) => answer(shop, { kind: 'failed' }, { status: 400 });
const later = (shop: WebhookShop) =>
  answer(shop, { kind: 'retry', atMs: shop.clock.nowMs() + HOUR_MS }, { status: 503 });
const statesOf = async (shop: WebhookShop) => (await shop.deliveries()).map(({ state }) => state).sort();

test(
  'a recovery sends what failed and what waits after a failure, in order and paced, and nothing else',
  inShop(async (shop) => {
    const endpoint = await shop.addEndpoint('https://shop.example/a');
    await shop.cancelOne();
    await failed(shop);
    shop.clock.skip(2 * HOUR_MS);
    await shop.cancelOne();
    await delivered(shop);
    const sessions: string[] = [];
    for (let n = 0; n < 3; n++) sessions.push(await shop.cancelOne());
    await failed(shop);
    sessions.push(await shop.cancelOne());
    await later(shop);
    const before = await shop.deliveries();
    const dry = await run(shop, webhooksResend, [endpoint], { since: '1h', dryRun: true });
    assert.match(dry.text, /Send 4 deliveries again\?[\s\S]*Nothing was changed/);
    assert.equal(await shop.deliveries(), before);

    assert.is((await run(shop, webhooksResend, [endpoint], { since: '1h' })).json.deliveries, 4);
    const due = (await shop.deliveries()).filter(({ state }) => state === 'waiting').reverse();
    assert.equal(
      due.map(({ sessionId }) => sessionId),
      sessions,
    );
    const first = due[0]?.dueAtMs ?? 0;
    assert.equal(
      due.map(({ dueAtMs }) => (dueAtMs ?? 0) - first),
      [0, 1, 2, 3].map((n) => n * RESEND_PACE_MS),
    );
    shop.clock.skip(3 * RESEND_PACE_MS);
    const sent = await delivered(shop);
    assert.equal(sent.map(({ sessionId }) => sessionId).sort(), [...sessions].sort());
    assert.equal(await statesOf(shop), ['delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'failed']);
    assert.is((await run(shop, webhooksResend, [], { since: '1d' })).json.deliveries, 1, 'of every endpoint');
  }),
);

test(
  'what is unknown, and a time in the future, are refused',
  inShop(async (shop) => {
    for (const [command, args, options] of [
      [webhooksResend, ['dlv_1'], {}],
      [show, ['evt_1'], {}],
      [show, ['we_1'], {}],
      [webhooksResend, ['we_1'], { since: '1h' }],
      [webhooksResend, [], {}],
      [webhooksResend, [], { since: '2999-01-01' }],
      [webhooksResend, [], { since: 'yesterday' }],
    ] as const) {
      const refused = await run(shop, command, [...args], options).then(
        () => null,
        (error) => error,
      );
      assert.ok(refused, `${command.name} ${args} ${JSON.stringify(options)}`);
    }
  }),
);

test.run();
