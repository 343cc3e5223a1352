/**
 * Manages webhook endpoints; lists deliveries.
 */

import { modes } from '../../src/acts/keys.ts';
import { issueEndpoint } from '../../src/app/new-credentials.ts';
import { type ExtendedEventType, extendedEvents } from '../../src/core/event.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Delivery, DeliveryState } from '../../src/database/database.ts';
import type { Endpoint } from '../../src/database/endpoints.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import {
  type Command,
  choiceOption,
  moment,
  notFound,
  reasonOption,
  storeOf,
  storeOption,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { table } from './table.ts';

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

export const webhooksList: Command = {
  name: 'webhook list',
  args: [],
  summary: 'List webhook endpoints and the newest deliveries.',
  options: {
    store: { value: 'ID', help: 'only endpoints and deliveries of this store' },
    session: { value: 'ID', help: 'only deliveries of this session' },
    state: { value: states.join('|'), help: 'only deliveries in this state' },
    limit: { value: 'N', help: 'at most N deliveries (50)' },
  },
  async run(input, { database }) {
    const storeId = textOption(input, 'store');
    const sessionId = textOption(input, 'session');
    const state = textOption(input, 'state') && choiceOption(input, 'state', states);
    const limit = wholeOption(input, 'limit', 1, 1000, 50);
    const endpoints = await database.listEndpoints(storeId ?? null);
    const deliveries = await database.listDeliveries({
      limit,
      ...(storeId && { storeId }),
      ...(sessionId && { sessionId }),
      ...(state && { state }),
    });
    return {
      json: { endpoints: endpoints.map(shownEndpoint), deliveries: deliveries.map(shownDelivery) },
      lines: [
        ...table([
          ['ENDPOINT', 'STORE', 'MODE', 'STATE', 'URL'],
          ...endpoints.map((one) => [one.id, one.storeId, one.mode, one.disabledReason ?? 'enabled', one.url]),
        ]),
        '',
        ...table([
          ['DELIVERY', 'EVENT', 'SESSION', 'STATE', 'ATTEMPTS', 'NEXT', 'LAST'],
          ...deliveries.map((one) => [
            one.id,
            one.eventType,
            one.sessionId,
            one.state,
            String(one.attempts),
            moment(one.nextAttemptAtMs),
            String(one.lastStatus ?? one.lastError ?? '-'),
          ]),
        ]),
      ],
    };
  },
};

export const webhooksAdd: Command = {
  name: 'webhook add',
  args: ['url'],
  summary: 'Send a store’s events of one mode to a URL, and print the secret that signs them.',
  options: {
    store: storeOption,
    mode: { choices: modes, help: 'the mode of the events to send' },
    events: { value: 'LIST', help: `comma-separated extended events to send as well: ${extendedEvents.join(', ')}` },
    reason: reasonOption,
  },
  async run(input, { database, clock, config }) {
    const url = input.args[0] ?? '';
    const mode = choiceOption(input, 'mode', modes, config.sandbox ? 'test' : undefined);
    const owner = await storeOf(input, database);
    const refusal = await createUrlGuard(config.webhooks.allowCidrs).check(url, mode);
    if (refusal) throw usage(`${url} cannot be an endpoint: ${refusal}`);
    const endpoint = issueEndpoint(owner.id, mode, url, readEvents(textOption(input, 'events')), clock.nowMs());
    const added = await database.addEndpoint(endpoint);
    if (added.kind === 'other_mode') throw ofOtherMode(url, added.endpointId);
    return {
      json: { ...shownEndpoint(endpoint), webhook_secret: endpoint.secret },
      lines: [`endpoint ${endpoint.id}`, `webhook secret ${endpoint.secret}`],
    };
  },
};

export const webhooksRemove: Command = {
  name: 'webhook remove',
  args: ['endpoint'],
  summary: 'Remove an endpoint; deliveries that wait for it are not sent.',
  options: { reason: reasonOption },
  async run(input, { database }) {
    const id = input.args[0] ?? '';
    if (!(await database.removeEndpoint(id))) throw unknownEndpoint(id);
    return { json: { id, removed: true }, lines: [`removed ${id}`] };
  },
};

export const webhooksEnable: Command = {
  name: 'webhook enable',
  args: ['endpoint'],
  summary: 'Enable an endpoint that was disabled because it answered 410 Gone.',
  options: { reason: reasonOption },
  async run(input, { database, clock }) {
    const id = input.args[0] ?? '';
    if (!(await database.enableEndpoint(id, true, null, clock.nowMs()))) throw unknownEndpoint(id);
    return { json: { id, enabled: true }, lines: [`enabled ${id}`] };
  },
};

const ofOtherMode = (url: string, id: string) =>
  permanent(
    'other_mode',
    `${url} already receives events of the other mode (endpoint ${id}). Use a URL of its own for each mode, or remove ` +
      `the other endpoint first: \`quayside webhook remove ${id}\``,
  );
const unknownEndpoint = (id: string) => notFound(`there is no endpoint ${id}; \`quayside webhook list\` shows all`);

function readEvents(text: string | undefined): ExtendedEventType[] {
  if (text === undefined) return [];
  return text.split(',').map((name) => {
    const event = extendedEvents.find((one) => one === name.trim());
    if (!event) throw usage(`--events contains "${name}", expected ${extendedEvents.join(', ')}`);
    return event;
  });
}

const shownEndpoint = (one: Endpoint) => ({
  id: one.id,
  store: one.storeId,
  mode: one.mode,
  url: one.url,
  extended_events: one.extendedEvents,
  per_session: one.perSession,
  disabled_reason: one.disabledReason,
  created_at: moment(one.createdAtMs),
});

/** Returns a delivery for programs. */
export const shownDelivery = (one: Delivery) => ({
  id: one.id,
  endpoint: one.endpointId,
  event: one.eventId,
  type: one.eventType,
  session: one.sessionId,
  state: one.state,
  attempts: one.attempts,
  next_attempt_at: one.nextAttemptAtMs === null ? null : moment(one.nextAttemptAtMs),
  last_status: one.lastStatus,
  last_error: one.lastError,
  created_at: moment(one.createdAtMs),
});
