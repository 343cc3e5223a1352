/**
 * The payment session endpoints of the reference: create, read, cancel.
 */
import * as z from 'zod';
import { firstSessionId, parseSessionId } from '../lib/id.ts';
import type { ApiDeps, Endpoint } from './endpoint.ts';
import { examples } from './examples.ts';
import { idRange, listSchema, pageOf, pagingFields, readPaging, readQuery } from './parameter.ts';
import { createSessionSchema, readSessionInput } from './session-input.ts';
import { cancelSession, createErrors, createSession, findSession } from './session-service.ts';
import { paymentSession, paymentSessionSchema, paymentSessions, paymentStatusSchema } from './session-view.ts';
import { isModeShape, modeAnswer, readModeInput } from './variants.ts';

const PATH = '/api/v1/checkout/sessions';
const CREATE_PATH = `${PATH}/create`;

export function sessionEndpoints(deps: ApiDeps): Endpoint[] {
  const { config } = deps;
  return [
    {
      method: 'post',
      path: CREATE_PATH,
      scope: 'sessions:write',
      usesNonce: true,
      doc: {
        operationId: 'createSession',
        tag: 'Payment sessions',
        summary: 'Create a session',
        description:
          'Creates a session for an order. The same `order_id` with the same body answers 200 with the existing session as it is now, and `Idempotent-Replayed: true`. After one that ended unpaid, the order can be tried again: that creates a new session. ' +
          'A quick-start variant has a decimal string as `amount`, and `mode` or `payment_method_types`; `payment_method_options.crypto` may name the only `network` and `currency` to offer. ' +
          'It is answered with `base` and `session`, as `/v1/payment/sessions` is; use the fields below for anything new.',
        body: { schema: createSessionSchema, examples: { order: examples.sessionBody } },
        answer: { schema: paymentSessionSchema, examples: { session: examples.session } },
        errors: createErrors,
      },
      async run({ caller, body, idempotencyKey, takeNonce }) {
        const isQuickStart = isModeShape(body);
        const input = isQuickStart ? readModeInput(body, caller.mode, config) : readSessionInput(body, caller.mode);
        const { session, replayed } = await createSession(deps, caller, input, {
          idempotencyKey,
          path: CREATE_PATH,
          takeNonce,
        });
        const shown = isQuickStart ? modeAnswer(session, deps, caller) : await paymentSession(session, deps, caller);
        return { body: shown, replayed };
      },
    },
    {
      method: 'get',
      path: `${PATH}/{session_id}`,
      scope: 'sessions:read',
      doc: {
        operationId: 'getSession',
        tag: 'Payment sessions',
        summary: 'Read a session',
        description: 'Returns the session as it is now. The id can be written as `cs_<id>`, `sess_<id>` or bare.',
        answer: { schema: paymentSessionSchema, examples: { session: examples.session } },
        errors: ['session_not_found'],
      },
      async run({ caller, params }) {
        const session = await findSession(deps, caller, params.session_id ?? '');
        return { body: await paymentSession(session, deps, caller) };
      },
    },
    {
      method: 'post',
      path: `${PATH}/{session_id}/cancel`,
      scope: 'sessions:write',
      doc: {
        operationId: 'cancelSession',
        tag: 'Payment sessions',
        summary: 'Cancel a session',
        description:
          'Cancels a pending session for which no money was seen. Takes no body. Canceling it again changes nothing.',
        answer: {
          schema: paymentSessionSchema,
          examples: { session: { ...examples.session, payment_status: 'canceled' } },
        },
        errors: [
          'session_not_found',
          'payment_in_progress',
          'session_expired',
          'session_not_cancelable',
          'idempotency_key_conflict',
        ],
      },
      async run({ caller, params, idempotencyKey }) {
        const { session, replayed } = await cancelSession(deps, caller, params.session_id ?? '', (id) => ({
          idempotencyKey,
          path: `${PATH}/${id}/cancel`,
        }));
        return { body: await paymentSession(session, deps, caller), replayed };
      },
    },
  ];
}

// ── The list ────────────────────────────────────────────────────────────────────────────────────────────────────────

const sessionId = () =>
  z.string().refine((text) => parseSessionId(text) !== null, 'must be a session id, such as `cs_` and 26 characters');

const querySchema = z.object({
  ...pagingFields('sessions', sessionId),
  order_id: z.string().optional().meta({
    description: 'Only sessions of this order: more than one if it was tried again.',
  }),
  status: paymentStatusSchema.optional().meta({ description: 'Only sessions with this `payment_status`.' }),
});

/** Returns the ids that a query goes on from as they are stored. */
const bareIds = ({ starting_after: after, ending_before: before }: z.infer<typeof querySchema>) => ({
  ...(after !== undefined && { starting_after: parseSessionId(after) ?? after }),
  ...(before !== undefined && { ending_before: parseSessionId(before) ?? before }),
});

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
        ...idRange({ ...query, ...bareIds(query) }, firstSessionId),
        first: paging.first,
        limit: paging.limit + 1,
      });
      return { body: pageOf(await paymentSessions(found, deps, caller), paging, (session) => session) };
    },
  };
}
