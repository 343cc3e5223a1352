/** Leases deliveries and records attempts, as the dispatcher does. */
import type { Verdict } from '../../src/core/delivery.ts';
import type { Database } from '../../src/database/database.ts';
import type { Attempt } from '../../src/database/events.ts';
import type { ClaimedDelivery } from '../../src/database/sending.ts';

type Sends = Database;

export const LEASE_MS = 60_000;
export const SENDER = 'webhooks of a test';

/** Leases what is due, without limits unless some are given. */
export const claimDue = (
  { deliveries }: Sends,
  nowMs: number,
  limits: Readonly<{ limit?: number; perEndpoint?: number }> = {},
): Promise<readonly ClaimedDelivery[]> => {
  const { limit = 100, perEndpoint = limit } = limits;
  return deliveries.claim({
    holder: SENDER,
    nowMs,
    leaseMs: LEASE_MS,
    limit,
    unprovenMax: limit,
    places: () => perEndpoint,
  });
};

/** Records one attempt at a claimed delivery. */
export const recordAttempt = (
  { deliveries }: Sends,
  { id: deliveryId, endpointId, leaseUntilMs, attempt: number }: ClaimedDelivery,
  attempt: Partial<Attempt> & Pick<Attempt, 'startedAtMs'>,
  verdict: Verdict,
): Promise<void> => {
  const plain = { deliveryId, attempt: number, durationMs: 7, status: null, error: null, responseExcerpt: null };
  return deliveries.record([{ endpointId, leaseUntilMs, attempt: { ...plain, ...attempt }, verdict }]);
};

/** Answers everything that is due, until nothing is. @returns what was sent */
export async function answerDue(
  database: Sends,
  nowMs: number,
  attempt: Partial<Attempt>,
  verdict: Verdict,
): Promise<ClaimedDelivery[]> {
  const sent: ClaimedDelivery[] = [];
  for (;;) {
    const claimed = await claimDue(database, nowMs);
    if (claimed.length === 0) return sent;
    for (const one of claimed) await recordAttempt(database, one, { startedAtMs: nowMs, ...attempt }, verdict);
    sent.push(...claimed);
  }
}

/** Takes everything that is due, and answers 200. */
export const deliverDue = (database: Sends, nowMs: number): Promise<ClaimedDelivery[]> =>
  answerDue(database, nowMs, { status: 200 }, { kind: 'delivered' });
