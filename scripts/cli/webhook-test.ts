/**
 * Sends one signed test event to an endpoint, now, and shows its answer.
 * @module
 */

import { randomUUID } from 'node:crypto';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { testEventBody } from '../../src/core/event.ts';
import { toSeconds } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { createSender, type Sent } from '../../src/webhooks/sender.ts';
import { type Command, notFound } from './command.ts';

const EVENT_TYPE = 'webhook.test';
/** How much of an answer is shown. */
const ANSWER_CHARACTERS_MAX = 500;

export const webhooksTest: Command = {
  name: 'webhooks test',
  args: ['endpoint'],
  summary: 'Send a signed test event to an endpoint now, and show its answer.',
  options: {},
  notes: [
    `The event has the type \`${EVENT_TYPE}\`, the mode of the endpoint and no payment. It is sent once, also to an`,
    'endpoint that is disabled, and is not kept. The exit code is 1 unless the answer is 2xx.',
  ],
  async run(input, { config, database, clock }) {
    const id = input.args[0] ?? '';
    const endpoint = (await database.listEndpoints(null)).find((one) => one.id === id);
    const secrets = endpoint && (await database.findWebhookSecret(id, endpoint.mode));
    if (!endpoint || !secrets) throw notFound(`there is no endpoint ${id}; \`quayside webhooks list\` shows all`);
    const { url, mode } = endpoint;
    const startedAtMs = clock.nowMs();
    const eventId = `evt_${BigInt(startedAtMs) * 1_000_000n}`;
    const body = testEventBody({ id: eventId, type: EVENT_TYPE, createdAtS: toSeconds(startedAtMs), mode });
    const stamp = { timestampS: toSeconds(startedAtMs), nonce: randomUUID() };
    const { secret, nextSecret } = secrets;
    const signed = { secret, nextSecret, mode, eventId, eventType: EVENT_TYPE, body, ...stamp };
    const sender = createSender(createUrlGuard(config.webhooks.allowCidrs), config.webhooks, clock);
    const sent = await sender.send({ url, mode, headers: () => webhookHeaders(signed), body });
    sender.abort();
    const durationMs = clock.nowMs() - startedAtMs;
    const { status, error } = resultOf(sent);
    const isDelivered = status !== null && status >= 200 && status < 300;
    const answer = sent?.excerpt?.slice(0, ANSWER_CHARACTERS_MAX) ?? null;
    return {
      json: {
        endpoint: id,
        url,
        mode,
        event: eventId,
        delivered: isDelivered,
        status,
        error,
        duration_ms: durationMs,
        answer,
      },
      lines: [
        `${url} (${mode} mode) ${status === null ? `gave no answer: ${error}` : `answered ${status}`} after ${durationMs} ms`,
        ...(sent?.detail ? [sent.detail] : []),
        ...(answer === null ? [] : [`answer: ${answer}`]),
        isDelivered ? 'delivered' : 'not delivered: an event is delivered when the answer is 2xx',
      ],
      isBad: !isDelivered,
    };
  },
};

const resultOf = (sent: Sent | null): Readonly<{ status: number | null; error: string | null }> => {
  if (sent === null) return { status: null, error: 'stopped' };
  const { outcome } = sent;
  return outcome.kind === 'answered' ? { status: outcome.status, error: null } : { status: null, error: outcome.error };
};
