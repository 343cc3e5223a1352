/** Makes stores, API keys with their secrets, and webhook endpoints. The caller saves them. */
import type { Currency, Mode } from '../core/transfer.ts';
import type { Scope, StoreSettings } from '../database/column-values.ts';
import type { IssueEndpoint } from '../database/endpoints.ts';
import type { NewApiKey } from '../database/keys.ts';
import type { NewStore } from '../database/stores.ts';
import { hashOf, newWebhookSecret, randomBase62, sortableId, storeIdOf } from '../lib/id.ts';
import { UTC } from '../lib/zone.ts';

/**
 * By default a payment must be exact, can be topped up for half an hour, and is watched for a week. Late money is held.
 */
export const defaultStoreSettings: StoreSettings = {
  settlementCurrency: 'USDT',
  toleranceMinor: 0,
  topUpGraceS: 30 * 60,
  monitoringS: 7 * 24 * 3600,
  latePolicy: 'hold',
  credit: '',
};

/** Makes a store that is approved at once, because an installation has one operator. */
export function issueStore(name: string, settings: StoreSettings, nowMs: number): NewStore {
  const id = storeIdOf(sortableId(nowMs));
  const webhookSecrets = { live: newWebhookSecret(), test: newWebhookSecret() };
  return { id, name, status: 'approved', settings, zone: UTC, webhookSecrets, createdAtMs: nowMs };
}

/** Makes a store with the usual policy that converts prices to this coin. */
export const issueUsualStore = (name: string, settlementCurrency: Currency, nowMs: number): NewStore =>
  issueStore(name, { ...defaultStoreSettings, settlementCurrency }, nowMs);

/** A key's stored row, and its text, which is shown once and not stored. */
type IssuedKey = Readonly<{ key: string; row: NewApiKey }>;

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
    keyHash: hashOf(key),
    secret: `ss_${randomBase62(40)}`,
  };
  return { key, row };
}

/** Makes an endpoint, with a secret of its own, that receives the events of a whole store. */
export const issueEndpoint: IssueEndpoint = (storeId, mode, url, extendedEvents, nowMs) => {
  const own = { id: `we_${sortableId(nowMs)}`, secret: newWebhookSecret(), createdAtMs: nowMs };
  return { ...own, storeId, mode, url, extendedEvents };
};
