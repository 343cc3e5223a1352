/** Events and their way to the merchant's endpoints; how an endpoint does. The dashboard has every attempt. */
import { endpointJson } from '../../src/acts/webhooks.ts';
import { isExtended } from '../../src/core/event.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import type { Delivery, StoredEvent } from '../../src/database/events.ts';
import type { Session } from '../../src/database/session.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { type Finding, failure, note, ok, waiting } from '../nodes/finding.ts';
import { at, type Finder, type Scene } from './show-scene.ts';

/** Returns what became of each event of a session. */
export async function eventsOf({ database }: Scene, { id: sessionId, storeId }: Session): Promise<Finding[]> {
  const events = await database.events.ofSession(sessionId, TRACED_MAX);
  const deliveries = await database.deliveries.list({ sessionId, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await database.endpoints.list(storeId)).map((one) => [one.id, one]));
  return events.flatMap((event) => {
    const own = deliveries.filter(({ eventId }) => eventId === event.id);
    const sent = own.map((one) => deliveryFinding(one, endpoints.get(one.endpointId)));
    return [
      ok('event', `${event.type} ${event.id}, ${at(event.createdAtMs)}`),
      ...(own.length > 0 ? sent : [noDelivery(event)]),
    ];
  });
}

/** An installation without endpoints reads events from the API, so this is nothing wrong. */
const noDelivery = ({ type, mode, storeId }: StoredEvent): Finding =>
  isExtended(type)
    ? note('delivery', 'no endpoint asked for this event (`--events` of `quayside webhook add`)')
    : note(
        'delivery',
        `store ${storeId} had no endpoint in ${mode} mode; the API has the event (GET /api/v1/events)`,
        `\`quayside webhook add <url> --store ${storeId} --mode ${mode}\` adds one`,
      );

/** Deliveries of an endpoint to look at for the newest that was tried, among those of so many events. */
const RECENT_MAX = 100;
const LOOK_MAX = 1_000;

/** Finds an endpoint: how it does, and the newest delivery that it was sent. */
export const findEndpoint: Finder = async ({ database }, id) => {
  const endpoint = (await database.endpoints.list(null)).find((one) => one.id === id);
  if (!endpoint) return [];
  const { failingSinceMs, disabledAtMs, disabledReason, url, mode } = endpoint;
  const newest = { after: null, limit: RECENT_MAX, lookMax: LOOK_MAX };
  const { deliveries } = await database.deliveries.ofStore(endpoint, { endpointId: id, state: null }, newest);
  const tried = deliveries.find(({ attempts, state }) => attempts > 0 || state === 'delivered');
  const again = `once it works, \`quayside webhook resend ${id} --since 1d\` sends at once what failed or waits`;
  const on = `\`quayside webhook set ${id} --state on\` enables it`;
  const name = `${id}, ${url} (${mode} mode),`;
  const own =
    disabledAtMs !== null
      ? failure('endpoint', `${name} is disabled (${disabledReason ?? 'by the operator'})`, on)
      : failingSinceMs !== null
        ? failure('endpoint', `${name} has accepted nothing since ${at(failingSinceMs)}`, again)
        : ok('endpoint', `${name} is enabled`);
  const findings = [own, ...(tried ? [deliveryFinding(tried, endpoint)] : [])];
  return [{ kind: 'endpoint', json: endpointJson(endpoint), findings }];
};

function deliveryFinding(delivery: Delivery, endpoint: Endpoint | undefined): Finding {
  const { id, state, attempts, dueAtMs, lastStatus, lastError, endpointId } = delivery;
  const to = `${id} to ${endpoint?.url ?? `${endpointId}, which was removed`}`;
  const last = [lastStatus, lastError].filter((one) => one !== null).join(' ');
  const answer = attempts === 0 ? '' : `, the last answer was ${last}`;
  const resend = `correct that, then \`quayside webhook resend ${id}\``;
  if (state === 'delivered') return ok('delivery', `${to}: delivered (${last})`);
  if (state === 'failed') {
    const advice = endpoint ? resend : 'it can be read from the API (GET /api/v1/events)';
    return failure('delivery', `${to}: failed for good after ${attempts} attempts${answer}`, advice);
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const advice = `\`quayside webhook set ${endpointId} --state on\`; what waits is sent then`;
    const why = endpoint.disabledReason ?? 'by the operator';
    return failure('delivery', `${to}: waits, because the endpoint is disabled (${why})${answer}`, advice);
  }
  const due = dueAtMs === null ? '' : `, next at ${at(dueAtMs)}`;
  if (attempts === 0) return waiting('delivery', `${to}: not sent yet${due}`);
  const text = `${to}: not accepted in ${attempts} attempts${answer}${due}`;
  return failure('delivery', text, `${resend}; \`quayside show ${endpointId}\``);
}
