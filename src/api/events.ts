/**
 * The events of a store and mode, newest first, so that a shop can compare its orders with them when webhooks were
 * lost, or without any webhooks.
 */
import * as z from 'zod';
import {
  documentedRefundEvents,
  EVENT_AGE_S_MAX,
  type EventType,
  eventIdAt,
  eventTypes,
  extendedRefundEvents,
} from '../core/event.ts';
import { parseExactly } from '../core/exact-json.ts';
import type { StoredEvent } from '../database/events.ts';
import { toSeconds } from '../lib/clock.ts';
import { type ApiDeps, type Caller, type Endpoint, endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { idRange, listEndpoint, type Paging } from './list.ts';
import { eventDocs, eventSchema } from './webhook-events.ts';

const PATH = '/api/v1/events';

const filters = {
  type: z
    .array(z.enum(eventTypes, 'must be an event type'))
    .max(eventTypes.length, `must be given at most ${eventTypes.length} times`)
    .optional()
    .meta({ description: 'Only events of this type. Repeat it for several.' }),
};

const refundTypes: readonly EventType[] = [...documentedRefundEvents, ...extendedRefundEvents];
const exampleOf = (type: EventType) => eventDocs.find((doc) => doc.type === type)?.example;

/** Returns which types to read; undefined for all. @throws Refusal `insufficient_scope` */
function typesFor({ scopes }: Caller, named: readonly EventType[] | undefined): readonly EventType[] | undefined {
  if (scopes.includes('refunds:read')) return named;
  const allowed = (named ?? eventTypes).filter((type) => !refundTypes.includes(type));
  if (allowed.length > 0) return allowed;
  throw refuse('insufficient_scope', {
    message: 'This API key lacks the scope refunds:read, which refund events need; the operator issues keys.',
  });
}

/** Returns the query within what can still be read. */
const readable = <Query extends Paging>(query: Query, nowS: number): Query => ({
  ...query,
  created_from: Math.max(query.created_from ?? 0, nowS - EVENT_AGE_S_MAX),
});

const isShown = ({ storeId, mode, type, id }: StoredEvent, caller: Caller, nowS: number): boolean =>
  storeId === caller.storeId &&
  mode === caller.mode &&
  id >= eventIdAt(nowS - EVENT_AGE_S_MAX) &&
  (caller.scopes.includes('refunds:read') || !refundTypes.includes(type));

export const eventEndpoints = ({ database, clock }: ApiDeps): Endpoint[] => [
  listEndpoint({
    path: PATH,
    scope: 'sessions:read',
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description:
      'Returns the events of the last 30 days of the store and mode of the key, newest first. To follow them, ask again with `ending_before` and the newest id that you have: no event is missed or repeated. ' +
      'Events of refunds are left out unless the key has the scope `refunds:read`.',
    name: 'EventList',
    item: eventSchema,
    examples: [exampleOf('refund.succeeded'), exampleOf('payment.completed')],
    things: 'events',
    id: z.string().regex(/^evt_\d{19}$/, 'must be an event id: `evt_` and 19 digits'),
    filters,
    find(caller, query, page) {
      const { storeId, mode } = caller;
      const range = idRange(readable(query, toSeconds(clock.nowMs())), (ms) => eventIdAt(ms / 1000));
      const types = typesFor(caller, query.type);
      return database.events.list({ storeId, mode, ...range, ...(types && { types }), ...page });
    },
    show: (events) => events.map(({ body }) => parseExactly(body)),
  }),
  endpoint({
    method: 'get',
    path: `${PATH}/{event_id}`,
    scope: 'sessions:read',
    operationId: 'getEvent',
    tag: 'Events',
    summary: 'Read an event',
    description: 'Returns the body of an event of the last 30 days, byte for byte as webhooks send it.',
    answer: [eventSchema, exampleOf('payment.completed')],
    async run({ caller, id }) {
      const event = await database.events.find(id);
      if (!event || !isShown(event, caller, toSeconds(clock.nowMs()))) throw refuse('event_not_found');
      return { body: parseExactly(event.body) as object };
    },
  }),
];
