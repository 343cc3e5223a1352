/** The list of a store's sessions, for shops that read back what they have. */
import * as z from 'zod';
import { firstSessionId, parseSessionId } from '../lib/session-id.ts';
import type { ApiDeps, Endpoint } from './endpoint.ts';
import { examples } from './examples.ts';
import { listSchema, pageOf, pagingFields, readPaging, TIME_S_MAX } from './paging.ts';
import { readQuery } from './query.ts';
import { paymentSessionSchema, paymentSessions, paymentStatusSchema } from './session-view.ts';

const sessionId = () =>
  z.string().refine((text) => parseSessionId(text) !== null, 'must be a session id, such as `cs_` and 26 characters');

const querySchema = z.object({
  ...pagingFields('sessions', sessionId),
  order_id: z.string().optional().meta({
    description: 'Only sessions of this order: more than one if it was tried again.',
  }),
  status: paymentStatusSchema.optional().meta({ description: 'Only sessions with this `payment_status`.' }),
});

/** Returns what sorts directly behind an id. */
const behind = (id: string): string => `${id}\u0000`;

/** Returns the range of ids that a query asks for: ids sort by time. */
function rangeOf(query: z.infer<typeof querySchema>) {
  const oldest = firstSessionId((query.created_from ?? 0) * 1000);
  const newest = firstSessionId((query.created_to ?? TIME_S_MAX) * 1000);
  const after = query.starting_after && parseSessionId(query.starting_after);
  const before = query.ending_before && parseSessionId(query.ending_before);
  return {
    fromId: before && behind(before) > oldest ? behind(before) : oldest,
    beforeId: after && after < newest ? after : newest,
  };
}

export function sessionListEndpoint(deps: ApiDeps): Endpoint {
  return {
    method: 'get',
    path: '/api/v1/checkout/sessions',
    scope: 'sessions:read',
    doc: {
      operationId: 'listSessions',
      tag: 'Payment sessions',
      summary: 'List sessions',
      description:
        'Returns the sessions of the store and mode of the key, newest first. To read on, ask again with `starting_after` and the last id of the page: sessions that are created meanwhile change nothing. To learn what changes, list events.',
      query: querySchema,
      answer: {
        schema: listSchema(paymentSessionSchema).meta({ id: 'SessionList' }),
        examples: { sessions: { object: 'list', data: [examples.session], has_more: false } },
      },
      errors: ['invalid_parameter'],
    },
    async run({ caller, search }) {
      const query = readQuery(querySchema, search);
      const paging = readPaging(query);
      const found = await deps.database.sessions.page({
        storeId: caller.storeId,
        mode: caller.mode,
        orderId: query.order_id ?? null,
        status: query.status ?? null,
        ...rangeOf(query),
        first: paging.first,
        limit: paging.limit + 1,
      });
      return { body: pageOf(await paymentSessions(found, deps, caller), paging, (session) => session) };
    },
  };
}
