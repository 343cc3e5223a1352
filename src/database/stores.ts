/**
 * Merchants' stores.
 */

import { and, asc, eq, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import { defaultRefundPolicy, type RefundPolicy } from '../core/refund.ts';
import type { Currency, Mode } from '../core/transfer.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import type { channelTypes } from './column-values.ts';
import { writeOrTry } from './engine/dry-run.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import type { MacedRow, RowGuard } from './row-macs.ts';
import { isWaiting, type StoreApproval } from './store-approval.ts';
import { memberships, stores } from './tables.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

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

/** Stores that somebody is a member of and that wait for approval at a time. */
export const WAITING_STORES_MAX = 3;

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

type StoreRow = typeof stores.$inferSelect;
type Parts = Readonly<{
  guard: RowGuard;
  policyOf: (storeId: string) => RefundPolicy;
  storeOf: (storeId: string) => StoreState;
  recordAct: RecordAct;
  secrets: WebhookSecrets;
  approval: StoreApproval;
}>;

const pick = (values: StoreValues, keys: readonly (keyof StoreValues)[]) =>
  Object.fromEntries(keys.map((key) => [key, values[key]]));

const settingsOf = (row: StoreSettings): StoreSettings => {
  const { settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit } = row;
  return { settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit };
};

type SuspensionRow = Pick<StoreRow, 'id' | 'suspendedAtMs' | 'suspendedBecause' | 'mac'>;

/** What the MAC of a store covers: its suspension. */
export const macedSuspension = ({ id, suspendedAtMs, suspendedBecause }: Omit<SuspensionRow, 'mac'>): MacedRow => ({
  table: 'stores',
  key: [id],
  fields: [suspendedAtMs, suspendedBecause],
});

/** Stands for a suspension that was altered: nobody knows whether the operator ended it, so the store is suspended. */
const ALTERED = 'its row in the database was altered';

/** Returns a function that checks a store's suspension; it raises an alarm for one that was altered. */
const createSuspensionCheck =
  (guard: RowGuard) =>
  (row: SuspensionRow): boolean =>
    guard.accepts(
      macedSuspension(row),
      row.mac,
      `the suspension of store ${row.id}, which counts as suspended`,
      `run \`quayside store set ${row.id} --decide suspend --reason …\`, or \`quayside store set ${row.id} --decide resume\` if it was not suspended`,
    );

/** What a session needs of its store. `isSuspended`: whether the store's keys may create nothing. */
export type StoreState = Readonly<{ settings: StoreSettings; isSuspended: () => boolean }>;

/** Reads what sessions need of their stores, by one statement. */
export function createStoreReader({ orm }: Db, guard: RowGuard): (storeId: string) => StoreState {
  const { id, settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit } = stores;
  const { suspendedAtMs, suspendedBecause, mac } = stores;
  const find = atFirstUse(
    orm
      .select({
        ...{ id, settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit },
        ...{ suspendedAtMs, suspendedBecause, mac },
      })
      .from(stores)
      .where(eq(id, sql.placeholder('storeId'))),
  );
  const isIntact = createSuspensionCheck(guard);
  return (storeId) => {
    const row = find.get({ storeId });
    invariant(row, `store ${storeId} exists`);
    return { settings: settingsOf(row), isSuspended: () => !isIntact(row) || row.suspendedAtMs !== null };
  };
}

export function storeCommands(db: Db, parts: Parts) {
  const { guard, policyOf, recordAct, secrets, approval } = parts;
  const isIntact = createSuspensionCheck(guard);
  const insert = preparedInsert(db, stores);
  const find = atFirstUse(
    db.orm
      .select()
      .from(stores)
      .where(eq(stores.id, sql.placeholder('id'))),
  );
  const suspensionOf = (row: SuspensionRow) => {
    const { suspendedAtMs, suspendedBecause } = row;
    if (!isIntact(row)) return { suspension: { atMs: suspendedAtMs ?? 0, because: ALTERED } };
    return suspendedAtMs === null ? {} : { suspension: { atMs: suspendedAtMs, because: suspendedBecause ?? '' } };
  };
  const toStore = ({
    mac,
    suspendedAtMs,
    suspendedBecause,
    refusedAtMs,
    refusedBecause,
    ...row
  }: StoreRow): MerchantStore => {
    const { id, name, status, channelType, zone, createdAtMs } = row;
    return {
      id,
      name,
      status,
      channelType,
      settings: settingsOf(row),
      zone,
      createdAtMs,
      ...suspensionOf({ id, suspendedAtMs, suspendedBecause, mac }),
      ...(refusedAtMs !== null && { refusal: { atMs: refusedAtMs, because: refusedBecause ?? '' } }),
    };
  };
  function create(input: NewStore, act?: OperatorAct, owner?: string): void {
    const { settings, webhookSecrets, suspension, refusal, ...store } = input;
    const row = {
      ...store,
      suspendedAtMs: suspension?.atMs ?? null,
      suspendedBecause: suspension?.because ?? null,
      refusedAtMs: refusal?.atMs ?? null,
      refusedBecause: refusal?.because ?? null,
    };
    const own = { ...settings, ...defaultRefundPolicy, nextReceiptNumber: 1 };
    insert({ ...row, ...own, mac: guard.seal(macedSuspension(row)) });
    const { id: target, name, zone } = store;
    if (act) recordAct(act, { target, before: null, after: { name, zone, ...(owner && { owner }), ...settings } });
    for (const mode of ['live', 'test'] as const) secrets.add(store.id, mode, webhookSecrets[mode]);
  }
  return {
    /** @param act the operator's command that creates it, for the audit log */
    async create(input: NewStore, act?: OperatorAct): Promise<void> {
      await db.write(() => create(input, act));
    },
    /**
     * Creates a store that waits for the operator's approval, with its owner. The alarm `store_waiting` tells the
     * operator, until it is decided about.
     * @returns false when too many of the owner's stores wait (`WAITING_STORES_MAX`)
     */
    async request(input: NewStore, ownerId: string, act: OperatorAct): Promise<boolean> {
      return db.write(() => {
        if (approval.countWaiting(ownerId) >= WAITING_STORES_MAX) return false;
        create({ ...input, status: 'pending' }, act, ownerId);
        db.orm.insert(memberships).values({ personId: ownerId, storeId: input.id, role: 'owner' }).run();
        approval.wait(act.atMs);
        return true;
      });
    },
    /**
     * Lets the keys of a store that waits, or was refused, be used.
     * @returns null if there is no such store; `hasChanged` is false for one that was approved
     */
    async approve(
      id: string,
      act: OperatorAct,
      isDryRun: boolean,
    ): Promise<Readonly<{ store: MerchantStore; hasChanged: boolean }> | null> {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        const approved = { status: 'approved', refusedAtMs: null, refusedBecause: null } as const;
        if (row.status === 'approved') return { store: toStore(row), hasChanged: false };
        db.orm.update(stores).set(approved).where(eq(stores.id, id)).run();
        recordAct(act, { target: id, before: { status: row.status }, after: { status: 'approved' } });
        approval.end(id, act.atMs);
        return { store: toStore({ ...row, ...approved }), hasChanged: true };
      });
    },
    /**
     * Refuses a store that waits, for the act's reason, which its owners see. Refusing it again keeps the first reason
     * and is not recorded.
     * @returns null if there is no such store
     */
    async refuse(id: string, act: OperatorAct, isDryRun: boolean): Promise<RefusedStore | null> {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        if (row.status === 'approved') return { store: toStore(row), outcome: 'approved' };
        if (row.refusedAtMs !== null) return { store: toStore(row), outcome: 'already' };
        const refused = { refusedAtMs: act.atMs, refusedBecause: act.reason ?? '' };
        db.orm.update(stores).set(refused).where(eq(stores.id, id)).run();
        recordAct(act, { target: id, before: { status: row.status }, after: { status: 'refused' } });
        approval.end(id, act.atMs);
        return { store: toStore({ ...row, ...refused }), outcome: 'refused' };
      });
    },
    async page({ which, after, limit }: StoreListing): Promise<readonly MerchantStore[]> {
      const { createdAtMs } = stores;
      const isAfter = after ? sql`(${createdAtMs}, ${stores.id}) > (${after.createdAtMs}, ${after.id})` : undefined;
      const isListed = which === 'waiting' ? isWaiting : undefined;
      const select = db.orm.select().from(stores).where(and(isListed, isAfter));
      return db.read(() => select.orderBy(asc(createdAtMs), asc(stores.id)).limit(limit).all().map(toStore));
    },
    async find(id: string): Promise<MerchantStore | null> {
      return db.read(() => {
        const row = find.get({ id });
        return row ? toStore(row) : null;
      });
    },
    /** Returns the settings of a store that exists. */
    async settings(id: string): Promise<StoreSettings> {
      return db.read(() => parts.storeOf(id).settings);
    },
    /**
     * Changes a store; what is left out stays. Open sessions keep what they were created with.
     * @param isDryRun nothing is saved; the result is what it would be
     * @returns null when there is no such store
     */
    async update(
      id: string,
      changes: Partial<StoreValues>,
      act: OperatorAct,
      isDryRun: boolean,
    ): Promise<Readonly<{ before: StoreValues; after: StoreValues }> | null> {
      const decide = () => {
        const row = find.get({ id });
        if (!row) return null;
        const before: StoreValues = { name: row.name, zone: row.zone, ...settingsOf(row), ...policyOf(id) };
        const after: StoreValues = { ...before, ...changes };
        const changed = (Object.keys(after) as (keyof StoreValues)[]).filter((key) => before[key] !== after[key]);
        if (isDryRun || changed.length === 0) return { before, after };
        db.orm.update(stores).set(pick(after, changed)).where(eq(stores.id, id)).run();
        recordAct(act, { target: id, before: pick(before, changed), after: pick(after, changed) });
        return { before, after };
      };
      return isDryRun ? db.read(decide) : db.write(decide);
    },
    /**
     * Suspends a store for the act's reason, or resumes it. Its sessions are watched and credited, and its webhooks are
     * sent; its refunds that are not signed yet are held until it is resumed. Suspending it again keeps the first
     * reason and is not recorded.
     * @param isDryRun nothing is saved; the result is what it would be
     * @returns null when there is no such store
     */
    async suspend(
      id: string,
      to: 'suspended' | 'resumed',
      act: OperatorAct,
      isDryRun: boolean,
    ): Promise<Readonly<{ store: MerchantStore; hasChanged: boolean }> | null> {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        const isWanted = to === 'suspended';
        if (isIntact(row) && (row.suspendedAtMs !== null) === isWanted) {
          return { store: toStore(row), hasChanged: false };
        }
        const own = isWanted
          ? { suspendedAtMs: act.atMs, suspendedBecause: act.reason ?? '' }
          : { suspendedAtMs: null, suspendedBecause: null };
        const mac = guard.seal(macedSuspension({ id, ...own }));
        db.orm
          .update(stores)
          .set({ ...own, mac })
          .where(eq(stores.id, id))
          .run();
        const { suspendedAtMs, suspendedBecause } = row;
        recordAct(act, { target: id, before: { suspendedAtMs, suspendedBecause }, after: own });
        return { store: toStore({ ...row, ...own, mac }), hasChanged: true };
      });
    },
    /** Returns the ids of the stores that are suspended. */
    async listSuspended(): Promise<readonly string[]> {
      const { id, suspendedAtMs, suspendedBecause, mac } = stores;
      const all = db.orm.select({ id, suspendedAtMs, suspendedBecause, mac }).from(stores);
      const isSuspended = (row: SuspensionRow) => !isIntact(row) || row.suspendedAtMs !== null;
      return db.read(() => all.all().filter(isSuspended)).map((row) => row.id);
    },
    async list(): Promise<readonly MerchantStore[]> {
      return db.read(() => db.orm.select().from(stores).orderBy(stores.createdAtMs, stores.id).all().map(toStore));
    },
  };
}
