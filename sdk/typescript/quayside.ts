/**
 * Client of a Quayside installation, for Node 18 or newer. It signs every request, tries again where that is safe, reads
 * lists page by page, and verifies webhooks. The reference of your installation, at `/docs`, explains each field.
 */
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';

export const VERSION = '0.1.0';
const USER_AGENT = `quayside-typescript/${VERSION} (node ${process.versions.node})`;
const SECONDS_MS = 1000;
const RETRIED: readonly number[] = [429, 500, 502, 503, 504];
/** The longest time that a server may ask to wait, and the bounds of a wait that it does not name. */
const WAIT_MS_MAX = 60_000;
const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 8_000;

export type ClientOptions = Readonly<{
  apiKey: string;
  /** Secret of the API key. It is never sent, and never part of an error. */
  apiSecret: string;
  /** Where the installation is: `https://pay.example.com`. */
  baseUrl: string;
  /** How long one try may take. */
  timeoutMs?: number;
  /** How many more tries there are after the first. */
  maxRetries?: number;
  fetch?: typeof fetch;
  nowMs?: () => number;
  sleep?: (ms: number) => Promise<void>;
}>;

// ── Objects of the API ──────────────────────────────────────────────────────────────────────────────────────────────

export type LineItem = Readonly<{
  price_data: Readonly<{
    currency: string;
    unit_amount: number;
    product_data: Readonly<{ name: string; description?: string }>;
  }>;
  quantity?: number;
}>;

/** Amounts are integers in minor units: 1050 is 10.50. */
export type CreateSession = Readonly<{
  amount: number;
  currency: string;
  order_id: string;
  description?: string;
  success_url?: string;
  cancel_url?: string;
  metadata?: Readonly<Record<string, string>>;
  webhook_url?: string;
  expires_in?: number;
  line_items?: readonly LineItem[];
  tax_amount?: number;
  shipping_amount?: number;
}>;

export type PaymentOption = Readonly<{
  network: string;
  currency: string;
  address: string;
  amount: string;
  confirmations_required: number;
  qr_code_data: string;
  deep_link: string;
}>;

export type Payment = Readonly<{
  network: string;
  currency: string;
  amount: string;
  transaction_hash: string;
  confirmations: number;
  status: 'seen' | 'confirmed' | 'orphaned';
}>;

export type Refundable = Readonly<{
  currency: string;
  amount: string;
}>;

export type PaymentSession = Readonly<{
  id: string;
  amount_total: number;
  currency: string;
  payment_status: 'pending' | 'paid' | 'failed' | 'expired' | 'canceled';
  created: number;
  expires_at: number;
  url?: string;
  payer_url?: string;
  line_items?: readonly LineItem[];
  tax_amount?: number;
  shipping_amount?: number;
  exchange_rate?: string;
  target_currency?: string;
  target_amount_total?: number;
  rate_locked_at?: number;
  metadata?: Readonly<Record<string, string>>;
  payment_options?: readonly PaymentOption[];
  payments?: readonly Payment[];
  payments_total?: number;
  underpaid?: boolean;
  overpaid?: boolean;
  paid_late?: boolean;
  paid_at?: number;
  refundable?: readonly Refundable[];
}>;

/** `order_id` is the id of the session, `refund_id` one of your own, and `amount` a decimal: `'4.50'`. */
export type CreateRefund = Readonly<{
  order_id: string;
  refund_id: string;
  amount: string;
  currency: string;
  reason?: string;
  description?: string;
  metadata?: Readonly<Record<string, string>>;
}>;

export type RefundDestination = Readonly<{
  network: string;
  address: string;
}>;

export type Refund = Readonly<{
  refund_id: string;
  session_id: string;
  order_id: string;
  amount: string;
  currency: string;
  status: string;
  reason?: string;
  description?: string;
  created_at: number;
  metadata?: Readonly<Record<string, string>>;
  next_action?: Readonly<{ type: string; url: string }>;
  destination?: RefundDestination;
  destination_source?: string;
  waits_for?: 'signer';
  failure_reason?: string | null;
  transaction_hash?: string;
  receipt_number?: string;
  processed_at?: number;
}>;

export type CanceledRefund = Readonly<{
  refund_id: string;
  status: string;
  canceled_at: number;
  destination?: RefundDestination;
  destination_source?: string;
}>;

/** An event, as a webhook brings it and as the list of events has it. */
export type PaymentEvent = Readonly<{
  id: string;
  type: string;
  created_at: number;
  livemode: boolean;
  data: Readonly<{ object: Readonly<Record<string, unknown>> }>;
}>;

type Page<T> = Readonly<{ data: readonly T[]; has_more: boolean }>;

/** `ending_before` reads towards the newest, the oldest first; without it, a list begins with the newest. */
export type ListFilter = Readonly<{
  limit?: number;
  starting_after?: string;
  ending_before?: string;
  created_from?: number;
  created_to?: number;
}>;
export type SessionFilter = ListFilter & Readonly<{ order_id?: string; status?: string }>;
export type RefundFilter = ListFilter & Readonly<{ session_id?: string; order_id?: string; status?: string }>;
export type EventFilter = ListFilter & Readonly<{ type?: readonly string[] }>;

// ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Details = Readonly<{
  status?: number;
  type?: string;
  code: string;
  param?: string | undefined;
  requestId?: string | undefined;
}>;

/** Every error of this client. `code` is for programs, `message` for people; `status` is 0 without an answer. */
export class QuaysideError extends Error {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, { status = 0, type = 'client_error', code, param, requestId }: Details) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.type = type;
    this.code = code;
    this.param = param;
    this.requestId = requestId;
  }
}
/** The key, the clock or the signature is wrong (401). */
export class AuthenticationError extends QuaysideError {}
/** The key may not do this, or its store is suspended (403). */
export class PermissionError extends QuaysideError {}
/** There is no such thing for this key (404). */
export class NotFoundError extends QuaysideError {}
/** The request cannot be carried out as it is (other 4xx). */
export class InvalidRequestError extends QuaysideError {}
/** Too many requests, also after the retries (429). */
export class RateLimitError extends QuaysideError {}
/** The server failed, or what answered is no Quayside (5xx, redirects, no JSON). */
export class ApiError extends QuaysideError {}
/** No answer came in time. A call that was not tried again may have been carried out. */
export class ConnectionError extends QuaysideError {}
/** A webhook is not from your installation, is too old, or is of the other mode. */
export class SignatureError extends QuaysideError {}

const classes: Readonly<Record<number, typeof QuaysideError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitError,
};

type ErrorAnswer = { error?: Record<'type' | 'code' | 'message' | 'param', string>; request_id?: string };

/** Returns the error of an answer that is no success. @param answer undefined if the body was no JSON */
function errorOf(status: number, answer: ErrorAnswer | undefined): QuaysideError {
  const { type, code, message, param } = answer?.error ?? {};
  if (type === undefined || code === undefined || message === undefined) {
    const text = `status ${status} without an answer of Quayside: check the base URL, and the proxy in front of it`;
    return new ApiError(text, { status, code: 'invalid_answer' });
  }
  const details = { status, type, code, param, requestId: answer?.request_id };
  return new (classes[status] ?? (status >= 500 ? ApiError : InvalidRequestError))(message, details);
}

// ── The client ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Method = 'GET' | 'POST' | 'DELETE';
/** `idempotencyKey` makes a call safe to repeat that names no order or refund. */
type RequestOptions = Readonly<{ body?: Readonly<Record<string, unknown>>; idempotencyKey?: string }>;

/** A call without an answer, or with one that says nothing about its outcome. */
type Unanswered = Readonly<{ error: QuaysideError; waitMs: number | null }>;

type Request = <T>(method: Method, path: string, options?: RequestOptions) => Promise<T>;

const sleepMs = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Returns what makes signed calls, and repeats those that are safe to repeat. */
function createRequest(options: ClientOptions): Request {
  const { apiKey, apiSecret, timeoutMs = 30_000, maxRetries = 2, nowMs = Date.now, sleep = sleepMs } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');

  function headersOf(method: Method, path: string, text: string, key: string | undefined): Record<string, string> {
    const timestamp = String(Math.floor(nowMs() / SECONDS_MS));
    const nonce = randomBytes(16).toString('hex');
    return {
      Authorization: `Bearer ${apiKey}`,
      'Content-Type': 'application/json',
      'User-Agent': USER_AGENT,
      'X-Service-Timestamp': timestamp,
      'X-Service-Nonce': nonce,
      'X-Service-Signature': hmac(apiSecret, `${timestamp}.${nonce}.${text}`),
      'X-Service-Request-Signature': hmac(apiSecret, [timestamp, nonce, method, path, text].join('\n')),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
  }

  async function attempt<T>(method: Method, path: string, text: string, key?: string): Promise<T | Unanswered> {
    let response: Response;
    let answer: unknown;
    try {
      response = await (options.fetch ?? fetch)(baseUrl + path, {
        method,
        headers: headersOf(method, path, text, key),
        ...(text !== '' && { body: text }),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      answer = parse(await response.text());
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { error: new ConnectionError(`no answer from ${baseUrl}: ${why}`, { code: 'no_answer' }), waitMs: null };
    }
    if (response.ok && answer !== undefined) return answer as T;
    const error = errorOf(response.status, answer as ErrorAnswer | undefined);
    if (!RETRIED.includes(response.status) && !response.ok) throw error;
    const waitS = Number(response.headers.get('Retry-After') ?? Number.NaN);
    return { error, waitMs: waitS >= 0 ? waitS * SECONDS_MS : null };
  }

  return async <T>(method: Method, path: string, { body, idempotencyKey }: RequestOptions = {}): Promise<T> => {
    const text = body === undefined ? '' : encode(body);
    const isNamed = body !== undefined && ('refund_id' in body || 'order_id' in body);
    const isRepeatable = method === 'GET' || idempotencyKey !== undefined || isNamed;
    for (let tried = 0; ; tried++) {
      const outcome = await attempt<T>(method, path, text, idempotencyKey);
      if (!isUnanswered(outcome)) return outcome;
      const { error, waitMs } = outcome;
      if (!isRepeatable || tried >= maxRetries || (waitMs ?? 0) > WAIT_MS_MAX) throw error;
      await sleep(waitMs ?? Math.random() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** tried));
    }
  };
}

/** Yields the rows of a list, page by page, in the direction that the filter asks for. */
async function* readRows<T>(
  request: Request,
  path: string,
  filter: ListFilter,
  idOf: (row: T) => string,
): AsyncGenerator<T, void> {
  const direction = filter.ending_before === undefined ? 'starting_after' : 'ending_before';
  for (let query = filter; ; ) {
    const { data, has_more } = await request<Page<T>>('GET', `${path}${queryOf(query)}`);
    const ordered = direction === 'ending_before' ? [...data].reverse() : data;
    yield* ordered;
    const last = ordered.at(-1);
    if (!has_more || last === undefined) return;
    query = { ...query, [direction]: idOf(last) };
  }
}

const SESSIONS = '/api/v1/checkout/sessions';
const REFUNDS = '/api/v1/refunds';
const EVENTS = '/api/v1/events';
const once = () => ({ idempotencyKey: randomUUID() });

export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client. It holds no connection and no timer. Every call rejects with a `QuaysideError`.
 * @throws TypeError if the key, its secret or the base URL is missing
 */
export function createClient(options: ClientOptions) {
  const { apiKey, apiSecret, baseUrl, nowMs = Date.now } = options;
  if (!apiKey || !apiSecret || !baseUrl) throw new TypeError('apiKey, apiSecret and baseUrl are required');
  const request = createRequest(options);
  return {
    /** Makes a signed call that this client has no function for. */
    request,
    sessions: {
      /** Creates a session; the same `order_id` with the same body returns the same session. */
      create: (body: CreateSession) => request<PaymentSession>('POST', `${SESSIONS}/create`, { body }),
      get: (id: string) => request<PaymentSession>('GET', `${SESSIONS}/${segment(id)}`),
      cancel: (id: string) => request<PaymentSession>('POST', `${SESSIONS}/${segment(id)}/cancel`, once()),
      list: (filter: SessionFilter = {}) => readRows<PaymentSession>(request, SESSIONS, filter, ({ id }) => id),
    },
    refunds: {
      /** Creates a refund; the same `refund_id` with the same body pays once. */
      create: (body: CreateRefund) => request<Refund>('POST', `${REFUNDS}/create`, { body }),
      get: (id: string) => request<Refund>('GET', `${REFUNDS}/${segment(id)}`),
      cancel: (id: string) => request<CanceledRefund>('POST', `${REFUNDS}/${segment(id)}/cancel`, once()),
      list: (filter: RefundFilter = {}) => readRows<Refund>(request, REFUNDS, filter, (refund) => refund.refund_id),
    },
    events: {
      get: (id: string) => request<PaymentEvent>('GET', `${EVENTS}/${segment(id)}`),
      list: (filter: EventFilter = {}) => readRows<PaymentEvent>(request, EVENTS, filter, ({ id }) => id),
    },
    webhooks: {
      /**
       * Returns the event of a webhook that this installation has sent for the mode of the API key.
       * @param body the raw bytes, before any JSON parser
       * @param secrets the endpoint's secret; while it is being rotated, both
       * @throws SignatureError
       */
      verify(
        body: Uint8Array | string,
        headers: WebhookHeaders,
        secrets: string | readonly string[],
        toleranceS = 300,
      ) {
        const at = { nowS: nowMs() / SECONDS_MS, isLive: apiKey.startsWith('sk_live_') };
        return verify({ body, headers, secrets: [secrets].flat(), toleranceS, ...at });
      },
    },
  };
}

const isUnanswered = (outcome: unknown): outcome is Unanswered =>
  typeof outcome === 'object' && outcome !== null && 'error' in outcome && outcome.error instanceof QuaysideError;

const hmac = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');
const segment = (id: string): string => encodeURIComponent(id);

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the JSON of a body. @throws TypeError for a number that is not exact, so that no amount is rounded */
const encode = (body: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(body, (name, value: unknown) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    throw new TypeError(`${name} must be an integer; amounts are integers in minor units, or decimal strings`);
  });

function queryOf(filter: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    for (const one of [value].flat()) if (one !== undefined) query.append(name, String(one));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

// ── Webhooks ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** As Node gives them, or the `Headers` of a `Request`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

type Received = Readonly<{
  body: Uint8Array | string;
  headers: WebhookHeaders;
  secrets: readonly string[];
  toleranceS: number;
  nowS: number;
  isLive: boolean;
}>;

function verify({ body, headers, secrets, toleranceS, nowS, isLive }: Received): PaymentEvent {
  const values = new Map(
    (headers instanceof Headers ? [...headers] : Object.entries(headers)).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  );
  const header = (name: string) => String(values.get(name) ?? '');
  const [timestamp, nonce] = [header('x-service-timestamp'), header('x-service-nonce')];
  const given = Buffer.from(header('x-service-signature'), 'hex');
  const isSigned = secrets.filter((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(body).digest();
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  const refuse = (code: string, message: string) => new SignatureError(message, { code });
  if (isSigned.length === 0) throw refuse('wrong_signature', 'the webhook is not signed with this secret');
  if (!(Math.abs(nowS - Number(timestamp)) <= toleranceS))
    throw refuse('too_old', 'the webhook is too old, or a clock is wrong');
  const event = parse(Buffer.from(body).toString()) as PaymentEvent;
  if (event?.livemode !== isLive) throw refuse('other_mode', 'the webhook is of the other mode than the API key');
  return event;
}
