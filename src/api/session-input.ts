/**
 * The input of a session: the schema of the reference shape, the rules between its fields, and the plain request that
 * is read from it.
 */
import * as z from 'zod';
import { isFields } from '../core/fields.ts';
import type { Mode } from '../core/transfer.ts';
import type { LineItem, SessionRequest } from '../database/column-values.ts';
import { badParam } from './parameter.ts';

const LINE_ITEMS_MAX = 100;
const ORDER_ID_CHARACTERS_MAX = 128;
const URL_CHARACTERS_MAX = 2048;
const METADATA_KEYS_MAX = 50;
const METADATA_KEY_CHARACTERS_MAX = 40;
const METADATA_VALUE_CHARACTERS_MAX = 500;
const DESCRIPTION_CHARACTERS_MAX = 1000;
const PRODUCT_NAME_CHARACTERS_MAX = 500;
export const EXPIRES_IN_S_DEFAULT = 1800;

/** Counts Unicode code points. A text with more UTF-16 units than twice the limit need not be counted. */
export const isAtMost = (text: string, charactersMax: number): boolean =>
  text.length <= charactersMax || (text.length <= 2 * charactersMax && [...text].length <= charactersMax);

const LONE_SURROGATE = /\p{Cs}/u;

/** Returns a schema for text that can be stored unchanged; half a surrogate pair cannot. */
export const textSchema = () =>
  z.string('must be a string').refine((value) => !LONE_SURROGATE.test(value), 'must be well-formed Unicode text');

const INTEGER = 'must be an integer written in digits only, at most 9007199254740991';

/** Returns a schema for text of limited length. */
const shortTextSchema = (charactersMax: number) =>
  textSchema()
    .refine((value) => isAtMost(value, charactersMax), `must be at most ${charactersMax} characters`)
    .meta({ maxLength: charactersMax });

/** Returns a schema for an int64 of minor units. JSON numbers are exact up to 2^53 - 1. */
const minorUnits = (description: string) =>
  z
    .int({ error: INTEGER })
    .min(0, 'must not be negative')
    .meta({ description, format: 'int64', maximum: Number.MAX_SAFE_INTEGER, example: 1050 });

const isAbsoluteUrl = (value: string): boolean => /^https?:\/\/[^\s\p{Cc}]+$/iu.test(value) && URL.canParse(value);

const redirectUrl = () =>
  shortTextSchema(URL_CHARACTERS_MAX).refine(isAbsoluteUrl, 'must be an absolute https URL (http only in test mode)');

/** Returns a schema for the URL of an endpoint of webhooks. Whether it may be called is checked later. */
export const webhookUrl = (description: string) =>
  textSchema()
    .max(URL_CHARACTERS_MAX, `must be at most ${URL_CHARACTERS_MAX} characters`)
    .meta({ description, maxLength: URL_CHARACTERS_MAX, example: 'https://shop.example/webhooks' });

/** Returns a schema for a description of what `description` names. */
export const descriptionSchema = (description: string) =>
  shortTextSchema(DESCRIPTION_CHARACTERS_MAX).meta({ description, maxLength: DESCRIPTION_CHARACTERS_MAX });

const orderIdSchema = textSchema()
  .refine(
    (value) => value !== '' && isAtMost(value, ORDER_ID_CHARACTERS_MAX),
    `must have 1 to ${ORDER_ID_CHARACTERS_MAX} characters`,
  )
  .refine((value) => !/\p{Cc}/u.test(value), 'must not contain control characters')
  .meta({
    description:
      'The merchant’s own order id, unique per merchant and mode. A repeat of the request returns the same session.',
    minLength: 1,
    maxLength: ORDER_ID_CHARACTERS_MAX,
    example: 'order-1001',
  });

export const currencySchema = textSchema().meta({
  description: 'Upper-case currency code. USD, USDT and USDC are taken at par, others converted at a locked rate.',
  example: 'USD',
});

const metadataValueSchema = shortTextSchema(METADATA_VALUE_CHARACTERS_MAX);

/** Returns what is wrong with metadata, and where. It is read as it was sent: `z.record` skips a key `__proto__`. */
function metadataFault(metadata: unknown): Readonly<{ message: string; path?: string[] }> | null {
  if (!isFields(metadata)) return { message: 'must be an object of strings' };
  const entries = Object.entries(metadata);
  if (entries.length > METADATA_KEYS_MAX) return { message: `must have at most ${METADATA_KEYS_MAX} keys` };
  for (const [key, value] of entries) {
    const path = [key];
    if (LONE_SURROGATE.test(key)) return { path, message: 'must have a key of well-formed Unicode text' };
    if (!isAtMost(key, METADATA_KEY_CHARACTERS_MAX)) {
      return { path, message: `must have a key of at most ${METADATA_KEY_CHARACTERS_MAX} characters` };
    }
    const [issue] = metadataValueSchema.safeParse(value).error?.issues ?? [];
    if (issue) return { path, message: issue.message };
  }
  return null;
}

const metadataSchema = z
  .custom<Readonly<Record<string, string>>>()
  .superRefine((metadata, context) => {
    const fault = metadataFault(metadata);
    if (fault) context.addIssue({ code: 'custom', ...fault });
  })
  .meta({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Up to 50 keys of at most 40 characters; values are strings of at most 500 characters.',
    maxProperties: METADATA_KEYS_MAX,
    example: { cart: 'c-77' },
  });

/** A line of the basket, as it is sent and shown. */
export const lineItemSchema = z
  .object(
    {
      price_data: z
        .object(
          {
            currency: textSchema().meta({ description: 'Must equal the session currency.', example: 'USD' }),
            unit_amount: minorUnits('Price of one, in minor units.'),
            product_data: z
              .object(
                {
                  name: shortTextSchema(PRODUCT_NAME_CHARACTERS_MAX).min(1, 'must not be empty').meta({
                    description: 'Shown to the payer.',
                    maxLength: PRODUCT_NAME_CHARACTERS_MAX,
                    example: 'Coffee, 1 kg',
                  }),
                  description: descriptionSchema('Shown to the payer below the name.').nullish(),
                },
                'must be an object',
              )
              .meta({ description: 'The product or service.' }),
          },
          'must be an object',
        )
        .meta({ description: 'The product and its price.' }),
      quantity: z
        .int({ error: INTEGER })
        .min(1, 'must be at least 1')
        .nullish()
        .meta({ description: 'How many, at least 1; default 1.', maximum: Number.MAX_SAFE_INTEGER, example: 1 }),
    },
    'must be an object',
  )
  .meta({ id: 'LineItem' });

/** The fields that all shapes of the create call have. */
export const commonFields = {
  order_id: orderIdSchema,
  description: descriptionSchema('Shown to the payer.').nullish(),
  success_url: redirectUrl().nullish().meta({ description: 'Where the payer goes after paying.' }),
  cancel_url: redirectUrl().nullish().meta({ description: 'Where a payer who gives up goes.' }),
  metadata: metadataSchema.nullish(),
  webhook_url: webhookUrl('Receives the events of this session, in addition to the store’s endpoints.').nullish(),
  expires_in: z
    .int({ error: INTEGER })
    .min(60, 'must be at least 60')
    .max(3600, 'must be at most 3600')
    .nullish()
    .meta({ description: 'Seconds until the session expires; default 1800.' }),
};

/** The body of the reference create call. Unknown fields are ignored; null in an optional field means absent. */
export const createSessionSchema = z
  .object({
    amount: minorUnits('').min(1, 'must be at least 1').meta({
      description:
        'Minor units. Must equal line items plus tax plus shipping or, without line items, be at least tax plus shipping.',
    }),
    currency: currencySchema,
    ...commonFields,
    line_items: z
      .array(lineItemSchema, 'must be an array')
      .max(LINE_ITEMS_MAX, `must have at most ${LINE_ITEMS_MAX} items`)
      .nullish()
      .meta({ description: `The basket, shown to the payer; at most ${LINE_ITEMS_MAX} items.` }),
    tax_amount: minorUnits('Tax within `amount`, in minor units.').nullish(),
    shipping_amount: minorUnits('Shipping within `amount`, in minor units.').nullish(),
  })
  .meta({ id: 'CreateSession' });

/** The request for a session, whatever its shape. */
export type SessionInput = Readonly<{
  request: SessionRequest;
  expiresInS: number;
  /** The only network name and currency to offer; null for no restriction. */
  only: Readonly<{ network: string | null; currency: string | null }>;
  /** The order of a door that it is for, by its id. */
  doorOrder?: string;
}>;

/** Leaves the choice of network and stablecoin to the payer. */
export const anyOption: SessionInput['only'] = { network: null, currency: null };

type CreateSession = z.infer<typeof createSessionSchema>;

/**
 * Reads the reference shape.
 * @throws Refusal with `param`
 */
export function readSessionInput(body: CreateSession, mode: Mode): SessionInput {
  checkLineCurrencies(body);
  checkSum(body);
  const { line_items, tax_amount, shipping_amount } = body;
  return {
    request: {
      ...readCommon(body, mode),
      amountMinor: BigInt(body.amount),
      currency: body.currency,
      lineItems: line_items?.length ? line_items.map(plainItem) : null,
      taxMinor: toMinor(tax_amount),
      shippingMinor: toMinor(shipping_amount),
    },
    expiresInS: expiresInS(body),
    only: anyOption,
  };
}

type CommonFields = z.infer<z.ZodObject<typeof commonFields>>;

/**
 * Reads the part of a request that is the same in every shape.
 * @throws Refusal when a live session names a plain http URL
 */
export function readCommon(body: CommonFields, mode: Mode) {
  for (const param of ['success_url', 'cancel_url'] as const) {
    const url = body[param];
    if (url && mode === 'live' && !/^https:/i.test(url)) throw badParam(param, 'must be an https URL in live mode');
  }
  return {
    orderId: body.order_id,
    description: body.description ?? null,
    successUrl: body.success_url ?? null,
    cancelUrl: body.cancel_url ?? null,
    metadata: body.metadata ?? {},
    webhookUrl: body.webhook_url ?? null,
  };
}

export const expiresInS = (parsed: CommonFields): number => parsed.expires_in ?? EXPIRES_IN_S_DEFAULT;

type Item = z.infer<typeof lineItemSchema>;

function checkLineCurrencies({ currency, line_items }: CreateSession): void {
  const at = line_items?.findIndex(({ price_data }) => price_data.currency !== currency) ?? -1;
  if (at >= 0) throw badParam(`line_items[${at}].price_data.currency`, `must equal the session currency ${currency}`);
}

/** Adds up as bigint: a hundred products of two large integers exceed the exact range of numbers. */
function checkSum({ amount, line_items, tax_amount, shipping_amount }: CreateSession): void {
  const extras = BigInt(tax_amount ?? 0) + BigInt(shipping_amount ?? 0);
  if (!line_items?.length) {
    if (BigInt(amount) < extras) throw badParam('amount', `must be at least tax_amount + shipping_amount (${extras})`);
    return;
  }
  const goods = line_items.reduce(
    (sum, { price_data, quantity }) => sum + BigInt(price_data.unit_amount) * BigInt(quantity ?? 1),
    0n,
  );
  if (BigInt(amount) !== goods + extras) {
    throw badParam('amount', `must equal the line items, tax and shipping together (${goods + extras})`);
  }
}

const toMinor = (amount: number | null | undefined): bigint | null => (amount == null ? null : BigInt(amount));

/** Returns a line item with its defaults and without undocumented fields. */
function plainItem({ price_data, quantity }: Item): LineItem {
  const { name, description } = price_data.product_data;
  return {
    price_data: {
      currency: price_data.currency,
      unit_amount: price_data.unit_amount,
      product_data: { name, ...(description != null && { description }) },
    },
    quantity: quantity ?? 1,
  };
}
