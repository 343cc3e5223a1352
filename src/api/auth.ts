/**
 * Authentication of signed requests. The documented order of checks:
 *
 * headers present → key known → timestamp in the window → signatures → key's rate limit → nonce unused → merchant id.
 * A nonce is used up only if the signature is right and the request is not rate-limited: by `runCall`.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config/config.ts';
import { type RequestHead, sameHex, sign, signRequest } from '../core/delivery.ts';
import type { Scope } from '../database/column-values.ts';
import type { Database, Keys } from '../database/database.ts';
import type { ApiKeyWithSecret } from '../database/keys.ts';
import type { NonceUse } from '../database/replays.ts';
import { plainAddress } from '../lib/address-range.ts';
import { type Clock, toSeconds } from '../lib/clock.ts';
import { hashOf } from '../lib/id.ts';
import type { Limiter } from '../lib/rate-limit.ts';
import type { Caller } from './endpoint.ts';
import { refuse } from './errors.ts';

/** A timestamp exactly this far from the server's clock is still accepted. */
const TIMESTAMP_WINDOW_S = 300;

/** A timestamp from the future stays valid for up to two windows and a second, so the nonce is kept that long. */
const NONCE_KEPT_MS = (2 * TIMESTAMP_WINDOW_S + 1) * 1000;

/** Covers method, path and query too. Clients that send it are protected from a replay on another path. */
const REQUEST_SIGNATURE = 'X-Service-Request-Signature';
const WRONG_WHOLE = `${REQUEST_SIGNATURE} does not match this request. Sign timestamp, nonce, method and path with query, each followed by a line feed, and the exact bytes of the body; or leave the header out.`;

const API_KEY = /^bearer +(sk_(?:live|test)_[0-9A-Za-z]{32})$/i;
const TIMESTAMP = /^[0-9]{1,15}$/;
const NONCE = /^[!-~]{8,128}$/;

export type AuthDeps = Readonly<{
  database: Database;
  clock: Pick<Clock, 'nowMs'>;
  keyLimiter: Limiter;
  config: Pick<Config, 'requestSignature'>;
  /** Called as soon as the key is known, so that the log names it even if it is refused. */
  onKey(keyId: string): void;
}>;

/** A caller, whether its store is approved, and the nonce that its request uses up. */
type Authenticated = Readonly<{ caller: Caller; storeStatus: ApiKeyWithSecret['storeStatus']; nonce: NonceUse }>;

/**
 * Authenticates one request.
 * @param line method and target of the request line, and the client's address
 * @param body the raw bytes of the body; empty for GET
 * @throws Refusal 401, 403 or 429; Fault `storage_unavailable`
 */
export async function authenticate(
  deps: AuthDeps,
  headers: IncomingHttpHeaders,
  { from, ...line }: Pick<RequestHead, 'method' | 'target'> & Readonly<{ from: string }>,
  body: Uint8Array,
): Promise<Authenticated> {
  const authorization = required(headers, 'Authorization');
  const timestamp = required(headers, 'X-Service-Timestamp');
  const nonce = required(headers, 'X-Service-Nonce');
  const signature = required(headers, 'X-Service-Signature');
  if (deps.config.requestSignature === 'required') required(headers, REQUEST_SIGNATURE);

  const nowMs = deps.clock.nowMs();
  const key = await findKey(deps.database.keys, authorization);
  if (!key) throw refuse('invalid_api_key');
  deps.onKey(key.id);
  // Clients get the same answer as for an unknown one.
  if (key.revokedAtMs !== null) throw refuse('invalid_api_key');

  const nowS = toSeconds(nowMs);
  if (!TIMESTAMP.test(timestamp) || Math.abs(Number(timestamp) - nowS) > TIMESTAMP_WINDOW_S) {
    throw refuse('timestamp_out_of_range', { serverTimeS: nowS });
  }
  if (!sameHex(sign(key.secret, timestamp, nonce, body), signature)) throw refuse('invalid_signature');
  const whole = headers[REQUEST_SIGNATURE.toLowerCase()];
  if (whole !== undefined && !sameHex(signRequest(key.secret, { timestamp, nonce, ...line }, body), String(whole))) {
    throw refuse('invalid_signature', { param: REQUEST_SIGNATURE, message: WRONG_WHOLE });
  }

  const waitS = deps.keyLimiter.take(key.id);
  if (waitS > 0) throw refuse('rate_limited', { headers: { 'Retry-After': String(waitS) } });

  // With a dot in the nonce, one signature could fit two requests that are split at different dots.
  if (!NONCE.test(nonce) || nonce.includes('.')) throw refuse('invalid_nonce');
  const { id: keyId, storeId, mode, scopes, storeSettings: settings, storeStatus } = key;
  return {
    caller: { keyId, storeId, mode, scopes, settings },
    storeStatus,
    nonce: { keyId, nonce, nowMs, keepUntilMs: nowMs + NONCE_KEPT_MS, from: plainAddress(from) },
  };
}

/**
 * Checks that an authenticated caller may use an endpoint.
 * @throws Refusal `FORBIDDEN`, `store_not_approved` or `insufficient_scope`
 */
export function authorize({ caller, storeStatus }: Authenticated, headers: IncomingHttpHeaders, scope: Scope): void {
  // An empty header counts as absent, for clients that always send it.
  const merchantId = headers['x-merchant-id'];
  if (merchantId && merchantId !== caller.storeId) throw refuse('FORBIDDEN', { param: 'X-Merchant-Id' });
  if (storeStatus !== 'approved') throw refuse('store_not_approved');
  if (!caller.scopes.includes(scope)) {
    throw refuse('insufficient_scope', {
      message: `This API key lacks the scope ${scope}. Use a key that has it; the operator issues keys.`,
    });
  }
}

function required(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name.toLowerCase()];
  if (typeof value !== 'string' || value === '') throw refuse('missing_header', { param: name });
  return value;
}

/** Returns the key in the header, or null if it is unknown or has the prefix of the other mode. */
async function findKey(keys: Keys, authorization: string): Promise<ApiKeyWithSecret | null> {
  const text = API_KEY.exec(authorization)?.[1];
  if (!text) return null;
  const key = await keys.find(hashOf(text));
  return key && text.startsWith(`sk_${key.mode}_`) ? key : null;
}
