/**
 * Merchants' stores and their settings.
 */

import type { RefundPolicy } from '../core/refund.ts';
import type { Currency, Mode } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';
import type { Logo, PageSettings, PageSettingsChange } from './page-settings.ts';

/** A store's policy, copied into each new session: a change never affects an open session. */
export type StoreSettings = Readonly<{
  settlementCurrency: Currency;
  /** How far below the due amount a payment may be and still count as full, in stablecoin minor units (0.01). */
  toleranceMinor: number;
  topUpGraceS: number;
  monitoringS: number;
  latePolicy: 'accept' | 'hold';
  /**
   * What credits need besides the networks' policies (`src/core/store-credit.ts`). Not copied: a change affects every
   * payment that is not credited yet.
   */
  credit: string;
}>;

/** How a store takes part: it calls the API. */
export const channelTypes = ['API'] as const;

/** Stores that somebody is a member of and that wait for approval at a time. */
export const WAITING_STORES_MAX = 3;
/** Alarms about stores that wait, at a time; the next is raised when one of them is decided about. */
export const WAITING_ALARMS_MAX = 20;

/** A merchant's store; its id is the merchant id of the API. */
export type MerchantStore = Readonly<{
  id: string;
  name: string;
  status: 'pending' | 'approved';
  channelType: (typeof channelTypes)[number];
  settings: StoreSettings;
  /** The IANA time zone of its days and of times on its pages. */
  zone: string;
  createdAtMs: number;
  /** Present while its keys may create neither sessions nor refunds. */
  suspension?: Decision;
  /** Present once the operator has refused it; it can still be approved. */
  refusal?: Decision;
}>;

/** A store with the secrets that sign for URLs of single sessions, and for endpoints without a secret of their own. */
export type NewStore = MerchantStore & Readonly<{ webhookSecrets: Readonly<Record<Mode, string>> }>;

/** When an operator decided against a store, and why. */
export type Decision = Readonly<{ atMs: number; because: string }>;

/** Whether a store was refused, had been refused before, or is approved and therefore suspended instead. */
export type RefusedStore = Readonly<{ store: MerchantStore; outcome: 'refused' | 'already' | 'approved' }>;

/** Which stores a page lists, oldest first. `waiting`: those that nobody has approved or refused. */
export type StoreListing = Readonly<{
  which: 'waiting' | 'all';
  /** The last store of the page before; null for the first page. */
  after: Pick<MerchantStore, 'id' | 'createdAtMs'> | null;
  limit: number;
}>;

/** What an operator can change of a store. */
export type StoreValues = Readonly<{ name: string; zone: string }> & StoreSettings & RefundPolicy;

export interface Stores {
  /** @param act the operator's command that creates it, for the audit log */
  create(input: NewStore, act?: OperatorAct): Promise<void>;
  /**
   * Creates a store that waits for the operator's approval, with its owner. The alarm `store_waiting` tells the
   * operator, until it is decided about.
   * @returns false when too many of the owner's stores wait (`WAITING_STORES_MAX`)
   */
  request(input: NewStore, ownerId: string, act: OperatorAct): Promise<boolean>;
  /**
   * Lets the keys of a store that waits, or was refused, be used.
   * @returns null if there is no such store; `hasChanged` is false for one that was approved
   */
  approve(
    id: string,
    act: OperatorAct,
    isDryRun: boolean,
  ): Promise<Readonly<{ store: MerchantStore; hasChanged: boolean }> | null>;
  /**
   * Refuses a store that waits, for the act's reason, which its owners see. Refusing it again keeps the first reason
   * and is not recorded.
   * @returns null if there is no such store
   */
  refuse(id: string, act: OperatorAct, isDryRun: boolean): Promise<RefusedStore | null>;
  page(listing: StoreListing): Promise<readonly MerchantStore[]>;
  find(id: string): Promise<MerchantStore | null>;
  /** Returns the settings of a store that exists. */
  settings(id: string): Promise<StoreSettings>;
  list(): Promise<readonly MerchantStore[]>;
  /**
   * Suspends a store for the act's reason, or resumes it. Its sessions are watched and credited, and its webhooks are
   * sent; its refunds that are not signed yet are held until it is resumed. Suspending it again keeps the first reason
   * and is not recorded.
   * @param isDryRun nothing is saved; the result is what it would be
   * @returns null when there is no such store
   */
  suspend(
    id: string,
    to: 'suspended' | 'resumed',
    act: OperatorAct,
    isDryRun: boolean,
  ): Promise<Readonly<{ store: MerchantStore; hasChanged: boolean }> | null>;
  /** Returns the ids of the stores that are suspended. */
  listSuspended(): Promise<readonly string[]>;
  /**
   * Changes a store; what is left out stays. Open sessions keep what they were created with.
   * @param isDryRun nothing is saved; the result is what it would be
   * @returns null when there is no such store
   */
  update(
    id: string,
    changes: Partial<StoreValues>,
    act: OperatorAct,
    isDryRun: boolean,
  ): Promise<Readonly<{ before: StoreValues; after: StoreValues }> | null>;
  /** @returns false when there is no such store */
  rename(id: string, name: string): Promise<boolean>;
  setPageSettings(storeId: string, change: PageSettingsChange): Promise<void>;
  /** Returns a store's page settings, or the defaults. */
  findPageSettings(storeId: string): Promise<PageSettings>;
  /** Returns the logo with this hash; null when the store has another one, or none. */
  findLogo(storeId: string, hash: string): Promise<Logo | null>;
  /** @param storeId an existing store */
  setRefundPolicy(storeId: string, changes: Partial<RefundPolicy>): Promise<RefundPolicy>;
  refundPolicy(storeId: string): Promise<RefundPolicy>;
}
