/**
 * Every error of the API. One table, `errors.json`, holds the HTTP status, type and text of each code; the error
 * bodies, the OpenAPI document and the page at `/docs/errors` are made from it.
 */
import { readFileSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { BodyError } from '../lib/request-body.ts';
import type table from './errors.json';

/** The documented classes of `error.type`. */
export const errorTypes = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'rate_limit_error',
  'api_error',
] as const;

type ErrorType = (typeof errorTypes)[number];

/**
 * `meaning` and `remedy` are whole sentences; together they are the default message. `param` is the field or header
 * that is always the wrong one.
 */
type Row = Readonly<{
  status: number;
  type: ErrorType;
  meaning: string;
  remedy: string;
  param?: string;
  retryAfterS?: number;
}>;

export type ErrorCode = keyof typeof table;

/** The table, in the order in which the reference lists the codes. */
export const errorTable: Readonly<Record<ErrorCode, Row>> = JSON.parse(
  readFileSync(new URL('./errors.json', import.meta.url), 'utf8'),
);

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
    const row = errorTable[this.code];
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
  const { serverTimeS, param = errorTable[refusal.code].param } = refusal.detail;
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
