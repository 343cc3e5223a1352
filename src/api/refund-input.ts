/**
 * The input of a refund: its schema, and the plain request that is read from it. The documented codes say which field
 * is wrong, so most fields have their own code here.
 */
import * as z from 'zod';
import { ExactNumber, writeExactly } from '../core/exact-json.ts';
import { readRefundAmount, refundReasons } from '../core/refund.ts';
import { currencies } from '../core/transfer.ts';
import type { NewRefund } from '../database/refunds/refund.ts';
import { parseSessionId } from '../lib/id.ts';
import { type ErrorCode, type Refusal, refuse } from './errors.ts';
import { badParam, check } from './parameter.ts';
import { descriptionSchema, isAtMost, textSchema } from './session-input.ts';

const REFUND_ID_CHARACTERS_MAX = 128;
const METADATA_BYTES_MAX = 8 * 1024;
/** Nested objects and arrays, with the metadata itself as the first level. */
const METADATA_LEVELS_MAX = 32;
const ADDRESS_CHARACTERS_MAX = 128;

/** The documented codes of the refund endpoints, by those of the other endpoints. */
export const refundRenames: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  invalid_json: 'INVALID_JSON',
  invalid_parameter: 'INVALID_JSON',
  missing_parameter: 'INVALID_JSON',
};

export const createRefundSchema = z
  .object({
    order_id: textSchema().meta({
      description: 'The payment session’s id, not the merchant’s order id.',
      example: 'cs_01kaj8xq2m7v5c9t3w6e1r4y0p',
    }),
    refund_id: textSchema().meta({
      description:
        'The merchant’s own id of the refund, unique per merchant and mode. A repeated request refunds once.',
      minLength: 1,
      maxLength: REFUND_ID_CHARACTERS_MAX,
      example: 'refund-77',
    }),
    amount: textSchema().meta({ description: 'Decimal string with at most 2 decimals, above zero.', example: '4.50' }),
    currency: z.enum(currencies).meta({ description: 'The currency that the session was paid in.' }),
    reason: z.enum(refundReasons).nullish().meta({ description: 'Why money is returned.' }),
    description: descriptionSchema('Shown to the payer.').nullish(),
    metadata: z
      .record(z.string(), z.unknown(), 'must be an object')
      .nullish()
      .meta({
        description:
          'Any values, at most 8 KiB as JSON and 32 levels deep. `refund_address` is the address to pay; without it the payer is asked for one.',
        example: { ticket: 4711 },
      }),
  })
  .meta({ id: 'CreateRefund' });

export const refundDestinationSchema = z
  .object({
    address: textSchema().meta({
      description: 'An address on the network that the refund is paid on.',
      minLength: 1,
      maxLength: ADDRESS_CHARACTERS_MAX,
    }),
  })
  .meta({ id: 'ChangeRefundDestination' });

/**
 * Reads the body of another destination.
 * @throws Refusal `INVALID_JSON`
 */
export function readDestination(body: Readonly<Record<string, unknown>>): string {
  const { address } = check(refundDestinationSchema, body);
  if (address === '' || address.length > ADDRESS_CHARACTERS_MAX) {
    throw badParam('address', `must be an address of at most ${ADDRESS_CHARACTERS_MAX} characters`, 'INVALID_JSON');
  }
  return address.trim();
}

/** `sessionId` is null if no session can have the id that was sent. */
export type RefundInput = Omit<NewRefund, 'storeId' | 'mode' | 'sessionId' | 'replay' | 'nowMs'> &
  Readonly<{ sessionId: string | null }>;

/** The fields with their own documented code if they are missing or wrong, in the order of the checks. */
const namedFaults = [
  ['order_id', 'MISSING_CHARGE'],
  ['refund_id', 'MISSING_REFUND_ID'],
  ['amount', 'INVALID_AMOUNT'],
  ['currency', 'INVALID_CURRENCY'],
] as const;

/**
 * Reads the body of a refund.
 * @throws Refusal with a documented refund code
 */
export function readRefundInput(body: Readonly<Record<string, unknown>>): RefundInput {
  for (const [param, code] of namedFaults) {
    const value = body[param];
    if (value === undefined || value === null || value === '') throw badParam(param, 'is required', code);
  }
  readId(body.order_id, 'order_id');
  const refundId = readId(body.refund_id, 'refund_id');
  if (unreachableIds.includes(refundId)) {
    throw badParam('refund_id', `must not be ${unreachableIds.join(', ')}`, 'INVALID_JSON');
  }
  const amountMinor = readAmount(body.amount);
  const currency = currencies.find((one) => one === body.currency);
  if (!currency) throw badParam('currency', `must be ${currencies.join(' or ')}`, 'INVALID_CURRENCY');
  const { order_id, reason, description } = check(createRefundSchema, body);
  // Taken as it was sent, because the output of the schema lacks a key `__proto__`.
  const metadata = body.metadata as RefundInput['metadata'] | undefined;
  return {
    sessionId: parseSessionId(order_id),
    refundId,
    amountMinor,
    currency,
    reason: reason ?? null,
    description: description ?? null,
    ...readMetadata(metadata ?? null),
  };
}

/** Refunds with these ids could not be read: clients resolve dots in a path, and `create` is an endpoint. */
const unreachableIds: readonly string[] = ['create', '.', '..'];

function readId(value: unknown, param: string): string {
  if (typeof value !== 'string') throw badParam(param, 'must be a string', 'INVALID_JSON');
  if (!isAtMost(value, REFUND_ID_CHARACTERS_MAX) || /\p{Cc}|\p{Cs}/u.test(value)) {
    throw badParam(
      param,
      `must have 1 to ${REFUND_ID_CHARACTERS_MAX} characters without control characters`,
      'INVALID_JSON',
    );
  }
  return value;
}

function readAmount(value: unknown): bigint {
  const bad = (fault: string): Refusal => badParam('amount', fault, 'INVALID_AMOUNT');
  if (typeof value !== 'string') throw bad('must be a decimal string such as "4.50"');
  const read = readRefundAmount(value);
  if (typeof read === 'string') throw bad(read);
  return read;
}

function readMetadata(metadata: Readonly<Record<string, unknown>> | null) {
  if (metadata === null) return { metadata, refundAddress: null };
  // Checked first: code that recurses once for each level would run out of stack.
  if (isDeeper(metadata, METADATA_LEVELS_MAX)) {
    throw badParam('metadata', `must be at most ${METADATA_LEVELS_MAX} levels deep`, 'INVALID_JSON');
  }
  if (Buffer.byteLength(writeExactly(metadata)) > METADATA_BYTES_MAX) {
    throw badParam('metadata', `must be at most ${METADATA_BYTES_MAX} bytes of JSON`, 'INVALID_JSON');
  }
  const address = metadata.refund_address ?? null;
  if (address !== null && (typeof address !== 'string' || address.length > ADDRESS_CHARACTERS_MAX)) {
    throw badParam('metadata.refund_address', 'must be an address, as a string', 'INVALID_JSON');
  }
  return { metadata, refundAddress: address };
}

/** Says whether a value nests objects and arrays deeper than `levels`. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof ExactNumber) &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/**
 * Reads the refund id of a path.
 * @throws Refusal `REFUND_NOT_FOUND` for an id that no refund can have
 */
export const readRefundId = (text: string): string => {
  if (text === '' || !isAtMost(text, REFUND_ID_CHARACTERS_MAX)) throw refuse('REFUND_NOT_FOUND');
  return text;
};
