/**
 * Formats of endpoints: the request that an endpoint gets, and the answers that count as accepted. Doors have their own
 * formats.
 */
import { randomUUID } from 'node:crypto';
import { judge, type Outcome, type Verdict, webhookHeaders } from '../core/delivery.ts';
import type { DoorDialect } from '../core/door.ts';
import type { ClaimedDelivery } from '../database/sending.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import type { Post } from '../lib/sender.ts';

/** The limits of each attempt, in every installation. */
export const attemptLimits = { timeoutMs: 30_000, responseBytesMax: 65_536 } as const;

export type Format = Readonly<{
  request(delivery: ClaimedDelivery, clock: Clock): Post;
  /** Interprets an answer, without regard to the rest of the schedule. */
  judge(outcome: Outcome, excerpt: string | null): Verdict['kind'];
  /** The waits after all attempts but the last. */
  retryDelaysS: readonly number[];
}>;

export type DoorFormats = Readonly<Record<DoorDialect, Format>>;

/** Quayside's own webhooks: a signed POST, accepted by 2xx. */
export const webhookFormat = (retryDelaysS: readonly number[]): Format => ({
  request({ url, mode, secret, nextSecret, eventId, eventType, body }, clock) {
    const signed = { secret, nextSecret, mode, eventId, eventType, body };
    const headers = () => webhookHeaders({ ...signed, timestampS: toSeconds(clock.nowMs()), nonce: randomUUID() });
    return { url, mode, headers, body };
  },
  judge,
  retryDelaysS,
});
