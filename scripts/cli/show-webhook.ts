/**
 * Events and their way to the merchant's endpoints; how an endpoint does.
 */
import { refusalStatuses } from '../../src/core/endpoint.ts';
import { isExtended } from '../../src/core/event.ts';
import type { Attempt } from '../../src/database/attempts.ts';
import type { Delivery } from '../../src/database/deliveries.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import type { StoredEvent } from '../../src/database/events.ts';
import { type EndpointHealth, RECENT_EVENTS, WAITING_COUNTED_MAX } from '../../src/database/redelivery.ts';
import { isSenderSilent } from '../../src/database/sender-report.ts';
import type { Session } from '../../src/database/session.ts';
import { TRACED_MAX } from '../../src/database/traces.ts';
import { moment } from './command.ts';
import { hairpinVerdict } from './hairpin.ts';
import { type Link, link, type Shown } from './show-link.ts';
import { at, type Scene } from './show-scene.ts';
import { table } from './table.ts';
import { wrongWith } from './webhook-verdict.ts';
import { shownDelivery } from './webhooks.ts';

/** A delivery that was due for this long without an attempt is late. */
const LATE_MS = 60_000;
const ANSWERS_SHOWN = 5;

/** Returns a link for each event of a session. */
export async function eventLinks(scene: Scene, session: Session): Promise<Link[]> {
  const events = await scene.database.traces.eventsOfSession(session.id);
  return events.length === 0 ? [] : linksOf(scene, events, session);
}

/** Returns a link for each of some events of a session. */
async function linksOf(
  { database, ...rest }: Scene,
  events: readonly StoredEvent[],
  { id: sessionId, storeId }: Readonly<{ id: string; storeId: string }>,
): Promise<Link[]> {
  const scene = { database, ...rest };
  const deliveries = await database.listDeliveries({ sessionId, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await database.listEndpoints(storeId)).map((one) => [one.id, one]));
  const links: Link[] = [];
  for (const event of events) {
    const own = deliveries.filter(({ eventId }) => eventId === event.id);
    const sent = await Promise.all(own.map((one) => deliveryLink(scene, one, endpoints.get(one.endpointId) ?? null)));
    const text = `${event.type} ${event.id}, ${at(event.createdAtMs)}`;
    links.push(link('event', 'ok', text, null, own.length > 0 ? sent : [noDelivery(event)]));
  }
  return links;
}

/** Shows an event: its body, and where it was sent. */
export async function eventShown(scene: Scene, id: string): Promise<Shown | null> {
  const { database } = scene;
  const event = await database.findEvent(id);
  if (!event) return null;
  const { storeId, mode, type, sessionId, createdAtMs, body } = event;
  const all = await database.listDeliveries({ sessionId, limit: TRACED_MAX * 4 });
  const deliveries = all.filter(({ eventId }) => eventId === id);
  const created = moment(createdAtMs);
  return {
    kind: 'event',
    json: {
      ...{ id, store: storeId, mode, type, session: sessionId, created_at: created, body },
      deliveries: deliveries.map(shownDelivery),
    },
    lines: [body],
    links: await linksOf(scene, [event], { id: sessionId, storeId }),
  };
}

/** Shows a delivery: its attempts and their answers, and what it waits for. */
export async function deliveryShown(scene: Scene, id: string): Promise<Shown | null> {
  const { database } = scene;
  const [delivery] = await database.listDeliveries({ id, limit: 1 });
  if (!delivery) return null;
  const attempts = await database.listAttempts(id);
  const endpoint = (await database.listEndpoints(null)).find((one) => one.id === delivery.endpointId) ?? null;
  const rows = attempts.map((one) => [
    String(one.attempt),
    one.trigger,
    moment(one.startedAtMs),
    `${one.durationMs} ms`,
    String(one.status ?? one.error ?? '-'),
    (one.responseExcerpt ?? '').slice(0, 80).replaceAll(/\s+/g, ' '),
  ]);
  return {
    kind: 'delivery',
    json: { ...shownDelivery(delivery), attempts_made: attempts.map(shownAttempt) },
    lines: [
      `delivery ${id} of ${delivery.eventType} ${delivery.eventId}, session ${delivery.sessionId}`,
      ...(rows.length === 0 ? [] : table([['ATTEMPT', 'TRIGGER', 'STARTED', 'TOOK', 'RESULT', 'ANSWER'], ...rows])),
    ],
    links: [await deliveryLink(scene, delivery, endpoint)],
  };
}

const shownAttempt = (one: Attempt) => ({
  attempt: one.attempt,
  trigger: one.trigger,
  started_at: moment(one.startedAtMs),
  duration_ms: one.durationMs,
  status: one.status,
  error: one.error,
  response_excerpt: one.responseExcerpt,
});

type Answer = Attempt & Readonly<{ eventType: string; wrong: string | null }>;

/** Shows an endpoint: its rate, failures and last answers, and what is wrong. */
export async function endpointShown(scene: Scene, id: string): Promise<Shown | null> {
  const { config, database } = scene;
  const health = await database.endpointHealth(id);
  if (!health) return null;
  const { recent, waiting, failingSinceMs, disabledReason, retiredAtMs, url, mode } = health;
  const countOf = (state: string) => recent.filter((one) => one.state === state).length;
  const [delivered, failed] = [countOf('delivered'), countOf('failed')];
  const answers = await lastAnswers(scene, health);
  const rate = delivered + failed === 0 ? null : delivered / (delivered + failed);
  const waitingText = waiting < WAITING_COUNTED_MAX ? String(waiting) : `${WAITING_COUNTED_MAX} or more`;
  const isUnreachable = ['timeout', 'connect'].includes(answers[0]?.error ?? '');
  const hairpin = isUnreachable ? await hairpinVerdict(url, [config.baseUrl, config.checkoutUrl]) : null;
  const wrong = hairpin ?? answers[0]?.wrong ?? null;
  const retired = retiredAtMs === null ? null : moment(retiredAtMs);
  const rows = answers.map((one) => [
    ...[one.deliveryId, one.eventType, moment(one.startedAtMs), `${one.durationMs} ms`],
    String(one.status ?? one.error ?? '-'),
  ]);
  return {
    kind: 'endpoint',
    json: {
      ...{ id, url, mode, disabled_reason: disabledReason, retired_since: retired },
      failing_since: failingSinceMs === null ? null : moment(failingSinceMs),
      recent: { delivered, failed, rate },
      waiting,
      wrong,
      answers: answers.map((one) => ({
        delivery: one.deliveryId,
        type: one.eventType,
        at: moment(one.startedAtMs),
        duration_ms: one.durationMs,
        status: one.status,
        error: one.error,
        wrong: one.wrong,
      })),
    },
    lines: [
      `${url} (${mode} mode)`,
      ...(retired === null
        ? []
        : [`retired since ${retired}: no session has named it for long; the next event ends that`]),
      `of the last ${RECENT_EVENTS} events: ${delivered} delivered, ${failed} failed for good${rate === null ? '' : ` (${Math.round(rate * 100)} % delivered)`}; waiting: ${waitingText}`,
      ...(rows.length === 0 ? [] : ['', ...table([['DELIVERY', 'EVENT', 'AT', 'TOOK', 'RESULT'], ...rows])]),
    ],
    links: [healthLink(health, answers[0] ?? null, wrong)],
  };
}

/** Returns the last answers of an endpoint, newest first, with what is wrong with each. */
async function lastAnswers({ database }: Scene, { recent }: EndpointHealth): Promise<Answer[]> {
  const tried = recent.filter(({ attempts, state }) => attempts > 0 || state === 'delivered').slice(0, ANSWERS_SHOWN);
  const answers: Answer[] = [];
  for (const { id, eventType } of tried) {
    const last = (await database.listAttempts(id)).at(-1);
    if (last) answers.push({ ...last, eventType, wrong: wrongWith(last) });
  }
  return answers;
}

/** Returns whether an endpoint accepts what it is sent, and what to do if it does not. */
function healthLink(
  { id, disabledAtMs, disabledReason, failingSinceMs }: EndpointHealth,
  last: Answer | null,
  wrong: string | null,
): Link {
  const verdict = wrong === null ? '' : `: ${wrong}`;
  if (disabledAtMs !== null) {
    const text = `${id} is disabled since ${at(disabledAtMs)} (${disabledReason ?? 'by the operator'})${verdict}`;
    return link('endpoint', 'broken', text, `\`quayside webhook set ${id} --state on\` enables it`);
  }
  const again = refusalStatuses.includes(last?.status ?? 0)
    ? 'what it refuses is sent again once it accepts something newer, and one of it is tried from time to time'
    : `once it works, \`quayside webhook resend ${id} --since 1d\` sends at once what failed or waits`;
  if (failingSinceMs !== null) {
    return link('endpoint', 'broken', `${id} has accepted nothing since ${at(failingSinceMs)}${verdict}`, again);
  }
  if (last === null) return link('endpoint', 'ok', `${id}: none of its recent events was tried yet`);
  return wrong === null
    ? link('endpoint', 'ok', `${id}: its last answer was a success`)
    : link('endpoint', 'waiting', `${id}: its last answer was none${verdict}`, again);
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
      ? `correct that, then \`quayside webhook resend ${id}\``
      : 'it can be read from the API (GET /api/v1/events)';
    return link('delivery', 'broken', `to ${where}: failed for good after ${tried}${verdict}`, advice);
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const why = endpoint.disabledReason ?? 'by the operator';
    const text = `to ${where}: waits, because the endpoint is disabled since ${at(endpoint.disabledAtMs)} (${why})${verdict}`;
    return link(
      'delivery',
      'broken',
      text,
      `\`quayside webhook set ${endpointId} --state on\`; what waits is sent then`,
    );
  }
  if (wrong !== null) {
    const next = nextAttemptAtMs === null ? '' : `; tried again at ${at(nextAttemptAtMs)}`;
    const advice = `correct that; \`quayside show ${endpointId}\` shows how it does, and \`quayside webhook resend ${id}\` sends it at once`;
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
