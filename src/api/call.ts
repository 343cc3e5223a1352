/**
 * Turns an HTTP request into an authenticated call with a parsed body, and runs it.
 */
import type { Request, Response } from 'express';
import type { NonceUse } from '../database/replays.ts';
import { parseSessionId } from '../lib/id.ts';
import { readContentType } from '../lib/request-body.ts';
import { type AuthDeps, authenticate, authorize } from './auth.ts';
import { type Answer, type Endpoint, idOf, type Sent } from './endpoint.ts';
import { refuse } from './errors.ts';
import { readJsonObject } from './json.ts';
import { note } from './middleware.ts';
import { badParam, check, readQuery } from './parameter.ts';

const NO_BODY = new Uint8Array();
const IDEMPOTENCY_KEY = /^[!-~]{1,255}$/;

/**
 * Answers a request whose body `takeBody` has read. Its nonce is used up first, or by the endpoint in the transaction
 * of what it changes; if that does not come to it, before the refusal.
 * @throws Refusal; Fault `storage_unavailable`
 */
export async function runCall(
  request: Request,
  response: Response,
  endpoint: Endpoint,
  deps: Omit<AuthDeps, 'onKey'>,
): Promise<Answer> {
  // A GET is signed without a body, so a body that it carries is ignored.
  const isRead = endpoint.method === 'get' || endpoint.isReadOnly === true;
  const bytes: Uint8Array = endpoint.method !== 'get' && request.body instanceof Uint8Array ? request.body : NO_BODY;
  const onKey: AuthDeps['onKey'] = (keyId) => note(response, { keyId });
  const line = { method: request.method, target: request.originalUrl, from: request.ip ?? '' };
  const known = await authenticate({ ...deps, onKey }, request.headers, line, bytes);
  let nonce: NonceUse | null = known.nonce;
  const takeNonce = (): NonceUse | null => {
    const taken = nonce;
    nonce = null;
    return taken;
  };
  const useNonce = async (): Promise<void> => {
    const taken = takeNonce();
    if (taken && !(await deps.database.keys.useNonce(taken, isRead))) throw refuse('nonce_reused');
  };
  if (!endpoint.usesNonce) await useNonce();
  try {
    authorize(known, request.headers, endpoint.scope);
    const call = readCall(request, endpoint, bytes, isRead);
    return await endpoint.run({ caller: known.caller, ...call, takeNonce });
  } catch (thrown) {
    await useNonce();
    throw thrown;
  }
}

/** Reads what the endpoint asks for, by its schemas. */
function readCall(request: Request, endpoint: Endpoint, bytes: Uint8Array, isRead: boolean) {
  const { path, body, query, codeOf } = endpoint;
  const sent = bytes.length === 0 ? null : readJson(request, bytes);
  if (body && sent === null) throw refuse('invalid_json', { message: 'The body is empty. Send a JSON object.' });
  const id = readId(request, path);
  return {
    id,
    path: path.replace(/\{\w+\}/, () => id),
    sent,
    body: body && !(sent && endpoint.hasOtherShape?.(sent)) ? check(body[0], sent, codeOf) : null,
    query: query ? readQuery(query, new URLSearchParams(/\?(.*)/s.exec(request.url)?.[1] ?? '')) : {},
    idempotencyKey: endpoint.method === 'post' && !isRead ? readIdempotencyKey(request) : null,
  };
}

function readId({ params }: Request, path: string): string {
  const name = idOf(path);
  if (name === undefined) return '';
  const text = String(params[name]);
  const id = name === 'session_id' ? parseSessionId(text) : text;
  if (id === null) throw refuse('session_not_found');
  return id;
}

function readJson(request: Request, bytes: Uint8Array): Sent {
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
