/**
 * The input of a refund: its schema, and the plain request that is read from it. Some fields have a documented code of
 * their own.
 */
import * as z from 'zod';
import { ExactNumber, writeExactly } from '../core/exact-json.ts';
import { invariant } from '../core/fault.ts';
import { isFields } from '../core/fields.ts';
import { readRefundAmount, refundReasons } from '../core/refund.ts';
import { currencies } from '../core/transfer.ts';
import type { NewRefund } from '../database/refunds/refund.ts';
import { parseSessionId } from '../lib/id.ts';
import type { ErrorCode } from './errors.ts';
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
  idempotency_key_conflict: 'IDEMPOTENCY_KEY_CONFLICT',
};

/** Refunds with these ids could not be read: clients resolve dots in a path, and `create` is an endpoint. */
const unreachableIds: readonly string[] = ['create', '.', '..'];

const idSchema = () =>
  textSchema().refine(
    (value) => value !== '' && isAtMost(value, REFUND_ID_CHARACTERS_MAX) && !/\p{Cc}/u.test(value),
    `must have 1 to ${REFUND_ID_CHARACTERS_MAX} characters without control characters`,
  );

export const createRefundSchema = z
  .object({
    order_id: idSchema().meta({
      description: 'The payment session’s id, not the merchant’s order id.',
      example: 'cs_01kaj8xq2m7v5c9t3w6e1r4y0p',
    }),
    refund_id: idSchema()
      .refine((value) => !unreachableIds.includes(value), `must not be ${unreachableIds.join(', ')}`)
      .meta({
        description:
          'The merchant’s own id of the refund, unique per merchant and mode. A repeated request refunds once.',
        minLength: 1,
        maxLength: REFUND_ID_CHARACTERS_MAX,
        example: 'refund-77',
      }),
    amount: z
      .string('must be a decimal string such as "4.50"')
      .superRefine((value, context) => {
        const read = readRefundAmount(value);
        if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
      })
      .meta({ description: 'Decimal string with at most 2 decimals, above zero.', example: '4.50' }),
    currency: z
      .enum(currencies, `must be ${currencies.join(' or ')}`)
      .meta({ description: 'The currency that the session was paid in.' }),
    reason: z.enum(refundReasons).nullish().meta({ description: 'Why money is returned.' }),
    description: descriptionSchema('Shown to the payer.').nullish(),
    metadata: z
      .custom<NonNullable<NewRefund['metadata']>>()
      .superRefine(checkMetadata)
      .meta({
        type: 'object',
        additionalProperties: {},
        description:
          'Any values, at most 8 KiB as JSON and 32 levels deep. `refund_address` is the address to pay; without it the payer is asked for one.',
        example: { ticket: 4711 },
      })
      .nullish(),
  })
  .meta({ id: 'CreateRefund' });

export const refundDestinationSchema = z
  .object({
    address: textSchema()
      .trim()
      .min(1, 'must be an address')
      .max(ADDRESS_CHARACTERS_MAX, `must be an address of at most ${ADDRESS_CHARACTERS_MAX} characters`)
      .meta({ description: 'An address on the network that the refund is paid on.' }),
  })
  .meta({ id: 'ChangeRefundDestination' });

/** `sessionId` is null if no session can have the id that was sent. */
export type RefundInput = Omit<NewRefund, 'storeId' | 'mode' | 'sessionId' | 'replay' | 'nowMs'> &
  Readonly<{ sessionId: string | null }>;

/** Returns the documented code of a field of a new refund that is missing or wrong. */
export function refundFieldCode(param: string, value: unknown): ErrorCode | undefined {
  const isMissing = value === undefined || value === null || value === '';
  if (param === 'order_id' && isMissing) return 'MISSING_CHARGE';
  if (param === 'refund_id' && isMissing) return 'MISSING_REFUND_ID';
  if (param === 'amount') return 'INVALID_AMOUNT';
  return param === 'currency' ? 'INVALID_CURRENCY' : undefined;
}

/** Returns the plain request. */
export function readRefundInput(body: z.infer<typeof createRefundSchema>): RefundInput {
  const amountMinor = readRefundAmount(body.amount);
  invariant(typeof amountMinor === 'bigint', 'the schema has read the amount');
  const metadata = body.metadata ?? null;
  return {
    sessionId: parseSessionId(body.order_id),
    refundId: body.refund_id,
    amountMinor,
    currency: body.currency,
    reason: body.reason ?? null,
    description: body.description ?? null,
    metadata,
    refundAddress: (metadata?.refund_address ?? null) as string | null,
  };
}

function checkMetadata(metadata: unknown, context: z.RefinementCtx): void {
  const refuse = (message: string, path: string[] = []) => context.addIssue({ code: 'custom', message, path });
  if (!isFields(metadata)) {
    refuse('must be an object');
    return;
  }
  // Checked first: code that recurses once for each level would run out of stack.
  if (isDeeper(metadata, METADATA_LEVELS_MAX)) refuse(`must be at most ${METADATA_LEVELS_MAX} levels deep`);
  else if (Buffer.byteLength(writeExactly(metadata)) > METADATA_BYTES_MAX) {
    refuse(`must be at most ${METADATA_BYTES_MAX} bytes of JSON`);
  }
  const address = metadata.refund_address ?? null;
  if (address !== null && (typeof address !== 'string' || address.length > ADDRESS_CHARACTERS_MAX)) {
    refuse('must be an address, as a string', ['refund_address']);
  }
}

/** Says whether a value nests objects and arrays deeper than `levels`. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !(value instanceof ExactNumber) &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
