/**
 * The events of a session and their way to the merchant's endpoints.
 * @module
 */
import { isExtended } from '../../src/core/event.ts';
import type { Delivery, Session } from '../../src/database/database.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import type { StoredEvent } from '../../src/database/events.ts';
import { isSenderSilent } from '../../src/database/sender-report.ts';
import { TRACED_MAX } from '../../src/database/traces.ts';
import { type Link, link } from './explain-link.ts';
import { at, type Scene } from './explain-scene.ts';
import { wrongWith } from './webhook-recovery.ts';

/** A delivery that was due for this long without an attempt is late. */
const LATE_MS = 60_000;

/** Returns a link for each event of a session. */
export async function eventLinks(scene: Scene, session: Session): Promise<Link[]> {
  const { database } = scene;
  const events = await database.eventsOfSession(session.id);
  if (events.length === 0) return [];
  const deliveries = await database.listDeliveries({ sessionId: session.id, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await database.listEndpoints(session.storeId)).map((one) => [one.id, one]));
  const links: Link[] = [];
  for (const event of events) {
    const own = deliveries.filter(({ eventId }) => eventId === event.id);
    const sent = await Promise.all(own.map((one) => deliveryLink(scene, one, endpoints.get(one.endpointId) ?? null)));
    const text = `${event.type} ${event.id}, ${at(event.createdAtMs)}`;
    links.push(link('event', 'ok', text, null, own.length > 0 ? sent : [noDelivery(event, [...endpoints.values()])]));
  }
  return links;
}

function noDelivery({ type, mode, storeId, createdAtMs }: StoredEvent, endpoints: readonly Endpoint[]): Link {
  const own = endpoints.filter((one) => one.mode === mode && !one.perSession);
  if (isExtended(type)) {
    return link('delivery', 'note', 'no endpoint asked for this event (`--events` of `quayside webhooks add`)');
  }
  const later = own.some((one) => one.createdAtMs > createdAtMs);
  return link(
    'delivery',
    'broken',
    later
      ? 'there was no endpoint when it happened; one was added later'
      : `store ${storeId} has no endpoint in ${mode} mode, so nobody was told`,
    `${later ? '' : `add one: \`quayside webhooks add <url> --store ${storeId} --mode ${mode}\`. `}This event can be read from the API (GET /api/v1/events)`,
  );
}

async function deliveryLink(scene: Scene, delivery: Delivery, endpoint: Endpoint | null): Promise<Link> {
  const { id, state, attempts, nextAttemptAtMs, lastStatus, endpointId } = delivery;
  const where = endpoint?.url ?? `${endpointId}, which was removed`;
  if (state === 'delivered')
    return link('delivery', 'ok', `to ${where}: delivered${lastStatus ? ` (${lastStatus})` : ''}`);
  const last = (await scene.database.listAttempts(id)).at(-1);
  const wrong = last ? wrongWith(last) : null;
  const verdict = wrong === null ? '' : `: ${wrong}`;
  const tried = `${attempts} attempt${attempts === 1 ? '' : 's'}`;
  if (state === 'failed') {
    const advice = endpoint
      ? `correct that, then \`quayside webhooks resend ${id}\``
      : 'it can be read from the API (GET /api/v1/events)';
    return link('delivery', 'broken', `to ${where}: failed for good after ${tried}${verdict}`, advice);
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const why = endpoint.disabledReason ?? 'by the operator';
    const text = `to ${where}: waits, because the endpoint is disabled since ${at(endpoint.disabledAtMs)} (${why})${verdict}`;
    return link('delivery', 'broken', text, `\`quayside webhooks enable ${endpointId}\`; what waits is sent then`);
  }
  if (wrong !== null) {
    const next = nextAttemptAtMs === null ? '' : `; tried again at ${at(nextAttemptAtMs)}`;
    const advice = `correct that; \`quayside webhooks show ${endpointId}\` shows how it does, and \`quayside webhooks resend ${id}\` sends it at once`;
    return link('delivery', 'broken', `to ${where}: not accepted in ${tried}${verdict}${next}`, advice);
  }
  return untried(scene, delivery, where);
}

async function untried({ database, nowMs }: Scene, { nextAttemptAtMs }: Delivery, where: string): Promise<Link> {
  const isLate = nextAttemptAtMs !== null && nextAttemptAtMs < nowMs - LATE_MS;
  if (isLate && isSenderSilent(await database.readSenderReport(), nowMs)) {
    const advice =
      'start Quayside with `npm start`, or look for `webhooks` in its log; `quayside status` shows the sender';
    return link('delivery', 'broken', `to ${where}: not sent, because no process sends webhooks now`, advice);
  }
  const due = nextAttemptAtMs === null ? '' : `, due since ${at(nextAttemptAtMs)}`;
  return link('delivery', 'waiting', `to ${where}: not sent yet${due}`);
}
