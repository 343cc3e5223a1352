/**
 * Every way the API says no. One table holds each code's HTTP status, type and words; the bodies, the OpenAPI document and the
 * page at `/docs/errors` are made from it.
 * @module
 */
import { Fault } from '../core/fault.ts';
import { BodyError } from '../lib/request-body.ts';

/** The documented classes of `error.type`. */
export const errorTypes = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'rate_limit_error',
  'api_error',
] as const;

export type ErrorType = (typeof errorTypes)[number];

/** `meaning` and `remedy` are whole sentences: together they are the default message. */
type Row = Readonly<{ status: number; type: ErrorType; meaning: string; remedy: string; retryAfterS?: number }>;

const invalid = (status: number, meaning: string, remedy: string): Row => ({
  status,
  type: 'invalid_request_error',
  meaning,
  remedy,
});
const unauthenticated = (meaning: string, remedy: string): Row => ({
  status: 401,
  type: 'authentication_error',
  meaning,
  remedy,
});
const forbidden = (meaning: string, remedy: string): Row => ({
  status: 403,
  type: 'permission_error',
  meaning,
  remedy,
});
const unavailable = (retryAfterS: number, meaning: string, remedy: string): Row => ({
  status: 503,
  type: 'api_error',
  meaning,
  remedy,
  retryAfterS,
});

export const errorTable = {
  missing_header: unauthenticated(
    'A header that every signed request needs is missing or empty.',
    'Send Authorization, X-Service-Timestamp, X-Service-Nonce and X-Service-Signature; `param` names the missing one.',
  ),
  invalid_api_key: unauthenticated(
    'The API key is unknown, revoked or malformed.',
    'Send `Authorization: Bearer <API key>` with a current key of this installation.',
  ),
  timestamp_out_of_range: unauthenticated(
    'X-Service-Timestamp is not an integer, or more than 300 seconds from the server clock.',
    'Send Unix time in seconds and compare your clock with `error.server_time`.',
  ),
  invalid_signature: unauthenticated(
    'X-Service-Signature does not fit this request.',
    'Sign timestamp + "." + nonce + "." + the exact bytes of the body (nothing for GET or an empty body) with HMAC-SHA256 and the secret paired with the key, as 64 hex digits.',
  ),
  invalid_nonce: unauthenticated(
    'X-Service-Nonce must be 8 to 128 visible ASCII characters without a dot.',
    'Send a fresh UUID.',
  ),
  nonce_reused: unauthenticated(
    'X-Service-Nonce was used before with this key.',
    'Make a new nonce and a new signature for every request, also when you repeat one.',
  ),
  FORBIDDEN: forbidden(
    'The request names a merchant that this API key does not belong to.',
    'Leave the merchant id out, or send the one that came with the key.',
  ),
  insufficient_scope: forbidden(
    'The API key is not allowed to do this.',
    'Use a key that has the scope; the operator issues keys.',
  ),
  store_not_approved: forbidden(
    'The store of this API key waits for the approval of the operator.',
    'Ask the operator to approve the store.',
  ),
  route_not_found: invalid(404, 'There is nothing at this path.', 'See /docs for the paths there are.'),
  method_not_allowed: invalid(
    405,
    'This path exists, but not for this method.',
    'The Allow header lists the methods it has.',
  ),
  body_too_large: invalid(413, 'The body is larger than this server accepts.', 'Send a smaller body.'),
  malformed_request: invalid(
    400,
    'This is no HTTP/1.1 request that can be read, or it has not exactly one Host header.',
    'Check what stands between your program and this server; an ordinary HTTP client never sends this.',
  ),
  request_timeout: invalid(
    408,
    'The request did not arrive in time.',
    'Send the headers within 10 seconds and the whole request within 30.',
  ),
  expectation_failed: invalid(
    417,
    'The Expect header asks for something that this server does not know.',
    'Leave the header out, or send 100-continue.',
  ),
  headers_too_large: invalid(431, 'The headers, path included, are larger than 16 KiB.', 'Send less in headers.'),
  invalid_content_type: invalid(
    400,
    'A request with a body must be sent as JSON in UTF-8, uncompressed.',
    'Set `Content-Type: application/json` and no Content-Encoding.',
  ),
  invalid_json: invalid(400, 'The body is not a JSON object in UTF-8.', 'Check the JSON text that was sent.'),
  missing_parameter: invalid(400, 'A required parameter is missing.', '`param` names it.'),
  invalid_parameter: invalid(400, 'A parameter has a wrong type or value.', '`param` names it.'),
  unsupported_currency: invalid(
    400,
    'This currency cannot be taken.',
    'Use USD, USDT, USDC or another upper-case currency code that this installation has rates for.',
  ),
  order_id_conflict: invalid(
    400,
    'This order_id was used before with another request body.',
    'Use a new order_id for a new order; repeat the exact request to get the first session again.',
  ),
  idempotency_key_conflict: invalid(
    400,
    'This Idempotency-Key was used before with another request body.',
    'Use a new key for a new request.',
  ),
  session_not_found: invalid(
    404,
    'No session with this id exists for this API key.',
    'Check the id, and that key and session are of the same store and mode.',
  ),
  payment_in_progress: invalid(
    400,
    'Money for this session was seen on the chain, so it can no longer be canceled.',
    'Wait for it to confirm, then refund.',
  ),
  session_expired: invalid(400, 'The session has expired.', 'Nothing is left to cancel.'),
  session_not_cancelable: invalid(400, 'The session has ended as paid or failed.', 'Only a pending one is cancelable.'),
  simulation_refused: invalid(400, 'The sandbox cannot play this now.', '`message` says why, and what to do first.'),
  MISSING_CHARGE: invalid(400, 'The payment session’s id is missing.', 'Send it as `order_id`.'),
  MISSING_REFUND_ID: invalid(400, 'The refund’s id is missing.', 'Send an id of your own as `refund_id`.'),
  INVALID_JSON: invalid(
    400,
    'The body is not a JSON object in UTF-8, or a field has a wrong type or value.',
    '`param` names the field, if it is one.',
  ),
  INVALID_CURRENCY: invalid(
    400,
    'The currency is not one that this session was paid in.',
    'Refund in the currency that the session’s `payments` show.',
  ),
  INVALID_AMOUNT: invalid(
    400,
    'The amount is not a decimal string above zero with at most 2 decimals.',
    'Write it like "4.50".',
  ),
  INVALID_SESSION_STATUS: invalid(
    400,
    'Only a paid session can be refunded.',
    'Wait until it is paid; money held on another session is returned by the operator.',
  ),
  REFUND_AMOUNT_EXCEEDED: invalid(
    400,
    'The refunds of this session would be more than was received.',
    'Refund at most what is left; failed and canceled refunds do not count.',
  ),
  REFUND_TIME_EXPIRED: invalid(
    400,
    'The payment is too long ago to be refunded.',
    'Ask the operator, who sets the refund window of the store.',
  ),
  CANNOT_CANCEL_REFUND: invalid(
    400,
    'Only a refund that is processing, and not yet on its way, can be canceled.',
    'Read the refund to see its status; the operator can cancel a pending one.',
  ),
  DUPLICATE_REFUND_ID: invalid(
    400,
    'This refund_id was used before with another request body.',
    'Use a new refund_id for a new refund; repeat the exact request to get the first answer again.',
  ),
  IDEMPOTENCY_KEY_CONFLICT: invalid(
    400,
    'This Idempotency-Key was used before with another request body.',
    'Use a new key for a new request.',
  ),
  SESSION_NOT_FOUND: invalid(404, 'There is no session with this id.', 'Check `order_id`: it is the session’s id.'),
  REFUND_NOT_FOUND: invalid(404, 'There is no refund with this id.', 'Check the refund_id and the mode of the key.'),
  session_access_denied: forbidden(
    'The session belongs to another merchant, or to the other mode.',
    'Use a key of the store and mode that the session was made with.',
  ),
  DAILY_REFUND_LIMIT_EXCEEDED: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'This refund would exceed what the store may refund in one day (UTC).',
    remedy: 'Repeat it tomorrow, or ask the operator to raise the limit.',
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'Too many requests came in too short a time.',
    remedy: 'Wait for the seconds in the Retry-After header; the nonce was not used up.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    meaning: 'The server failed to handle the request.',
    remedy:
      'Repeat it with the same order_id or Idempotency-Key; if it fails again, give the request_id to the operator.',
  },
  exchange_rate_unavailable: unavailable(
    30,
    'No fresh exchange rate is available for this currency.',
    'Repeat the request later, or price the session in USD.',
  ),
  address_pool_empty: unavailable(
    5,
    'No network can take this payment right now: none of them is followed and has a free address.',
    'Repeat the request in a few seconds; if it goes on, the operator checks `quayside status`.',
  ),
  storage_unavailable: unavailable(
    1,
    'The storage is busy or full; nothing was changed.',
    'Repeat the request in a few seconds with the same order_id or Idempotency-Key.',
  ),
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof errorTable;

type Detail = Readonly<{
  /** Replaces the table's words where a more exact sentence is known. */
  message?: string;
  param?: string;
  serverTimeS?: number;
  headers?: Readonly<Record<string, string>>;
}>;

/** A documented "no" on its way to the client. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly detail: Detail;

  constructor(code: ErrorCode, detail: Detail) {
    super(detail.message ?? `${errorTable[code].meaning} ${errorTable[code].remedy}`);
    this.name = 'Refusal';
    this.code = code;
    this.detail = detail;
  }

  /** The same refusal under the code that an endpoint's documentation has for it. */
  renamed(names: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {}): Refusal {
    const code = names[this.code];
    return code ? new Refusal(code, { message: this.message, ...this.detail }) : this;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  /** Response headers that belong to this refusal. */
  get headers(): Readonly<Record<string, string>> {
    const row: Row = errorTable[this.code];
    return {
      ...(row.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(row.retryAfterS !== undefined && { 'Retry-After': String(row.retryAfterS) }),
      ...this.detail.headers,
    };
  }
}

/** Makes the refusal for a code; the caller throws it. */
export const refuse = (code: ErrorCode, detail: Detail = {}): Refusal => new Refusal(code, detail);

/** Param names echo what the client sent (metadata keys), so they are cut to a sane length. */
const PARAM_CHARACTERS_MAX = 200;

/** The documented error body. `baseUrl` has no trailing slash; `nowS` is Unix seconds. */
export function errorBody(refusal: Refusal, context: Readonly<{ requestId: string; baseUrl: string; nowS: number }>) {
  const { param, serverTimeS } = refusal.detail;
  return {
    error: {
      type: errorTable[refusal.code].type,
      code: refusal.code,
      message: refusal.message,
      ...(param !== undefined && { param: param.slice(0, PARAM_CHARACTERS_MAX) }),
      doc_url: `${context.baseUrl}/docs/errors#${refusal.code}`,
      ...(serverTimeS !== undefined && { server_time: serverTimeS }),
    },
    request_id: context.requestId,
    timestamp: context.nowS,
  };
}

/**
 * What the client is told about anything that was thrown. Only words from this file ever leave.
 * @returns the refusal, and whether it hides a failure that the operator must see in the log
 */
export function toRefusal(thrown: unknown): Readonly<{ refusal: Refusal; unexpected: boolean }> {
  if (thrown instanceof Refusal) return { refusal: thrown, unexpected: false };
  if (thrown instanceof Fault && thrown.code.startsWith('storage_')) {
    return { refusal: refuse('storage_unavailable'), unexpected: true };
  }
  if (thrown instanceof URIError) return { refusal: refuse('route_not_found'), unexpected: false };
  if (thrown instanceof BodyError) return { refusal: bodyRefusal(thrown.code), unexpected: false };
  return { refusal: refuse('internal_error'), unexpected: true };
}

const bodyRefusal = (code: BodyError['code']): Refusal => {
  if (code === 'too_large') return refuse('body_too_large');
  if (code === 'encoded') return refuse('invalid_content_type');
  return refuse('invalid_json', { message: 'The body ended before its announced length.' });
};
