/**
 * What an operator hands out: stores, API keys with their secrets, webhook endpoints. Each is made here and written by the caller.
 * @module
 */
import { createHash } from 'node:crypto';
import type { ExtendedEventType } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { ApiKey, Endpoint, MerchantStore, Scope, StoreSettings } from '../database/database.ts';
import { newWebhookSecret, randomBase62, sortableId } from '../lib/id.ts';

export const scopes: readonly Scope[] = ['sessions:read', 'sessions:write', 'refunds:read', 'refunds:write'];

/** A payment must be exact, may be topped up for half an hour, and is watched for a week; late money waits for a person. */
export const defaultStoreSettings: StoreSettings = {
  settlementCurrency: 'USDT',
  toleranceMinor: 0,
  topUpGraceS: 30 * 60,
  monitoringS: 7 * 24 * 3600,
  latePolicy: 'hold',
};

/** A store that may trade at once: on an installation of one operator there is nobody else to approve it. */
export function issueStore(name: string, settings: StoreSettings, nowMs: number): MerchantStore {
  const id = `mer_${sortableId(nowMs)}`;
  return { id, name, status: 'approved', settings, webhookSecret: newWebhookSecret(), createdAtMs: nowMs };
}

/** A key as it is kept (`row`), and the text of the key itself, which is shown once and not kept. */
export type IssuedKey = Readonly<{ key: string; row: ApiKey & Readonly<{ keyHash: string; secret: string }> }>;

export function issueKey(storeId: string, mode: Mode, granted: readonly Scope[], nowMs: number): IssuedKey {
  const key = `sk_${mode}_${randomBase62(32)}`;
  const row = {
    id: `key_${sortableId(nowMs)}`,
    storeId,
    mode,
    hint: `sk_${mode}_…${key.slice(-4)}`,
    scopes: granted,
    createdAtMs: nowMs,
    revokedAtMs: null,
    keyHash: createHash('sha256').update(key).digest('hex'),
    secret: `ss_${randomBase62(40)}`,
  };
  return { key, row };
}

/** An endpoint that receives the events of a whole store. */
export function issueEndpoint(
  storeId: string,
  mode: Mode,
  url: string,
  extendedEvents: readonly ExtendedEventType[],
  nowMs: number,
): Endpoint {
  const id = `we_${sortableId(nowMs)}`;
  const none = { disabledAtMs: null, disabledReason: null };
  return { id, storeId, mode, url, extendedEvents, perSession: false, ...none, createdAtMs: nowMs };
}
