/**
 * Every error of the API. One table holds the HTTP status, type and text of each code; the error bodies, the OpenAPI
 * document and the page at `/docs/errors` are made from it.
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

type ErrorType = (typeof errorTypes)[number];

/** `meaning` and `remedy` are whole sentences; together they are the default message. */
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
    'A required header is missing or empty.',
    'Send Authorization, X-Service-Timestamp, X-Service-Nonce and X-Service-Signature; `param` names the missing header.',
  ),
  invalid_api_key: unauthenticated(
    'The API key is unknown, malformed, revoked or expired, or may not be used from this address.',
    'Send `Authorization: Bearer <API key>` with a current key of this installation.',
  ),
  timestamp_out_of_range: unauthenticated(
    'X-Service-Timestamp is not an integer, or is more than 300 seconds away from the server clock.',
    'Send Unix time in seconds and compare your clock with `error.server_time`.',
  ),
  invalid_signature: unauthenticated(
    'X-Service-Signature does not match this request.',
    'Sign timestamp + "." + nonce + "." + the exact bytes of the body (nothing for GET or an empty body) with HMAC-SHA256 and the secret of the API key; send 64 hex digits.',
  ),
  invalid_nonce: unauthenticated(
    'X-Service-Nonce must be 8 to 128 visible ASCII characters without a dot.',
    'Send a new UUID.',
  ),
  nonce_reused: unauthenticated(
    'X-Service-Nonce was already used with this API key.',
    'Use a new nonce and a new signature for every request, also when you repeat one.',
  ),
  FORBIDDEN: forbidden(
    'The request names another merchant than that of this API key.',
    'Leave out the merchant id, or send the one that belongs to the key.',
  ),
  insufficient_scope: forbidden(
    'The API key is not allowed to do this.',
    'Use a key that has the scope; the operator creates keys.',
  ),
  store_suspended: forbidden(
    'The operator has suspended this store: it takes no new sessions or refunds. Its sessions go on; its refunds that are not signed yet are held until it is resumed.',
    'Ask the operator why. Reading and canceling still work, and events are still sent.',
  ),
  store_not_approved: forbidden('The store of this API key is not approved yet.', 'Ask the operator to approve it.'),
  route_not_found: invalid(404, 'This path does not exist.', 'See /docs for a list of paths.'),
  method_not_allowed: invalid(
    405,
    'This path does not support this method.',
    'Use one of the methods in the Allow header.',
  ),
  body_too_large: invalid(413, 'The body is larger than this server accepts.', 'Send a smaller body.'),
  malformed_request: invalid(
    400,
    'The request is not valid HTTP/1.1, or does not have exactly one Host header.',
    'Check the proxies between your program and this server; an ordinary HTTP client never sends this.',
  ),
  request_timeout: invalid(
    408,
    'The request took too long to arrive.',
    'Send the headers within 10 seconds and the whole request within 30.',
  ),
  expectation_failed: invalid(
    417,
    'The Expect header has a value that this server does not support.',
    'Leave out the header, or send 100-continue.',
  ),
  headers_too_large: invalid(431, 'The path and headers are larger than 16 KiB.', 'Send smaller headers.'),
  invalid_content_type: invalid(
    400,
    'The body must be uncompressed JSON in UTF-8.',
    'Send `Content-Type: application/json` and no Content-Encoding.',
  ),
  invalid_json: invalid(400, 'The body is not a JSON object in UTF-8.', 'Check the JSON that you sent.'),
  missing_parameter: invalid(400, 'A required parameter is missing.', 'Send the field that `param` names.'),
  invalid_parameter: invalid(400, 'A parameter has a wrong type or value.', 'Correct the field that `param` names.'),
  unsupported_currency: invalid(
    400,
    'This currency is not accepted.',
    'Use USD, USDT, USDC or another upper-case currency code that this installation has rates for.',
  ),
  order_id_conflict: invalid(
    400,
    'This order_id has a session that is pending or paid, with a different request body.',
    'Use a new order_id for a new order; repeat the exact request to get the existing session.',
  ),
  idempotency_key_conflict: invalid(
    400,
    'This Idempotency-Key was used before with another request body.',
    'Use a new key for a new request.',
  ),
  session_not_found: invalid(
    404,
    'No session with this id exists for this API key.',
    'Check the id, and that the key belongs to the store and mode of the session.',
  ),
  event_not_found: invalid(
    404,
    'No event with this id exists for this API key, or it is older than 30 days.',
    'Check the id, the store and mode of the key, and that it has the scope `refunds:read` for refund events.',
  ),
  endpoint_not_found: invalid(
    404,
    'No webhook endpoint with this id exists for this API key.',
    'Check the id, and that the key belongs to the store and mode of the endpoint.',
  ),
  too_many_endpoints: invalid(
    400,
    'The store has as many webhook endpoints as it may have.',
    'Delete one that is not needed; `GET /api/v1/webhook_endpoints` lists them.',
  ),
  payment_in_progress: invalid(
    400,
    'A payment for this session was seen on the chain, so the session can no longer be canceled.',
    'Wait until the payment is confirmed, then refund it.',
  ),
  session_expired: invalid(400, 'The session has expired.', 'It need not be canceled.'),
  session_not_cancelable: invalid(400, 'The session has ended as paid or failed.', 'Cancel only pending sessions.'),
  simulation_refused: invalid(400, 'The sandbox cannot do this now.', '`message` says why, and what to do first.'),
  MISSING_CHARGE: invalid(400, 'The payment session’s id is missing.', 'Send it as `order_id`.'),
  MISSING_REFUND_ID: invalid(400, 'The refund’s id is missing.', 'Send your own id for it as `refund_id`.'),
  INVALID_JSON: invalid(
    400,
    'The body is not a JSON object in UTF-8, or a field has a wrong type or value.',
    'Check the JSON that you sent; if a field is wrong, `param` names it.',
  ),
  INVALID_CURRENCY: invalid(
    400,
    'The session was not paid in this currency.',
    'Use the currency shown in the session’s `payments`.',
  ),
  INVALID_AMOUNT: invalid(
    400,
    'The amount is not a decimal string above zero with at most 2 decimals.',
    'Send it like "4.50".',
  ),
  INVALID_SESSION_STATUS: invalid(
    400,
    'Only a paid session can be refunded.',
    'Wait until it is paid. Only the operator can return money that is held on another session.',
  ),
  REFUND_AMOUNT_EXCEEDED: invalid(
    400,
    'The refunds of this session would exceed what was received.',
    'Refund at most the rest; failed and canceled refunds do not count.',
  ),
  REFUND_TIME_EXPIRED: invalid(
    400,
    'The refund window for this payment has closed.',
    'Ask the operator, who can extend the store’s refund window.',
  ),
  CANNOT_CANCEL_REFUND: invalid(
    400,
    'This refund can no longer be canceled, or is still pending.',
    'Read the refund to see its status; the operator can cancel a pending one.',
  ),
  CANNOT_CHANGE_DESTINATION: invalid(
    400,
    'This refund has ended, or its payment is in progress, or it may have been paid already: its destination cannot be changed.',
    'Read the refund to see its status and where it goes. If it is pending or processing, try again in ten minutes, or ask the operator: whether it was paid may be being checked.',
  ),
  DUPLICATE_REFUND_ID: invalid(
    400,
    'This refund_id was already used with a different request body.',
    'Use a new refund_id for a new refund; repeat the exact request to get the first answer again.',
  ),
  IDEMPOTENCY_KEY_CONFLICT: invalid(
    400,
    'This Idempotency-Key was used before with another request body.',
    'Use a new key for a new request.',
  ),
  SESSION_NOT_FOUND: invalid(404, 'There is no session with this id.', 'Send the session’s id as `order_id`.'),
  REFUND_NOT_FOUND: invalid(
    404,
    'There is no refund with this id.',
    'Check the refund_id and the mode of the API key.',
  ),
  session_access_denied: forbidden(
    'The session belongs to another merchant or to the other mode.',
    'Use an API key of the store and mode that the session was created with.',
  ),
  DAILY_REFUND_LIMIT_EXCEEDED: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'This refund would exceed the store’s refund limit for one day (UTC).',
    remedy: 'Repeat it tomorrow, or ask the operator to raise the limit.',
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'Too many requests in a short time.',
    remedy: 'Wait for the number of seconds in the Retry-After header; the nonce was not used up.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    meaning: 'The server failed to handle the request.',
    remedy:
      'Repeat it with the same order_id or Idempotency-Key; if it fails again, send the request_id to the operator.',
  },
  exchange_rate_unavailable: unavailable(
    30,
    'No exchange rate that is fresh and that enough sources agree on is available for this currency.',
    'Repeat the request later, or price the session in USD.',
  ),
  amount_too_small: invalid(
    400,
    'The amount is below the smallest one that any enabled network is offered for.',
    'Ask for more, or have the operator lower `payment_min` of a network.',
  ),
  no_payment_option: unavailable(
    30,
    'No coin can be offered right now: what the enabled networks take is not worth a dollar at the moment.',
    'Repeat the request later, or price the session in the coin itself; the operator sees why with `quayside status`.',
  ),
  no_network_followed: unavailable(
    5,
    'No network can take this payment right now: none of them has been read to its newest block in the last two minutes.',
    'Repeat the request in a few seconds; if it keeps failing, ask the operator to run `quayside status`.',
  ),
  address_pool_empty: unavailable(
    5,
    'No network can take this payment right now: none that is followed has a free deposit address.',
    'Repeat the request in a few seconds; if it keeps failing, ask the operator to run `quayside status`.',
  ),
  storage_unavailable: unavailable(
    1,
    'The database is busy or its disk is full; nothing was changed.',
    'Repeat the request in a few seconds with the same order_id or Idempotency-Key.',
  ),
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof errorTable;

type Detail = Readonly<{
  /** Replaces the table's text if a more exact one is known. */
  message?: string;
  param?: string;
  serverTimeS?: number;
  headers?: Readonly<Record<string, string>>;
}>;

/** A documented error, thrown on its way to the client. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly detail: Detail;

  constructor(code: ErrorCode, detail: Detail) {
    super(detail.message ?? `${errorTable[code].meaning} ${errorTable[code].remedy}`);
    this.name = 'Refusal';
    this.code = code;
    this.detail = detail;
  }

  /** Returns the same refusal under the code of the endpoint's documentation. */
  renamed(names: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {}): Refusal {
    const code = names[this.code];
    return code ? new Refusal(code, { message: this.message, ...this.detail }) : this;
  }

  get status(): number {
    return errorTable[this.code].status;
  }

  /** Response headers of this refusal. */
  get headers(): Readonly<Record<string, string>> {
    const row: Row = errorTable[this.code];
    return {
      ...(row.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(row.retryAfterS !== undefined && { 'Retry-After': String(row.retryAfterS) }),
      ...this.detail.headers,
    };
  }
}

/** Creates the refusal for a code, for the caller to throw. */
export const refuse = (code: ErrorCode, detail: Detail = {}): Refusal => new Refusal(code, detail);

/** Names of parameters can echo what the client sent (metadata keys), so they are cut. */
const PARAM_CHARACTERS_MAX = 200;

/** Returns the documented error body. `baseUrl` has no trailing slash; `nowS` is Unix seconds. */
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
 * Turns anything that was thrown into a refusal. Clients see only texts that are meant for them.
 * @returns the refusal, and whether it hides a failure that must be logged
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
