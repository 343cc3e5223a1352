/**
 * Turns an HTTP request into an authenticated call with a parsed body.
 */
import type { Request, Response } from 'express';
import { readContentType } from '../lib/request-body.ts';
import { type AuthDeps, authenticate, authorize } from './auth.ts';
import type { Call, Endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { readJsonObject } from './json.ts';
import { note } from './middleware.ts';
import { badParam } from './parameter.ts';

const NO_BODY = new Uint8Array();
const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/;

/**
 * Authenticates and parses a request whose body `takeBody` has read.
 * @throws Refusal; Fault `storage_unavailable`
 */
export async function openCall(
  request: Request,
  response: Response,
  endpoint: Endpoint,
  deps: Omit<AuthDeps, 'onKey' | 'onRate'>,
): Promise<Call> {
  // A GET is signed without a body, so a body that it carries is ignored.
  const isRead = endpoint.method === 'get' || endpoint.isReadOnly === true;
  const bytes: Uint8Array = endpoint.method !== 'get' && request.body instanceof Uint8Array ? request.body : NO_BODY;
  const onKey: AuthDeps['onKey'] = (keyId, unusable) =>
    note(response, { keyId, ...(unusable && { keyRefused: unusable }) });
  const onRate: AuthDeps['onRate'] = (left) => {
    response.set('RateLimit-Policy', `"key";q=${deps.keyLimiter.burst};w=1`);
    response.set('RateLimit', `"key";r=${left};t=1`);
  };
  const line = { method: request.method, target: request.originalUrl, from: request.ip ?? '' };
  const caller = await authenticate({ ...deps, onKey, onRate }, request.headers, line, bytes, isRead);
  authorize(caller, endpoint.scope);
  const body = bytes.length === 0 ? null : readJson(request, bytes);
  if (endpoint.doc.body && body === null) {
    throw refuse('invalid_json', { message: 'The body is empty. Send a JSON object.' });
  }
  return {
    caller,
    params: Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)])),
    body,
    search: new URLSearchParams(/\?(.*)/s.exec(request.url)?.[1] ?? ''),
    idempotencyKey: endpoint.method === 'post' && !isRead ? readIdempotencyKey(request) : null,
  };
}

function readJson(request: Request, bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const { mediaType, isUtf8 } = readContentType(request.get('Content-Type'));
  if (mediaType !== 'application/json' || !isUtf8) throw refuse('invalid_content_type', { param: 'Content-Type' });
  return readJsonObject(bytes);
}

function readIdempotencyKey(request: Request): string | null {
  const key = request.get('Idempotency-Key');
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) throw badParam('Idempotency-Key', 'must be 1 to 255 visible ASCII characters');
  return key;
}
