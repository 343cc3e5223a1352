/**
 * A signed test event, sent once and not kept.
 */
import { randomUUID } from 'node:crypto';
import { type TestAnswer, webhookHeaders } from '../core/delivery.ts';
import { testEventBody } from '../core/event.ts';
import type { Database } from '../database/database.ts';
import type { Endpoint } from '../database/endpoints.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import type { Sender } from '../lib/sender.ts';

const TEST_EVENT_TYPE = 'webhook.test';
/** Most characters of an answer that are shown. */
const ANSWER_CHARACTERS_MAX = 500;

/** Sends a test event to an endpoint now, even to a disabled one. @returns null if it no longer has a secret */
export async function sendTestEvent(
  { database, sender, clock }: Readonly<{ database: Database; sender: Sender; clock: Clock }>,
  { id, url, mode }: Pick<Endpoint, 'id' | 'url' | 'mode'>,
): Promise<TestAnswer | null> {
  const secrets = await database.endpoints.findSecret(id, mode);
  if (!secrets) return null;
  const startedAtMs = clock.nowMs();
  const eventId = `evt_${BigInt(startedAtMs) * 1_000_000n}`;
  const body = testEventBody({ id: eventId, type: TEST_EVENT_TYPE, createdAtS: toSeconds(startedAtMs), mode });
  const stamp = { timestampS: toSeconds(startedAtMs), nonce: randomUUID() };
  const { secret, nextSecret } = secrets;
  const signed = { secret, nextSecret, mode, eventId, eventType: TEST_EVENT_TYPE, body, ...stamp };
  const sent = await sender.send({ url, mode, headers: () => webhookHeaders(signed), body });
  const status = sent?.outcome.kind === 'answered' ? sent.outcome.status : null;
  const failed = sent?.outcome.kind === 'answered' ? null : (sent?.outcome.error ?? 'stopped');
  return {
    eventId,
    status,
    error: failed,
    detail: sent?.detail ?? null,
    answer: sent?.excerpt?.slice(0, ANSWER_CHARACTERS_MAX) ?? null,
    durationMs: clock.nowMs() - startedAtMs,
    isDelivered: status !== null && status >= 200 && status < 300,
  };
}
