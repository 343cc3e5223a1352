/** Events and their way to the merchant's endpoints; how an endpoint does. */
import { isExtended } from '../../src/core/event.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import type { StoredEvent } from '../../src/database/events.ts';
import { type Attempt, type Delivery, RECENT_EVENTS } from '../../src/database/events.ts';
import { isSenderSilent } from '../../src/database/sending.ts';
import type { Session } from '../../src/database/session.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { moment } from './command.ts';
import { at, type Finder, type Link, link, type Scene } from './show-link.ts';

/** A delivery that was due for this long without an attempt is late. */
const LATE_MS = 60_000;
const TITLE_CHARACTERS_MAX = 100;

/** Returns what is wrong with an answer to a webhook; null for a success. */
export function wrongWith(one: Pick<Attempt, 'status' | 'error' | 'responseExcerpt'>): string | null {
  const { status, error, responseExcerpt } = one;
  if (status === null) return `no answer: ${error}`;
  if (status >= 200 && status < 300) return null;
  const [, title = ''] = /<title[^>]{0,200}>([^<]{1,500})/i.exec(responseExcerpt ?? '') ?? [];
  const text = title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return `it answers ${status}${text === '' ? '' : `, with the page "${text.slice(0, TITLE_CHARACTERS_MAX)}"`}`;
}

/** Returns a link for each event of a session. */
export async function eventLinks(scene: Scene, session: Session): Promise<Link[]> {
  const events = await scene.database.events.ofSession(session.id, TRACED_MAX);
  return events.length === 0 ? [] : linksOf(scene, events, session);
}

/** Returns a link for each of some events of a session. */
async function linksOf(
  scene: Scene,
  events: readonly StoredEvent[],
  { id: sessionId, storeId }: Readonly<{ id: string; storeId: string }>,
): Promise<Link[]> {
  const deliveries = await scene.database.deliveries.list({ sessionId, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await scene.database.endpoints.list(storeId)).map((one) => [one.id, one]));
  const links: Link[] = [];
  for (const event of events) {
    const own = deliveries.filter(({ eventId }) => eventId === event.id);
    const sent = await Promise.all(own.map((one) => deliveryLink(scene, one, endpoints.get(one.endpointId) ?? null)));
    const text = `${event.type} ${event.id}, ${at(event.createdAtMs)}`;
    links.push(link('event', 'ok', text, null, own.length > 0 ? sent : [noDelivery(event)]));
  }
  return links;
}

/** An installation without endpoints reads events from the API, so this is nothing wrong. */
const noDelivery = ({ type, mode, storeId }: StoredEvent): Link =>
  isExtended(type)
    ? link('delivery', 'note', 'no endpoint asked for this event (`--events` of `quayside webhook add`)')
    : link(
        'delivery',
        'note',
        `store ${storeId} had no endpoint in ${mode} mode, so nobody was told; the API has the event (GET /api/v1/events)`,
        `\`quayside webhook add <url> --store ${storeId} --mode ${mode}\` adds one`,
      );

/** Finds an event: its body, and where it was sent. */
export const findEvent: Finder = async (scene, id) => {
  const event = await scene.database.events.find(id);
  if (!event) return [];
  const { storeId, mode, type, sessionId, createdAtMs, body } = event;
  const json = { id, store: storeId, mode, type, session: sessionId, created_at: moment(createdAtMs), body };
  return [{ kind: 'event', json, links: await linksOf(scene, [event], { id: sessionId, storeId }) }];
};

/** Finds a delivery: its attempts and their answers, and what it waits for. */
export const findDelivery: Finder = async (scene, id) => {
  const { database } = scene;
  const [delivery] = await database.deliveries.list({ id, limit: 1 });
  if (!delivery) return [];
  const endpoint = (await database.endpoints.list(null)).find((one) => one.id === delivery.endpointId) ?? null;
  const attempts = (await database.deliveries.attempts(id)).map((one) => {
    const text = `${one.attempt} at ${at(one.startedAtMs)}, ${one.durationMs} ms: ${wrongWith(one) ?? `accepted (${one.status})`}`;
    return link('attempt', 'note', text);
  });
  const { state, eventId, sessionId, endpointId, createdAtMs } = delivery;
  const json = { id, state, event: eventId, session: sessionId, endpoint: endpointId, created_at: moment(createdAtMs) };
  return [{ kind: 'delivery', json, links: [await deliveryLink(scene, delivery, endpoint), ...attempts] }];
};

/** Finds an endpoint: how it does, and what was wrong with its last answer. */
export const findEndpoint: Finder = async ({ database }, id) => {
  const health = await database.endpoints.health(id);
  if (!health) return [];
  const { recent, waiting, failingSinceMs, disabledAtMs, disabledReason, url, mode } = health;
  const [delivered, failed] = ['delivered', 'failed'].map(
    (state) => recent.filter((one) => one.state === state).length,
  );
  const tried = recent.find(({ attempts, state }) => attempts > 0 || state === 'delivered');
  const last = tried && (await database.deliveries.attempts(tried.id)).at(-1);
  const wrong = last ? wrongWith(last) : null;
  const verdict = wrong === null ? '' : `: ${wrong}`;
  const again = `once it works, \`quayside webhook resend ${id} --since 1d\` sends at once what failed or waits`;
  const off = `\`quayside webhook set ${id} --state on\` enables it`;
  const own =
    disabledAtMs !== null
      ? link('endpoint', 'broken', `${id} is disabled (${disabledReason ?? 'by the operator'})${verdict}`, off)
      : failingSinceMs !== null
        ? link('endpoint', 'broken', `${id} has accepted nothing since ${at(failingSinceMs)}${verdict}`, again)
        : link('endpoint', wrong === null ? 'ok' : 'waiting', `${id} is enabled${verdict}`, wrong && again);
  const counts = `last ${RECENT_EVENTS} events: ${delivered} delivered, ${failed} failed, ${waiting} waiting`;
  const undelivered = recent
    .filter(({ state }) => state !== 'delivered')
    .map((one) =>
      link('delivery', 'note', `${one.id} of ${one.eventType}, ${one.state} after ${one.attempts} attempts`),
    );
  const json = { ...{ id, url, mode, disabled_reason: disabledReason }, recent: { delivered, failed }, waiting, wrong };
  return [
    {
      kind: 'endpoint',
      json,
      links: [own, link('events', 'note', `${url} (${mode} mode), ${counts}`), ...undelivered],
    },
  ];
};

async function deliveryLink(scene: Scene, delivery: Delivery, endpoint: Endpoint | null): Promise<Link> {
  const { id, state, attempts, dueAtMs, lastStatus, endpointId } = delivery;
  const to = `to ${endpoint?.url ?? `${endpointId}, which was removed`}`;
  const links = (mark: Link['mark'], text: string, next?: string) => link('delivery', mark, `${to}: ${text}`, next);
  if (state === 'delivered') return links('ok', `delivered${lastStatus ? ` (${lastStatus})` : ''}`);
  const last = (await scene.database.deliveries.attempts(id)).at(-1);
  const wrong = last ? wrongWith(last) : null;
  const verdict = wrong === null ? '' : `: ${wrong}`;
  const resend = `correct that, then \`quayside webhook resend ${id}\``;
  if (state === 'failed') {
    const advice = endpoint ? resend : 'it can be read from the API (GET /api/v1/events)';
    return links('broken', `failed for good after ${attempts} attempts${verdict}`, advice);
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const text = `waits, because the endpoint is disabled (${endpoint.disabledReason ?? 'by the operator'})${verdict}`;
    return links('broken', text, `\`quayside webhook set ${endpointId} --state on\`; what waits is sent then`);
  }
  const due = dueAtMs === null ? '' : `, next at ${at(dueAtMs)}`;
  if (wrong !== null)
    return links(
      'broken',
      `not accepted in ${attempts} attempts${verdict}${due}`,
      `${resend}; \`quayside show ${endpointId}\``,
    );
  const isLate = dueAtMs !== null && dueAtMs < scene.nowMs - LATE_MS;
  if (isLate && isSenderSilent(await scene.database.sending.lastReport(), scene.nowMs))
    return links('broken', 'not sent, because no process sends webhooks now', 'start Quayside with `npm start`');
  return links('waiting', `not sent yet${due}`);
}
