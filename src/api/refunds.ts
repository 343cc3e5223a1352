/**
 * The refund endpoints of the reference: create, read, cancel.
 */
import * as z from 'zod';
import { invariant } from '../core/fault.ts';
import { formatUnits, MINOR_DECIMALS } from '../core/money.ts';
import type {
  CancelRefundOutcome,
  CreateRefundOutcome,
  FindRefundOutcome,
  RedirectRefundOutcome,
  Refund,
} from '../database/refunds/refund.ts';
import { DAY_MS } from '../lib/clock.ts';
import { parseSessionId } from '../lib/id.ts';
import { destinationFaults } from '../payments/destination.ts';
import type { ApiDeps, Caller, Endpoint } from './endpoint.ts';
import { type ErrorCode, Refusal, refuse } from './errors.ts';
import { examples } from './examples.ts';
import { meaningHash } from './json.ts';
import { badParam, listSchema, pageOf, pagingFields, readPaging, readQuery } from './parameter.ts';
import {
  createRefundSchema,
  type RefundInput,
  readDestination,
  readRefundId,
  readRefundInput,
  refundDestinationSchema,
  refundRenames,
} from './refund-input.ts';
import {
  canceledRefund,
  canceledRefundSchema,
  createdRefund,
  createdRefundSchema,
  fullRefund,
  refundSchema,
  refundStatusSchema,
} from './refund-view.ts';

const PATH = '/api/v1/refunds';
const CREATE_PATH = `${PATH}/create`;

export const refundEndpoints = (deps: ApiDeps): Endpoint[] => [
  createEndpoint(deps),
  readEndpoint(deps),
  destinationEndpoint(deps),
  cancelEndpoint(deps),
];

const createEndpoint = (deps: ApiDeps): Endpoint => ({
  method: 'post',
  path: CREATE_PATH,
  scope: 'refunds:write',
  status: 201,
  renames: refundRenames,
  doc: {
    operationId: 'createRefund',
    tag: 'Refunds',
    summary: 'Create a refund',
    description:
      'Refunds a paid session in part or in full, in the token and on the network of the payment. Several refunds are possible, up to what was received. ' +
      'The same `refund_id` with the same body returns the first answer again, with `Idempotent-Replayed: true`. ' +
      '`metadata.refund_address` names the destination; without it the refund goes to the address that the payer left. ' +
      'If neither gave an address, the answer’s `next_action` is a link that asks the payer for one, as is `metadata.claim_url`.',
    body: { schema: createRefundSchema, examples: { refund: examples.refundBody } },
    answer: { schema: createdRefundSchema, examples: { refund: examples.createdRefund } },
    errors: [
      'MISSING_CHARGE',
      'MISSING_REFUND_ID',
      'INVALID_CURRENCY',
      'INVALID_AMOUNT',
      'INVALID_SESSION_STATUS',
      'REFUND_AMOUNT_EXCEEDED',
      'REFUND_TIME_EXPIRED',
      'DUPLICATE_REFUND_ID',
      'IDEMPOTENCY_KEY_CONFLICT',
      'session_access_denied',
      'SESSION_NOT_FOUND',
      'DAILY_REFUND_LIMIT_EXCEEDED',
    ],
  },
  async run({ caller, body, idempotencyKey }) {
    const input = readRefundInput(body ?? {});
    const { refund, replayed } = await createRefund(deps, caller, input, idempotencyKey);
    return { body: createdRefund(refund, deps.config), replayed };
  },
});

const readEndpoint = ({ database, config }: ApiDeps): Endpoint => ({
  method: 'get',
  path: `${PATH}/{refund_id}`,
  scope: 'refunds:read',
  renames: refundRenames,
  doc: {
    operationId: 'getRefund',
    tag: 'Refunds',
    summary: 'Read a refund',
    description:
      'Returns the refund as it is now. The links by which its payer names an address, `next_action` and `metadata.claim_url`, are shown to keys with the scope `refunds:write` alone.',
    answer: { schema: refundSchema, examples: { refund: examples.refund } },
    errors: ['REFUND_NOT_FOUND'],
  },
  async run({ caller: { storeId, mode, scopes }, params }) {
    const outcome = await database.refunds.find({ storeId, mode, refundId: readRefundId(params.refund_id ?? '') });
    return { body: fullRefund(settled(outcome).refund, config, mayRedirect(scopes)) };
  },
});

const destinationEndpoint = ({ database, config, clock, checkDestination }: ApiDeps): Endpoint => ({
  method: 'post',
  path: `${PATH}/{refund_id}/destination`,
  scope: 'refunds:write',
  renames: refundRenames,
  doc: {
    operationId: 'setRefundDestination',
    tag: 'Refunds',
    summary: 'Change the destination of a refund',
    description:
      'Sends the refund to another address on the same network, whoever named the one before, until its payment is in progress. ' +
      'The cancel window begins again, and an approval by the operator is needed again if the refund had one. The same address again changes nothing.',
    body: { schema: refundDestinationSchema, examples: { refund: { address: examples.refund.destination.address } } },
    answer: {
      schema: refundSchema,
      examples: {
        refund: {
          ...examples.createdRefund,
          destination: examples.refund.destination,
          destination_source: 'merchant',
        },
      },
    },
    errors: ['CANNOT_CHANGE_DESTINATION', 'IDEMPOTENCY_KEY_CONFLICT', 'REFUND_NOT_FOUND'],
  },
  async run({ caller: { keyId, storeId, mode }, params, body, idempotencyKey }) {
    const refundId = readRefundId(params.refund_id ?? '');
    const address = readDestination(body ?? {});
    const replay = { idempotencyKey, path: `${PATH}/${refundId}/destination`, bodyHash: meaningHash({ address }) };
    const command = 'POST /api/v1/refunds/{refund_id}/destination';
    const act = { atMs: clock.nowMs(), operator: `API key ${keyId}`, command, reason: null };
    const change = { by: 'merchant', owner: { storeId, mode, refundId }, address, act, replay } as const;
    const { refund, replayed } = settled(await database.refunds.redirect(change, checkDestination));
    return { body: fullRefund(refund, config, true), replayed };
  },
});

const cancelEndpoint = ({ database, clock }: ApiDeps): Endpoint => ({
  method: 'post',
  path: `${PATH}/{refund_id}/cancel`,
  scope: 'refunds:write',
  renames: refundRenames,
  doc: {
    operationId: 'cancelRefund',
    tag: 'Refunds',
    summary: 'Cancel a refund',
    description:
      'Cancels a refund that is processing and for which no signature was requested yet (within the store’s cancel window, 60 seconds by default). Takes no body.',
    answer: {
      schema: canceledRefundSchema,
      examples: {
        refund: {
          refund_id: 'refund-77',
          status: 'canceled',
          canceled_at: examples.refund.created_at + 5,
          destination: examples.refund.destination,
          destination_source: examples.refund.destination_source,
        },
      },
    },
    errors: ['CANNOT_CANCEL_REFUND', 'IDEMPOTENCY_KEY_CONFLICT', 'REFUND_NOT_FOUND'],
  },
  async run({ caller: { storeId, mode }, params, idempotencyKey }) {
    const refundId = readRefundId(params.refund_id ?? '');
    const replay = { idempotencyKey, path: `${PATH}/${refundId}/cancel`, bodyHash: meaningHash({}) };
    const cancel = { storeId, mode, refundId, replay, nowMs: clock.nowMs() };
    const { refund, replayed } = settled(await database.refunds.cancel(cancel));
    return { body: canceledRefund(refund), replayed };
  },
});

/** Links by which a payer names where a refund goes are for those who may name it themselves. */
const mayRedirect = (scopes: Caller['scopes']): boolean => scopes.includes('refunds:write');

/** A refund, and whether an earlier identical request had the same result. */
type Kept = Readonly<{ refund: Refund; replayed: boolean }>;

type Outcome =
  | Exclude<CreateRefundOutcome, { kind: 'refused' }>
  | FindRefundOutcome
  | CancelRefundOutcome
  | RedirectRefundOutcome;
type Reason = Exclude<Outcome, { refund: Refund } | { kind: 'bad_destination' }>['kind'];

/** The documented code of each reason for which nothing is done, with its text where that is more exact. */
const refusals: Readonly<Record<Reason, readonly [code: ErrorCode, message?: string]>> = {
  not_found: ['REFUND_NOT_FOUND'],
  foreign: ['FORBIDDEN', 'This refund belongs to another merchant. Use an API key of the store that created it.'],
  not_cancelable: ['CANNOT_CANCEL_REFUND'],
  in_doubt: [
    'CANNOT_CANCEL_REFUND',
    'This refund cannot be canceled now: whether it was paid already is being checked, as for some minutes after a restart. ' +
      'Try again in ten minutes; if the answer is the same then, ask the operator.',
  ],
  fixed: ['CANNOT_CHANGE_DESTINATION'],
  not_adopted: [
    'storage_unavailable',
    'The database was restored from a backup, and refunds are refused until it is up to date.',
  ],
  duplicate_refund_id: ['DUPLICATE_REFUND_ID'],
  idempotency_key_conflict: ['IDEMPOTENCY_KEY_CONFLICT'],
  store_suspended: ['FORBIDDEN', refuse('store_suspended').message],
  session_not_found: ['SESSION_NOT_FOUND'],
  session_access_denied: ['session_access_denied'],
};

/**
 * Returns the refund that the database found, made or changed.
 * @param param names the address, if that is refused
 * @throws Refusal
 */
function settled(outcome: Outcome, param = 'address'): Kept {
  if ('refund' in outcome) return { refund: outcome.refund, replayed: outcome.kind === 'replayed' };
  if (outcome.kind === 'bad_destination') throw badParam(param, destinationFaults[outcome.why], 'INVALID_JSON');
  const [code, message] = refusals[outcome.kind];
  throw refuse(code, { ...(message !== undefined && { message }) });
}

async function createRefund(
  { database, clock, checkDestination }: Pick<ApiDeps, 'database' | 'clock' | 'checkDestination'>,
  { keyId, storeId, mode }: Pick<Caller, 'keyId' | 'storeId' | 'mode'>,
  { sessionId, ...input }: RefundInput,
  idempotencyKey: string | null,
): Promise<Kept> {
  const replay = { idempotencyKey, path: CREATE_PATH, bodyHash: meaningHash({ sessionId, ...input }) };
  const outcome = await database.refunds.create(
    { storeId, mode, ...input, sessionId: sessionId ?? '', requestedKey: keyId, replay, nowMs: clock.nowMs() },
    checkDestination,
  );
  if (outcome.kind !== 'refused') return settled(outcome, 'metadata.refund_address');
  throw refuse(outcome.why, outcome.why === 'DAILY_REFUND_LIMIT_EXCEEDED' ? untilTomorrow(clock.nowMs()) : {});
}

/**
 * A refund that a panel asks a door for. `share`: of the whole price, as numerator and denominator. `currency`: the
 * coin that paid it.
 */
export type DoorRefund = Readonly<{ sessionId: string; refundId: string; currency: string }> &
  Readonly<{ share: readonly [part: bigint, whole: bigint] }>;

/** Refunds a share of what a session cost, as the API does. @returns why not, in English; null if it is done */
export async function refundForDoor(
  deps: Pick<ApiDeps, 'database' | 'clock' | 'checkDestination'>,
  { id: keyId, storeId, mode }: Readonly<{ id: string } & Pick<Caller, 'storeId' | 'mode'>>,
  { sessionId, refundId, currency, share: [part, whole] }: DoorRefund,
): Promise<string | null> {
  const session = await deps.database.sessions.find(sessionId);
  invariant(session, `session ${sessionId} paid an order`);
  const { conversion, request } = session;
  const amountMinor = ((conversion?.amountMinor ?? request.amountMinor) * part) / whole;
  try {
    const body = {
      order_id: sessionId,
      refund_id: refundId,
      amount: formatUnits(amountMinor, MINOR_DECIMALS),
      currency,
    };
    await createRefund(deps, { keyId, storeId, mode }, readRefundInput(body), null);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

/** The limit counts UTC days. */
const untilTomorrow = (nowMs: number) => ({
  headers: { 'Retry-After': String(Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1000)) },
});

// ── The list ────────────────────────────────────────────────────────────────────────────────────────────────────────

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
