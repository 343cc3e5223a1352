/** The list of a store's refunds, for shops that read back what they have. */
import * as z from 'zod';
import { parseSessionId } from '../lib/session-id.ts';
import type { ApiDeps, Caller, Endpoint } from './endpoint.ts';
import { examples } from './examples.ts';
import { listSchema, pageOf, pagingFields, readPaging } from './paging.ts';
import { badParam } from './parameter.ts';
import { readQuery } from './query.ts';
import { refundRenames } from './refund-input.ts';
import { fullRefund, refundSchema, refundStatusSchema } from './refund-view.ts';
import { mayRedirect } from './refunds.ts';

const querySchema = z.object({
  ...pagingFields('refunds', () => z.string()),
  session_id: z.string().optional().meta({ description: 'Only refunds of this session.' }),
  order_id: z.string().optional().meta({ description: 'Only refunds of this order of the merchant’s.' }),
  status: refundStatusSchema.optional().meta({ description: 'Only refunds with this status.' }),
});

type Query = z.infer<typeof querySchema>;

/** @throws Refusal if the query names a refund to go on from that the caller does not have */
async function placeOf({ database }: ApiDeps, { storeId, mode }: Caller, query: Query) {
  const [param, refundId] =
    query.starting_after === undefined
      ? (['ending_before', query.ending_before] as const)
      : (['starting_after', query.starting_after] as const);
  if (refundId === undefined) return {};
  const outcome = await database.refunds.find({ storeId, mode, refundId });
  if (outcome.kind !== 'found') throw badParam(param, 'must be the refund_id of a refund of this store');
  return param === 'starting_after' ? { before: outcome.refund } : { after: outcome.refund };
}

/** Returns the filter of a query; null if nothing can match it. */
function filterOf({ storeId, mode }: Caller, { session_id, order_id, status, created_from, created_to }: Query) {
  const sessionId = session_id === undefined ? undefined : parseSessionId(session_id);
  if (sessionId === null) return null;
  return {
    ...(sessionId !== undefined && { sessionId }),
    ...(order_id !== undefined && { order: { storeId, mode, orderId: order_id } }),
    ...(status !== undefined && { status }),
    fromMs: created_from === undefined ? null : created_from * 1000,
    toMs: created_to === undefined ? null : created_to * 1000,
  };
}

export function refundListEndpoint(deps: ApiDeps): Endpoint {
  return {
    method: 'get',
    path: '/api/v1/refunds',
    scope: 'refunds:read',
    renames: refundRenames,
    doc: {
      operationId: 'listRefunds',
      tag: 'Refunds',
      summary: 'List refunds',
      description:
        'Returns the refunds of the store and mode of the key, newest first. To read on, ask again with `starting_after` and the last `refund_id` of the page: refunds that are created meanwhile change nothing.',
      query: querySchema,
      answer: {
        schema: listSchema(refundSchema).meta({ id: 'RefundList' }),
        examples: { refunds: { object: 'list', data: [examples.refund], has_more: false } },
      },
      errors: ['invalid_parameter'],
    },
    async run({ caller, search }) {
      const query = readQuery(querySchema, search);
      const paging = readPaging(query);
      const place = await placeOf(deps, caller, query);
      const filter = filterOf(caller, query);
      const { storeId, mode } = caller;
      const found =
        filter === null
          ? []
          : await deps.database.refunds.list({ storeId, mode, ...filter, ...place, limit: paging.limit + 1 });
      const mayName = mayRedirect(caller.scopes);
      return { body: pageOf(found, paging, (refund) => fullRefund(refund, deps.config, mayName)) };
    },
  };
}
