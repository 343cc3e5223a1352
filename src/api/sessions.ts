/**
 * The payment session endpoints of the reference: create, read, cancel, list.
 */
import * as z from 'zod';
import { firstSessionId, parseSessionId } from '../lib/id.ts';
import { type ApiDeps, type Endpoint, endpoint } from './endpoint.ts';
import { examples } from './examples.ts';
import { idRange, listEndpoint } from './list.ts';
import { createSessionSchema, readSessionInput } from './session-input.ts';
import { cancelSession, createErrors, createSession, findSession } from './session-service.ts';
import { paymentSession, paymentSessionSchema, paymentSessions, paymentStatusSchema } from './session-view.ts';
import { isModeShape, modeAnswer, readModeInput } from './variants.ts';

const PATH = '/api/v1/checkout/sessions';

export const sessionEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: `${PATH}/create`,
    scope: 'sessions:write',
    usesNonce: true,
    operationId: 'createSession',
    tag: 'Payment sessions',
    summary: 'Create a session',
    description:
      'Creates a session for an order. A repeat with the same `order_id` and body answers 200 with the existing session as it is now, and `Idempotent-Replayed: true`. After one that ended unpaid, the order can be tried again: that creates a new session. ' +
      'A quick-start variant has a decimal string as `amount`, and `mode` or `payment_method_types`; `payment_method_options.crypto` may name the only `network` and `currency` to offer. ' +
      'It is answered with `base` and `session`, as `/v1/payment/sessions` is; use the fields below for anything new.',
    body: [createSessionSchema, examples.sessionBody],
    hasOtherShape: isModeShape,
    answer: [paymentSessionSchema, examples.session],
    errors: createErrors,
    async run(call) {
      const { caller, sent, body } = call;
      const isQuickStart = isModeShape(sent);
      const input = isQuickStart ? readModeInput(sent, caller.mode, deps.config) : readSessionInput(body, caller.mode);
      const { session, replayed } = await createSession(deps, caller, input, call);
      const shown = isQuickStart ? modeAnswer(session, deps, caller) : await paymentSession(session, deps, caller);
      return { body: shown, replayed };
    },
  }),
  endpoint({
    method: 'get',
    path: `${PATH}/{session_id}`,
    scope: 'sessions:read',
    operationId: 'getSession',
    tag: 'Payment sessions',
    summary: 'Read a session',
    description: 'Returns the session as it is now. The id can be written as `cs_<id>`, `sess_<id>` or bare.',
    answer: [paymentSessionSchema, examples.session],
    async run({ caller, id }) {
      return { body: await paymentSession(await findSession(deps, caller, id), deps, caller) };
    },
  }),
  endpoint({
    method: 'post',
    path: `${PATH}/{session_id}/cancel`,
    scope: 'sessions:write',
    operationId: 'cancelSession',
    tag: 'Payment sessions',
    summary: 'Cancel a session',
    description:
      'Cancels a pending session for which no money was seen. Takes no body. Canceling it again changes nothing.',
    answer: [paymentSessionSchema, { ...examples.session, payment_status: 'canceled' }],
    errors: ['payment_in_progress', 'session_expired', 'session_not_cancelable'],
    async run(call) {
      const { session, replayed } = await cancelSession(deps, call);
      return { body: await paymentSession(session, deps, call.caller), replayed };
    },
  }),
  listSessions(deps),
];

const listSessions = (deps: ApiDeps): Endpoint =>
  listEndpoint({
    path: PATH,
    scope: 'sessions:read',
    operationId: 'listSessions',
    tag: 'Payment sessions',
    summary: 'List sessions',
    description:
      'Returns the sessions of the store and mode of the key, newest first. To read on, ask again with `starting_after` and the last id of the page: sessions that are created meanwhile change nothing. To learn what changes, list events.',
    name: 'SessionList',
    item: paymentSessionSchema,
    examples: [examples.session],
    things: 'sessions',
    id: z
      .string()
      .refine((text) => parseSessionId(text) !== null, 'must be a session id, such as `cs_` and 26 characters')
      .transform((text) => parseSessionId(text) ?? text),
    filters: {
      order_id: z.string().optional().meta({
        description: 'Only sessions of this order: more than one if it was tried again.',
      }),
      status: paymentStatusSchema.optional().meta({ description: 'Only sessions with this `payment_status`.' }),
    },
    find: ({ storeId, mode }, { order_id, status, ...query }, page) =>
      deps.database.sessions.page({
        storeId,
        mode,
        orderId: order_id ?? null,
        status: status ?? null,
        ...idRange(query, firstSessionId),
        ...page,
      }),
    show: (sessions, caller) => paymentSessions(sessions, deps, caller),
  });
