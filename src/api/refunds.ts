/**
 * The refund endpoints of the reference: create, read, list, change the destination, cancel.
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
import type { Replay } from '../database/replays.ts';
import { DAY_MS } from '../lib/clock.ts';
import { parseSessionId } from '../lib/id.ts';
import { destinationFaults } from '../payments/destination.ts';
import { type ApiDeps, type Caller, type Endpoint, endpoint } from './endpoint.ts';
import { type ErrorCode, refuse } from './errors.ts';
import { examples } from './examples.ts';
import { replayOf } from './json.ts';
import { listEndpoint, type Paging } from './list.ts';
import { badParam, check } from './parameter.ts';
import {
  createRefundSchema,
  type RefundInput,
  readRefundInput,
  refundDestinationSchema,
  refundFieldCode,
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
import { orRefused } from './session-service.ts';

const PATH = '/api/v1/refunds';

export const refundEndpoints = (deps: ApiDeps): Endpoint[] => [
  createEndpoint(deps),
  readEndpoint(deps),
  destinationEndpoint(deps),
  cancelEndpoint(deps),
  refundList(deps),
];

const createEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'post',
    path: `${PATH}/create`,
    scope: 'refunds:write',
    status: 201,
    renames: refundRenames,
    operationId: 'createRefund',
    tag: 'Refunds',
    summary: 'Create a refund',
    description:
      'Refunds a paid session in part or in full, in the token and on the network of the payment. Several refunds are possible, up to what was received. ' +
      'The same `refund_id` with the same body returns the first answer again, with `Idempotent-Replayed: true`. ' +
      '`metadata.refund_address` names the destination; without it the refund goes to the address that the payer left. ' +
      'If neither gave an address, the answer’s `next_action` is a link that asks the payer for one, as is `metadata.claim_url`.',
    body: [createRefundSchema, examples.refundBody],
    codeOf: refundFieldCode,
    answer: [createdRefundSchema, examples.createdRefund],
    errors: [
      'MISSING_CHARGE',
      'MISSING_REFUND_ID',
      'INVALID_CURRENCY',
      'INVALID_AMOUNT',
      'INVALID_SESSION_STATUS',
      'REFUND_AMOUNT_EXCEEDED',
      'REFUND_TIME_EXPIRED',
      'DUPLICATE_REFUND_ID',
      'session_access_denied',
      'SESSION_NOT_FOUND',
      'DAILY_REFUND_LIMIT_EXCEEDED',
    ],
    async run(call) {
      const { refund, replayed } = await createRefund(deps, call.caller, readRefundInput(call.body), call);
      return { body: createdRefund(refund, deps.config), replayed };
    },
  });

const readEndpoint = ({ database, config }: ApiDeps): Endpoint =>
  endpoint({
    method: 'get',
    path: `${PATH}/{refund_id}`,
    scope: 'refunds:read',
    renames: refundRenames,
    operationId: 'getRefund',
    tag: 'Refunds',
    summary: 'Read a refund',
    description:
      'Returns the refund as it is now. The links by which its payer names an address, `next_action` and `metadata.claim_url`, are shown to keys with the scope `refunds:write` alone.',
    answer: [refundSchema, examples.refund],
    async run({ caller: { storeId, mode, scopes }, id }) {
      const { refund } = settled(await database.refunds.find({ storeId, mode, refundId: id }));
      return { body: fullRefund(refund, config, mayRedirect(scopes)) };
    },
  });

const destinationEndpoint = ({ database, config, clock, checkDestination }: ApiDeps): Endpoint =>
  endpoint({
    method: 'post',
    path: `${PATH}/{refund_id}/destination`,
    scope: 'refunds:write',
    renames: refundRenames,
    operationId: 'setRefundDestination',
    tag: 'Refunds',
    summary: 'Change the destination of a refund',
    description:
      'Sends the refund to another address on the same network, whoever named the one before, until its payment is in progress. ' +
      'The cancel window begins again, and an approval by the operator is needed again if the refund had one. Naming the same address again changes nothing.',
    body: [refundDestinationSchema, { address: examples.refund.destination.address }],
    answer: [
      refundSchema,
      { ...examples.createdRefund, destination: examples.refund.destination, destination_source: 'merchant' },
    ],
    errors: ['CANNOT_CHANGE_DESTINATION'],
    async run(call) {
      const { caller, id, body } = call;
      const { keyId, storeId, mode } = caller;
      const command = `POST ${PATH}/{refund_id}/destination`;
      const act = { atMs: clock.nowMs(), operator: `API key ${keyId}`, command, reason: null };
      const owner = { storeId, mode, refundId: id };
      const change = { by: 'merchant', owner, address: body.address, act, replay: replayOf(call, body) } as const;
      const { refund, replayed } = settled(await database.refunds.redirect(change, checkDestination));
      return { body: fullRefund(refund, config, true), replayed };
    },
  });

const cancelEndpoint = ({ database, clock }: ApiDeps): Endpoint =>
  endpoint({
    method: 'post',
    path: `${PATH}/{refund_id}/cancel`,
    scope: 'refunds:write',
    renames: refundRenames,
    operationId: 'cancelRefund',
    tag: 'Refunds',
    summary: 'Cancel a refund',
    description:
      'Cancels a refund that is processing and for which no signature was requested yet (within the store’s cancel window, 60 seconds by default). Takes no body.',
    answer: [
      canceledRefundSchema,
      {
        refund_id: 'refund-77',
        status: 'canceled',
        canceled_at: examples.refund.created_at + 5,
        destination: examples.refund.destination,
        destination_source: examples.refund.destination_source,
      },
    ],
    errors: ['CANNOT_CANCEL_REFUND'],
    async run(call) {
      const { storeId, mode } = call.caller;
      const cancel = { storeId, mode, refundId: call.id, replay: replayOf(call, {}), nowMs: clock.nowMs() };
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
  duplicate_refund_id: ['DUPLICATE_REFUND_ID'],
  idempotency_key_conflict: ['idempotency_key_conflict'],
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
  input: RefundInput,
  how: Pick<Replay, 'idempotencyKey' | 'path'>,
): Promise<Kept> {
  const nowMs = clock.nowMs();
  const asked = {
    ...input,
    sessionId: input.sessionId ?? '',
    requestedKey: keyId,
    replay: replayOf(how, input),
    nowMs,
  };
  const outcome = await database.refunds.create({ storeId, mode, ...asked }, checkDestination);
  if (outcome.kind !== 'refused') return settled(outcome, 'metadata.refund_address');
  throw refuse(outcome.why, outcome.why === 'DAILY_REFUND_LIMIT_EXCEEDED' ? untilTomorrow(nowMs) : {});
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
  const amount = formatUnits(amountMinor, MINOR_DECIMALS);
  const outcome = await orRefused(() => {
    const body = check(createRefundSchema, { order_id: sessionId, refund_id: refundId, amount, currency });
    return createRefund(deps, { keyId, storeId, mode }, readRefundInput(body), { idempotencyKey: null, path: '' });
  });
  return 'refusal' in outcome ? outcome.refusal : null;
}

/** The limit counts UTC days. */
const untilTomorrow = (nowMs: number) => ({
  headers: { 'Retry-After': String(Math.ceil((DAY_MS - (nowMs % DAY_MS)) / 1000)) },
});

// ── The list ────────────────────────────────────────────────────────────────────────────────────────────────────────

const filters = {
  session_id: z.string().optional().meta({ description: 'Only refunds of this session.' }),
  order_id: z.string().optional().meta({ description: 'Only refunds of this order of the merchant’s.' }),
  status: refundStatusSchema.optional().meta({ description: 'Only refunds with this status.' }),
};

/** @throws Refusal if the query names a refund to go on from that the caller does not have */
async function placeOf({ database }: ApiDeps, { storeId, mode }: Caller, query: Paging) {
  const [param, refundId] =
    query.starting_after === undefined
      ? (['ending_before', query.ending_before] as const)
      : (['starting_after', query.starting_after] as const);
  if (refundId === undefined) return {};
  const outcome = await database.refunds.find({ storeId, mode, refundId });
  if (outcome.kind !== 'found') throw badParam(param, 'must be the refund_id of a refund of this store');
  return param === 'starting_after' ? { before: outcome.refund } : { after: outcome.refund };
}

const refundList = (deps: ApiDeps): Endpoint =>
  listEndpoint({
    path: PATH,
    scope: 'refunds:read',
    renames: refundRenames,
    operationId: 'listRefunds',
    tag: 'Refunds',
    summary: 'List refunds',
    description:
      'Returns the refunds of the store and mode of the key, newest first. To read on, ask again with `starting_after` and the last `refund_id` of the page: refunds that are created meanwhile change nothing.',
    name: 'RefundList',
    item: refundSchema,
    examples: [examples.refund],
    things: 'refunds',
    id: z.string(),
    filters,
    async find(caller, query, { limit }) {
      const { storeId, mode } = caller;
      const place = await placeOf(deps, caller, query);
      const { session_id, order_id: orderId, status, created_from, created_to } = query;
      const sessionId = session_id === undefined ? undefined : parseSessionId(session_id);
      if (sessionId === null) return [];
      return deps.database.refunds.list({
        storeId,
        mode,
        limit,
        ...place,
        ...(sessionId !== undefined && { sessionId }),
        ...(orderId !== undefined && { order: { storeId, mode, orderId } }),
        ...(status !== undefined && { status }),
        fromMs: created_from === undefined ? null : created_from * 1000,
        toMs: created_to === undefined ? null : created_to * 1000,
      });
    },
    show: (refunds, { scopes }) => refunds.map((refund) => fullRefund(refund, deps.config, mayRedirect(scopes))),
  });
