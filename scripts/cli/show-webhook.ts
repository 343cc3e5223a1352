/** Events and their way to the merchant's endpoints; how an endpoint does. */
import { isExtended } from '../../src/core/event.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import { mapInOrder } from '../../src/database/engine/bodies.ts';
import type { Attempt, Delivery, StoredEvent } from '../../src/database/events.ts';
import { isSenderSilent } from '../../src/database/sending.ts';
import type { Session } from '../../src/database/session.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { type Finding, failure, finding, note, ok, waiting } from '../nodes/finding.ts';
import { moment } from './command.ts';
import { at, type Finder, type Scene } from './show-scene.ts';

/** A delivery that was due for this long without an attempt is late. */
const LATE_MS = 60_000;
const TITLE_CHARACTERS_MAX = 100;

/** Returns what is wrong with an answer to a webhook; null for a success. */
export function wrongWith(one: Pick<Attempt, 'status' | 'error' | 'responseExcerpt'>): string | null {
  const { status, error, responseExcerpt } = one;
  if (status === null) return `no answer: ${error}`;
  if (status >= 200 && status < 300) return error === null ? null : `it answers ${status}, but acknowledges nothing`;
  const [, title = ''] = /<title[^>]{0,200}>([^<]{1,500})/i.exec(responseExcerpt ?? '') ?? [];
  const text = title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return `it answers ${status}${text === '' ? '' : `, with the page "${text.slice(0, TITLE_CHARACTERS_MAX)}"`}`;
}

/** Returns what became of each event of a session. */
export async function eventsOf(scene: Scene, session: Session): Promise<Finding[]> {
  const events = await scene.database.events.ofSession(session.id, TRACED_MAX);
  return events.length === 0 ? [] : eventFindings(scene, events, session);
}

/** Returns what became of some events of a session. */
async function eventFindings(
  scene: Scene,
  events: readonly StoredEvent[],
  { id: sessionId, storeId }: Readonly<{ id: string; storeId: string }>,
): Promise<Finding[]> {
  const deliveries = await scene.database.deliveries.list({ sessionId, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await scene.database.endpoints.list(storeId)).map((one) => [one.id, one]));
  const found = await mapInOrder(events, async (event) => {
    const own = deliveries.filter(({ eventId }) => eventId === event.id);
    const sent = await mapInOrder(own, (one) => deliveryFinding(scene, one, endpoints.get(one.endpointId) ?? null));
    const text = `${event.type} ${event.id}, ${at(event.createdAtMs)}`;
    return [ok('event', text), ...(own.length > 0 ? sent : [noDelivery(event)])];
  });
  return found.flat();
}

/** An installation without endpoints reads events from the API, so this is nothing wrong. */
const noDelivery = ({ type, mode, storeId }: StoredEvent): Finding =>
  isExtended(type)
    ? note('delivery', 'no endpoint asked for this event (`--events` of `quayside webhook add`)')
    : note(
        'delivery',
        `store ${storeId} had no endpoint in ${mode} mode, so nobody was told; the API has the event (GET /api/v1/events)`,
        `\`quayside webhook add <url> --store ${storeId} --mode ${mode}\` adds one`,
      );

/** Finds an event: its body, and where it was sent. */
export const findEvent: Finder = async (scene, id) => {
  const event = await scene.database.events.find(id);
  if (!event) return [];
  const { storeId, mode, type, sessionId, createdAtMs, body } = event;
  const json = { id, store: storeId, mode, type, session: sessionId, created_at: moment(createdAtMs), body };
  return [{ kind: 'event', json, findings: await eventFindings(scene, [event], { id: sessionId, storeId }) }];
};

/** Finds a delivery: its attempts and their answers, and what it waits for. */
export const findDelivery: Finder = async (scene, id) => {
  const { database } = scene;
  const [delivery] = await database.deliveries.list({ id, limit: 1 });
  if (!delivery) return [];
  const endpoint = await database.endpoints.find(delivery.endpointId);
  const attempts = (await database.deliveries.attempts(id)).map((one) => {
    const text = `${one.attempt} at ${at(one.startedAtMs)}, ${one.durationMs} ms: ${wrongWith(one) ?? `accepted (${one.status})`}`;
    return note('attempt', text);
  });
  const { state, eventId, sessionId, endpointId, createdAtMs } = delivery;
  const json = { id, state, event: eventId, session: sessionId, endpoint: endpointId, created_at: moment(createdAtMs) };
  return [{ kind: 'delivery', json, findings: [await deliveryFinding(scene, delivery, endpoint), ...attempts] }];
};

/** Deliveries of an endpoint whose states are counted, among those of so many events. */
const RECENT_MAX = 500;
const LOOK_MAX = 5_000;

/** Finds an endpoint: how it does, and what was wrong with its last answer. */
export const findEndpoint: Finder = async ({ database }, id) => {
  const endpoint = (await database.endpoints.list(null)).find((one) => one.id === id);
  if (!endpoint) return [];
  const { failingSinceMs, disabledAtMs, disabledReason, url, mode } = endpoint;
  const newest = { after: null, limit: RECENT_MAX, lookMax: LOOK_MAX };
  const { deliveries: recent } = await database.deliveries.ofStore(endpoint, { endpointId: id, state: null }, newest);
  const [delivered, failed, open] = ['delivered', 'failed', 'waiting'].map(
    (state) => recent.filter((one) => one.state === state).length,
  );
  const tried = recent.find(({ attempts, state }) => attempts > 0 || state === 'delivered');
  const last = tried && (await database.deliveries.attempts(tried.id)).at(-1);
  const wrong = last ? wrongWith(last) : null;
  const verdict = wrong === null ? '' : `: ${wrong}`;
  const again = `once it works, \`quayside webhook resend ${id} --since 1d\` sends at once what failed or waits`;
  const on = `\`quayside webhook set ${id} --state on\` enables it`;
  const own =
    disabledAtMs !== null
      ? failure('endpoint', `${id} is disabled (${disabledReason ?? 'by the operator'})${verdict}`, on)
      : failingSinceMs !== null
        ? failure('endpoint', `${id} has accepted nothing since ${at(failingSinceMs)}${verdict}`, again)
        : finding(wrong === null ? 'ok' : 'waiting', 'endpoint', `${id} is enabled${verdict}`, wrong && again);
  const counts = `last ${recent.length} events: ${delivered} delivered, ${failed} failed, ${open} waiting`;
  const undelivered = recent
    .filter(({ state }) => state !== 'delivered')
    .map((one) => note('delivery', `${one.id} of ${one.eventType}, ${one.state} after ${one.attempts} attempts`));
  const json = { id, url, mode, disabled_reason: disabledReason, recent: { delivered, failed }, waiting: open, wrong };
  const findings = [own, note('events', `${url} (${mode} mode), ${counts}`), ...undelivered];
  return [{ kind: 'endpoint', json, findings }];
};

async function deliveryFinding(scene: Scene, delivery: Delivery, endpoint: Endpoint | null): Promise<Finding> {
  const { id, state, attempts, dueAtMs, lastStatus, endpointId } = delivery;
  const to = `to ${endpoint?.url ?? `${endpointId}, which was removed`}`;
  if (state === 'delivered') return ok('delivery', `${to}: delivered${lastStatus ? ` (${lastStatus})` : ''}`);
  const last = (await scene.database.deliveries.attempts(id)).at(-1);
  const wrong = last ? wrongWith(last) : null;
  const verdict = wrong === null ? '' : `: ${wrong}`;
  const resend = `correct that, then \`quayside webhook resend ${id}\``;
  if (state === 'failed') {
    const advice = endpoint ? resend : 'it can be read from the API (GET /api/v1/events)';
    return failure('delivery', `${to}: failed for good after ${attempts} attempts${verdict}`, advice);
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const text = `waits, because the endpoint is disabled (${endpoint.disabledReason ?? 'by the operator'})${verdict}`;
    const advice = `\`quayside webhook set ${endpointId} --state on\`; what waits is sent then`;
    return failure('delivery', `${to}: ${text}`, advice);
  }
  const due = dueAtMs === null ? '' : `, next at ${at(dueAtMs)}`;
  if (wrong !== null) {
    const text = `${to}: not accepted in ${attempts} attempts${verdict}${due}`;
    return failure('delivery', text, `${resend}; \`quayside show ${endpointId}\``);
  }
  const isLate = dueAtMs !== null && dueAtMs < scene.nowMs - LATE_MS;
  if (isLate && isSenderSilent(await scene.database.sending.lastReport(), scene.nowMs))
    return failure(
      'delivery',
      `${to}: not sent, because no process sends webhooks now`,
      'start Quayside with `npm start`',
    );
  return waiting('delivery', `${to}: not sent yet${due}`);
}
