/** Deliveries to the merchant's endpoints; how an endpoint does. The dashboard has every attempt. */
import { endpointJson } from '../../src/acts/webhooks.ts';
import { isExtended } from '../../src/core/event.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import type { Delivery, StoredEvent } from '../../src/database/events.ts';
import type { Session } from '../../src/database/session.ts';
import { TRACED_MAX } from '../../src/database/transfers.ts';
import { type Finding, failure, note, waiting } from '../nodes/finding.ts';
import { momentOrNull } from './command.ts';
import { at, type Finder, type Scene } from './show-network.ts';

/** Returns a session's deliveries, and what is wrong with them and with events that have none. */
export async function deliveriesOf({ database }: Scene, { id: sessionId, storeId }: Session) {
  const events = await database.events.ofSession(sessionId, TRACED_MAX);
  const deliveries = await database.deliveries.list({ sessionId, limit: TRACED_MAX * 4 });
  const endpoints = new Map((await database.endpoints.list(storeId)).map((one) => [one.id, one]));
  const sent = new Set(deliveries.map(({ eventId }) => eventId));
  return {
    deliveries: deliveries.map((one) => deliveryJson(one, endpoints.get(one.endpointId))),
    findings: [
      ...deliveries.flatMap((one) => deliveryFindings(one, endpoints.get(one.endpointId))),
      ...events.filter(({ id, type }) => !sent.has(id) && !isExtended(type)).map(noDelivery),
    ],
  };
}

/** An installation without endpoints reads events from the API, so this is nothing wrong. */
const noDelivery = ({ id, type, mode, storeId }: StoredEvent): Finding =>
  note(
    'delivery',
    `store ${storeId} had no endpoint in ${mode} mode for ${type} ${id}; the API has it (GET /api/v1/events)`,
    `\`quayside webhook add <url> --store ${storeId} --mode ${mode}\` adds one`,
  );

/** Finds an endpoint: how it does. */
export const findEndpoint: Finder = async ({ database }, id) => {
  const endpoint = (await database.endpoints.list(null)).find((one) => one.id === id);
  if (!endpoint) return [];
  const { failingSinceMs, disabledAtMs, disabledReason } = endpoint;
  const again = `\`quayside webhook test ${id}\` shows its answer; once it works, \`quayside webhook resend ${id} --since 1d\``;
  const on = `\`quayside webhook set ${id} --state on\` enables it`;
  const findings =
    disabledAtMs !== null
      ? [failure('endpoint', `it is disabled (${disabledReason ?? 'by the operator'})`, on)]
      : failingSinceMs !== null
        ? [failure('endpoint', `it has accepted nothing since ${at(failingSinceMs)}`, again)]
        : [];
  return [{ kind: 'endpoint', json: endpointJson(endpoint), findings }];
};

const answerOf = ({ lastStatus, lastError }: Delivery): string | null =>
  [lastStatus, lastError].filter((one) => one !== null).join(' ') || null;

const deliveryJson = (delivery: Delivery, endpoint: Endpoint | undefined) => ({
  id: delivery.id,
  event: delivery.eventType,
  event_id: delivery.eventId,
  state: delivery.state,
  attempts: delivery.attempts,
  last_answer: answerOf(delivery),
  next_at: momentOrNull(delivery.dueAtMs),
  endpoint: delivery.endpointId,
  url: endpoint?.url ?? 'removed',
});

function deliveryFindings(delivery: Delivery, endpoint: Endpoint | undefined): Finding[] {
  const { id, state, attempts, dueAtMs, endpointId } = delivery;
  if (state === 'delivered') return [];
  const answer = attempts === 0 ? '' : `, the last answer was ${answerOf(delivery)}`;
  const resend = `correct that, then \`quayside webhook resend ${id}\``;
  if (state === 'failed') {
    const advice = endpoint ? resend : 'it can be read from the API (GET /api/v1/events)';
    return [failure('delivery', `${id} failed for good after ${attempts} attempts${answer}`, advice)];
  }
  if (endpoint && endpoint.disabledAtMs !== null) {
    const why = `the endpoint is disabled (${endpoint.disabledReason ?? 'by the operator'})`;
    const advice = `\`quayside webhook set ${endpointId} --state on\`; what waits is sent then`;
    return [failure('delivery', `${id} waits, because ${why}${answer}`, advice)];
  }
  const due = dueAtMs === null ? '' : `, next at ${at(dueAtMs)}`;
  if (attempts === 0) return [waiting('delivery', `${id} is not sent yet${due}`)];
  const text = `${id} was not accepted in ${attempts} attempts${answer}${due}`;
  return [failure('delivery', text, `${resend}; \`quayside show ${endpointId}\``)];
}
