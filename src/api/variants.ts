/**
 * The two quick-start shapes, as thin adapters over the session service: `/v1/payment/sessions`, and the `mode` shape
 * of the create call. Both answer with a `base` + `session` envelope; errors have the ordinary body.
 */
import * as z from 'zod';
import type { Config } from '../config/config.ts';
import type { SessionStatus } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import { formatUnits, parseUnits } from '../core/money.ts';
import { currencies, type Mode } from '../core/transfer.ts';
import type { Session } from '../database/session.ts';
import { optionAddress } from '../payments/option.ts';
import { paymentUrl, type UrlParts } from '../payments/payment-url.ts';
import { exponentOf } from '../rates/currencies.ts';
import { type ApiDeps, type Caller, type Endpoint, endpoint, type Sent } from './endpoint.ts';
import { refuse } from './errors.ts';
import { examples } from './examples.ts';
import { badParam, check, missing } from './parameter.ts';
import {
  anyOption,
  commonFields,
  currencySchema,
  expiresInS,
  readCommon,
  type SessionInput,
  textSchema,
} from './session-input.ts';
import { createErrors, createSession, findSession } from './session-service.ts';
import { payerLink } from './session-view.ts';

const PATH = '/v1/payment/sessions';

const decimalSchema = textSchema().meta({
  description: 'Decimal amount in units of the currency. Zeros beyond its decimals are accepted: `100.0` JPY is 100.',
  example: '10.50',
});
const baseSchema = z
  .object({
    code: z.literal(0).meta({ description: 'Always 0: errors have the ordinary body.' }),
    message: z.literal('success').meta({ description: 'Always `success`.' }),
  })
  .meta({ description: 'The result of the call.' });
const base = { code: 0, message: 'success' } as const;

/** The quick-start names of the five statuses. */
const upperStatuses = ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELED'] as const;
type UpperStatus = (typeof upperStatuses)[number];

const upperStatus: Readonly<Record<SessionStatus, UpperStatus>> = {
  pending: 'PENDING',
  paid: 'COMPLETED',
  failed: 'FAILED',
  expired: 'EXPIRED',
  canceled: 'CANCELED',
};

/** The reference fields that no quick-start shape has. */
const absent = { lineItems: null, taxMinor: null, shippingMinor: null } as const;

/** Removes the zeros at the end of a fraction, which change nothing. */
const withoutZeros = (text: string): string =>
  /\.\d+$/.test(text) ? text.replace(/0+$/, '').replace(/\.$/, '') : text;

/**
 * Reads a decimal amount as minor units of its currency.
 * @throws Refusal naming the parameter
 */
function readAmount(text: string, currency: string, params: Readonly<{ amount: string; currency: string }>): bigint {
  const exponent = exponentOf(currency);
  if (exponent === null) throw refuse('unsupported_currency', { param: params.currency });
  const minor = parseUnits(withoutZeros(text), exponent);
  if (minor === null || minor < 1n || minor > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw badParam(params.amount, `must be a decimal string above zero with at most ${exponent} decimals`);
  }
  return minor;
}

// ── /v1/payment/sessions ─────────────────────────────────────────────────────────────────────────────────────────────

const quickStartBodySchema = z
  .object({
    merchant_id: textSchema().nullish().meta({ description: 'The merchant of the API key.' }),
    amount: z
      .object({ value: decimalSchema, currency: currencySchema }, 'must be an object')
      .meta({ description: 'The price.' }),
    ...commonFields,
  })
  .meta({ id: 'QuickStartCreate' });

const sessionAmountSchema = z
  .object({
    value: z.string().meta({ description: 'Decimal amount in units of the currency.' }),
    currency: z.string().meta({ description: 'As it was sent.' }),
  })
  .meta({ description: 'The price.' });

const quickStartAnswerSchema = z
  .object({
    base: baseSchema,
    session: z
      .object({
        session_id: z.string().meta({ description: 'The session’s id.' }),
        merchant_id: z.string().meta({ description: 'The merchant of the API key.' }),
        order_id: z.string().meta({ description: 'The merchant’s order id.' }),
        amount: sessionAmountSchema,
        status: z.enum(upperStatuses).meta({ description: 'The session’s status; a paid session is `COMPLETED`.' }),
        payment_url: z.string().meta({ description: 'Hosted payment page.' }),
        payer_url: z.string().optional().meta({ description: 'The same page for the payer alone.' }),
        qr_code_data: z.string().optional().meta({ description: 'The bare address of the first network.' }),
        created_at: z.int().meta({ description: 'Creation, Unix seconds.' }),
        expires_at: z.int().meta({ description: 'Expiry, Unix seconds.' }),
      })
      .catchall(z.union([z.string(), z.number(), sessionAmountSchema]))
      .meta({ description: 'Contains `<network>_address` for every network on offer.' }),
  })
  .meta({ id: 'QuickStartSession' });

/** Returns the endpoints POST and GET of `/v1/payment/sessions`. */
export const quickStartEndpoints = (deps: ApiDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: PATH,
    scope: 'sessions:write',
    usesNonce: true,
    operationId: 'createQuickStartSession',
    tag: 'Quick start',
    summary: 'Create a session (quick-start shape)',
    description:
      'Like the reference call, with a decimal amount and an envelope. A refused call is answered with the ordinary error body, without the envelope.',
    body: [quickStartBodySchema, examples.quickStartBody],
    answer: [quickStartAnswerSchema, examples.quickStartAnswer],
    errors: ['FORBIDDEN', ...createErrors],
    async run(call) {
      const { caller, body } = call;
      if (body.merchant_id != null && body.merchant_id !== caller.storeId) {
        throw refuse('FORBIDDEN', { param: 'merchant_id' });
      }
      const { value, currency } = body.amount;
      const amountMinor = readAmount(value, currency, { amount: 'amount.value', currency: 'amount.currency' });
      const input: SessionInput = {
        request: { ...readCommon(body, caller.mode), ...absent, amountMinor, currency },
        expiresInS: expiresInS(body),
        only: anyOption,
      };
      const { session, replayed } = await createSession(deps, caller, input, call);
      return { body: quickStartAnswer(session, deps, caller), replayed };
    },
  }),
  endpoint({
    method: 'get',
    path: `${PATH}/{session_id}`,
    scope: 'sessions:read',
    operationId: 'getQuickStartSession',
    tag: 'Quick start',
    summary: 'Read a session (quick-start shape)',
    description: 'Returns the session as it is now, in the quick-start envelope.',
    answer: [quickStartAnswerSchema, examples.quickStartAnswer],
    async run({ caller, id }) {
      return { body: quickStartAnswer(await findSession(deps, caller, id), deps, caller) };
    },
  }),
];

/** Returns what both shapes say of a session. */
const commonAnswer = (session: Session, parts: UrlParts, caller: Pick<Caller, 'scopes'>) => ({
  session_id: session.id,
  order_id: session.request.orderId,
  status: upperStatus[session.life.status],
  ...payerLink(session, parts, caller),
  created_at: session.createdAtS,
  expires_at: session.terms.expiresAtS,
});

function quickStartAnswer(
  session: Session,
  parts: UrlParts,
  caller: Pick<Caller, 'scopes'>,
): z.infer<typeof quickStartAnswerSchema> {
  const { request, options } = session;
  const first = options[0];
  return {
    base,
    session: {
      ...commonAnswer(session, parts, caller),
      merchant_id: session.storeId,
      amount: { value: decimalAmount(session), currency: request.currency },
      payment_url: paymentUrl(session, parts.config),
      ...Object.fromEntries(options.map((option) => [`${option.network}_address`, optionAddress(session, option)])),
      ...(first && { qr_code_data: optionAddress(session, first) }),
    },
  };
}

function decimalAmount({ request }: Session): string {
  const exponent = exponentOf(request.currency);
  invariant(exponent !== null, `session currency ${request.currency} has an exponent`);
  return formatUnits(request.amountMinor, exponent, exponent);
}

// ── The `mode` shape of the create call ──────────────────────────────────────────────────────────────────────────────

const mustBeObject = 'must be an object';

/** The currency is by default that of `payment_method_options.crypto`, whose fields narrow what is offered. */
const modeBodySchema = z.object({
  mode: textSchema().nullish(),
  amount: decimalSchema,
  currency: currencySchema.nullish(),
  payment_method_types: z.array(textSchema(), 'must be an array').nullish(),
  payment_method_options: z
    .object(
      {
        crypto: z
          .object(
            { network: textSchema().nullish(), currency: z.enum(currencies, 'must be USDT or USDC').nullish() },
            mustBeObject,
          )
          .nullish(),
      },
      mustBeObject,
    )
    .nullish(),
  ...commonFields,
});

/**
 * Says whether a body has the quick-start shape. The reference shape has an integer amount and ignores unknown fields,
 * so `mode` with an integer amount changes nothing.
 */
export const isModeShape = (body: Sent | null): boolean =>
  typeof body?.amount === 'string' && (body.mode !== undefined || body.payment_method_types !== undefined);

/**
 * Reads the `mode` shape.
 * @throws Refusal with `param`
 */
export function readModeInput(body: unknown, mode: Mode, config: Pick<Config, 'networks'>): SessionInput {
  const parsed = check(modeBodySchema, body);
  const crypto = parsed.payment_method_options?.crypto;
  const currency = parsed.currency ?? crypto?.currency;
  if (currency == null) throw missing('currency');
  const param = parsed.currency == null ? 'payment_method_options.crypto.currency' : 'currency';
  return {
    request: {
      ...readCommon(parsed, mode),
      ...absent,
      amountMinor: readAmount(parsed.amount, currency, { amount: 'amount', currency: param }),
      currency,
    },
    expiresInS: expiresInS(parsed),
    only: { network: offeredNetwork(crypto?.network, mode, config), currency: crypto?.currency ?? null },
  };
}

/** Returns the configured name of a network that was named in any case. */
function offeredNetwork(name: string | null | undefined, mode: Mode, config: Pick<Config, 'networks'>): string | null {
  if (name == null) return null;
  const network = config.networks.find((one) => one.mode === mode && one.name === name.toLowerCase());
  if (!network) throw badParam('payment_method_options.crypto.network', 'is not a network that this server accepts');
  return network.name;
}

/** Returns the `mode` shape of a session: `base` and `session`. */
export function modeAnswer(session: Session, parts: UrlParts, caller: Pick<Caller, 'scopes'>) {
  return {
    base,
    session: {
      ...commonAnswer(session, parts, caller),
      payment_status: session.life.status,
      created: session.createdAtS,
      url: paymentUrl(session, parts.config),
    },
  };
}
