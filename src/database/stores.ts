/**
 * Merchants' stores: their settings, payment page, approval and suspension.
 */

import { and, asc, count, eq, getTableColumns, inArray } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import { defaultRefundPolicy, type RefundPolicy } from '../core/refund.ts';
import type { Mode } from '../core/transfer.ts';
import { type ApprovalAlarms, alarmKey } from './alarms.ts';
import type { OperatorAct, RecordAct } from './audit-log.ts';
import type { AuditedState, PageSettings, StoreSettings } from './column-values.ts';
import type { WebhookSecrets } from './endpoints.ts';
import { writeOrTry } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, given, preparedInsert } from './engine/prepared.ts';
import { personRows, withMembership } from './people.ts';
import type { MacedRow, RowGuard } from './sealing.ts';
import { stores } from './tables.ts';

/** Stores of one person that may wait for approval at a time. */
export const WAITING_STORES_MAX = 3;

/** The channel of every store. */
export const CHANNEL_TYPE = 'API';

/** A merchant's store; its id is the merchant id of the API. */
export type MerchantStore = Readonly<{
  id: string;
  name: string;
  status: 'pending' | 'approved';
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

/** A decision of an operator against a store. */
export type Decision = Readonly<{ atMs: number; because: string }>;

/** The outcome of refusing a store. `already`: it had been refused. `approved`: only suspending it is possible. */
export type RefusedStore = Readonly<{ store: MerchantStore; outcome: 'refused' | 'already' | 'approved' }>;

type Decided = Readonly<{ store: MerchantStore; hasChanged: boolean }>;

/** Values of a store that an operator can change. */
export type StoreValues = Readonly<{ name: string; zone: string }> & StoreSettings & RefundPolicy;

/** A store's logo, a PNG; `hash` is the SHA-256 of its bytes, in hex. */
export type Logo = Readonly<{ hash: string; bytes: Uint8Array }>;

/** Omitted settings stay as they are. */
export type PageSettingsChange = Partial<Omit<PageSettings, 'logo'>> & Readonly<{ logo?: Logo | null }>;

const { logo: _logo, liveSecret: _live, testSecret: _test, ...storeColumns } = getTableColumns(stores);

type StoreRow = Omit<typeof stores.$inferSelect, 'logo' | 'liveSecret' | 'testSecret'>;

const noPage: PageSettings = { accent: null, embedOrigins: [], logo: null };

/** The fields of a store that its MAC covers: what the operator decided about it. */
export const macedDecision = ({
  id,
  status,
  decidedAtMs,
  decidedBecause,
}: Pick<StoreRow, 'id' | 'status' | 'decidedAtMs' | 'decidedBecause'>): MacedRow => ({
  table: 'stores',
  key: [id],
  fields: [status, decidedAtMs, decidedBecause],
});

/** Returns whether a store is approved, suspended or not. */
export const isApproved = (status: StoreRow['status']): boolean => status === 'approved' || status === 'suspended';

/** The reason of a store whose row was altered: nobody knows what the operator decided, so it is suspended. */
const ALTERED = 'its row in the database was altered';

/** Returns functions that are called within a transaction. */
export function createStoreRows(db: Db, guard: RowGuard) {
  const select = atFirstUse(db.orm.select(storeColumns).from(stores).where(given(stores, 'id')));
  const find = (id: string): Promise<StoreRow | undefined> => select.get({ id });

  /** Checks what was decided about a store; raises an alarm if it was altered. */
  const isIntact = (row: StoreRow): boolean =>
    guard.accepts(
      macedDecision(row),
      row.mac,
      `the decision about store ${row.id}, which counts as suspended`,
      `run \`quayside store decide ${row.id} suspend --reason …\`, or \`quayside store decide ${row.id} resume\` if it was not suspended`,
    );
  return {
    find,
    isIntact,
    /** Returns a store that exists. `isSuspended`: whether its keys may create nothing. */
    async of(id: string) {
      const row = await find(id);
      invariant(row, `store ${id} exists`);
      const { settings, refundPolicy: policy } = row;
      return { settings, policy, isSuspended: () => !isIntact(row) || row.status === 'suspended' };
    },
  };
}

export type StoreRows = ReturnType<typeof createStoreRows>;

const isWaiting = eq(stores.status, 'pending');

const ALARMS = `${alarmKey('store', '')}:`;

/** Leaves the store's name out: a person who asks for a store must not write to the operator's phone. */
const waitingMessage = (id: string): string =>
  `Store ${id} waits for your decision: \`quayside store decide ${id} approve\`, or \`quayside store decide ${id} refuse --reason …\`. ` +
  'The page Stores of the dashboard shows its name and owner, and every other store that waits.';

type Parts = Readonly<{
  rows: StoreRows;
  guard: RowGuard;
  recordAct: RecordAct;
  secrets: WebhookSecrets;
  alarms: ApprovalAlarms;
}>;

/** Returns a store as its readers see it. */
const viewer =
  ({ isIntact }: StoreRows) =>
  (row: StoreRow): MerchantStore => {
    const { id, name, settings, zone, createdAtMs, decidedAtMs, decidedBecause } = row;
    const isAltered = !isIntact(row);
    const decision = { atMs: decidedAtMs ?? 0, because: isAltered ? ALTERED : (decidedBecause ?? '') };
    return {
      ...{ id, name, settings, zone, createdAtMs },
      status: isApproved(row.status) ? 'approved' : 'pending',
      ...((isAltered || row.status === 'suspended') && { suspension: decision }),
      ...(row.status === 'refused' && { refusal: decision }),
    };
  };

const valuesOf = ({ name, zone, settings, refundPolicy }: StoreRow): StoreValues => ({
  ...{ name, zone },
  ...settings,
  ...refundPolicy,
});

/** Returns an object's values under the keys of another one. */
const like = <T extends object>(shape: T, values: T): T =>
  Object.fromEntries(Object.keys(shape).map((key) => [key, values[key as keyof T]])) as T;

const pick = (values: StoreValues, keys: readonly (keyof StoreValues)[]) =>
  Object.fromEntries(keys.map((key) => [key, values[key]]));

async function createStore(
  db: Db,
  { guard, recordAct, secrets }: Parts,
  input: NewStore,
  act?: OperatorAct,
  owner?: string,
) {
  const { webhookSecrets, suspension, refusal, ...store } = input;
  const { settings } = store;
  const decision = suspension ?? refusal;
  const row = {
    ...{ ...store, refundPolicy: defaultRefundPolicy, page: noPage, logo: null, nextReceiptNumber: 1 },
    status: suspension ? ('suspended' as const) : refusal ? ('refused' as const) : store.status,
    decidedAtMs: decision?.atMs ?? null,
    decidedBecause: decision?.because ?? null,
    liveSecret: secrets.seal(store.id, 'live', webhookSecrets.live),
    testSecret: secrets.seal(store.id, 'test', webhookSecrets.test),
  };
  await preparedInsert(db, stores)({ ...row, mac: guard.seal(macedDecision(row)) });
  const { id: target, name, zone } = store;
  await recordAct(act, { target, before: null, after: { name, zone, ...(owner && { owner }), ...settings } });
}

export function storeCommands(db: Db, parts: Parts) {
  const { rows, recordAct } = parts;
  const toStore = viewer(rows);
  const all = db.orm.select(storeColumns).from(stores);
  return {
    ...decisionCommands(db, parts),
    ...pageCommands(db, parts),
    /** @param act the operator's command that creates it, for the audit log */
    async create(input: NewStore, act?: OperatorAct): Promise<void> {
      await db.write(() => createStore(db, parts, input, act));
    },
    async find(id: string): Promise<MerchantStore | null> {
      return db.read(async () => {
        const row = await rows.find(id);
        return row ? toStore(row) : null;
      });
    },
    async list(): Promise<readonly MerchantStore[]> {
      return db.read(async () =>
        (await db.orm.select(storeColumns).from(stores).orderBy(stores.createdAtMs, stores.id).all()).map(toStore),
      );
    },
    /** Returns the ids of the stores that are suspended. */
    async listSuspended(): Promise<readonly string[]> {
      const stored = await db.read(async () => (await all.all()).map(toStore));
      return stored.flatMap(({ id, suspension }) => (suspension ? id : []));
    },
    /** Returns the settings of a store that exists. */
    async settings(id: string): Promise<StoreSettings> {
      return db.read(async () => (await rows.of(id)).settings);
    },
    /** Returns the refund policy of a store that exists. */
    async refundPolicy(id: string): Promise<RefundPolicy> {
      return db.read(async () => (await rows.of(id)).policy);
    },
    /** Changes the refund policy of a store that exists. @returns all of it */
    async setRefundPolicy(id: string, changes: Partial<RefundPolicy>): Promise<RefundPolicy> {
      return db.write(async () => {
        const refundPolicy = { ...(await rows.of(id)).policy, ...changes };
        await db.orm.update(stores).set({ refundPolicy }).where(eq(stores.id, id)).run();
        return refundPolicy;
      });
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
      return writeOrTry(db, isDryRun, async () => {
        const row = await rows.find(id);
        if (!row) return null;
        const before = valuesOf(row);
        const after: StoreValues = { ...before, ...changes };
        const changed = (Object.keys(after) as (keyof StoreValues)[]).filter((key) => before[key] !== after[key]);
        if (changed.length === 0) return { before, after };
        const { name, zone } = after;
        const own = { settings: like(row.settings, after), refundPolicy: like(row.refundPolicy, after) };
        await db.orm
          .update(stores)
          .set({ name, zone, ...own })
          .where(eq(stores.id, id))
          .run();
        await recordAct(act, { target: id, before: pick(before, changed), after: pick(after, changed) });
        return { before, after };
      });
    },
  };
}

/** The operator's decision about a store. */
function decisionCommands(db: Db, parts: Parts) {
  const { rows, guard, recordAct, alarms } = parts;
  const toStore = viewer(rows);
  const people = personRows(db);
  const alarmNext = (nowMs: number): Promise<void> =>
    alarms.raiseNext(ALARMS, nowMs, async (isUntold, limit) => {
      const untold = db.orm
        .select({ id: stores.id })
        .from(stores)
        .where(and(isWaiting, isUntold(stores.id)));
      const oldest = await untold.orderBy(asc(stores.createdAtMs), asc(stores.id)).limit(limit).all();
      return oldest.map(({ id }) => ({
        id,
        about: { code: 'store_waiting', message: waitingMessage(id), network: null, sessionId: null },
      }));
    });

  /** Saves a decision and records it. @returns the store after it */
  async function decide(row: StoreRow, status: StoreRow['status'], act: OperatorAct): Promise<MerchantStore> {
    const isAgainst = status === 'refused' || status === 'suspended';
    const decision = {
      decidedAtMs: isAgainst ? act.atMs : null,
      decidedBecause: isAgainst ? (act.reason ?? '') : null,
    };
    const after = { ...row, status, ...decision };
    const mac = guard.seal(macedDecision(after));
    await db.orm
      .update(stores)
      .set({ status, ...decision, mac })
      .where(eq(stores.id, row.id))
      .run();
    const shown = (one: StoreRow) => ({
      status: one.status,
      ...(one.decidedBecause !== null && { because: one.decidedBecause }),
    });
    await recordAct(act, { target: row.id, before: shown(row), after: shown(after) });
    return toStore({ ...after, mac });
  }

  /** Decides about a store that waits, and ends its alarm. */
  async function decideWaiting(
    row: StoreRow,
    status: 'approved' | 'refused',
    act: OperatorAct,
  ): Promise<MerchantStore> {
    const store = await decide(row, status, act);
    await alarms.end(ALARMS, row.id, act.atMs);
    await alarmNext(act.atMs);
    return store;
  }

  /** Counts the stores of a person that wait. */
  async function countWaiting(personId: string): Promise<number> {
    const own = (await people.byId(personId))?.memberships.flatMap(({ storeId }) => storeId ?? []) ?? [];
    const waiting = and(inArray(stores.id, own), isWaiting);
    return (await db.orm.select({ of: count() }).from(stores).where(waiting).get())?.of ?? 0;
  }

  return {
    /**
     * Creates a store that waits for the operator's approval, with its owner. The alarm `store_waiting` tells the
     * operator, until it is decided about.
     * @returns false when too many of the owner's stores wait (`WAITING_STORES_MAX`)
     */
    async request(input: NewStore, ownerId: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        if ((await countWaiting(ownerId)) >= WAITING_STORES_MAX) return false;
        await createStore(db, parts, { ...input, status: 'pending' }, act, ownerId);
        const owner = await people.byId(ownerId);
        invariant(owner, `there is an account ${ownerId}`);
        await people.set(ownerId, {
          memberships: withMembership(owner.memberships, { storeId: input.id, role: 'owner' }),
        });
        await alarmNext(act.atMs);
        return true;
      });
    },
    /**
     * Lets the keys of a store that waits, or was refused, be used.
     * @returns null if there is no such store; `hasChanged` is false for one that was approved
     */
    async approve(id: string, act: OperatorAct, isDryRun: boolean): Promise<Decided | null> {
      return writeOrTry(db, isDryRun, async () => {
        const row = await rows.find(id);
        if (!row) return null;
        if (isApproved(row.status)) return { store: toStore(row), hasChanged: false };
        return { store: await decideWaiting(row, 'approved', act), hasChanged: true };
      });
    },
    /**
     * Refuses a store that waits, for the act's reason, which its owners see. Refusing it again keeps the first reason
     * and is not recorded.
     * @returns null if there is no such store
     */
    async refuse(id: string, act: OperatorAct, isDryRun: boolean): Promise<RefusedStore | null> {
      return writeOrTry(db, isDryRun, async () => {
        const row = await rows.find(id);
        if (!row) return null;
        if (isApproved(row.status)) return { store: toStore(row), outcome: 'approved' };
        if (row.status === 'refused') return { store: toStore(row), outcome: 'already' };
        return { store: await decideWaiting(row, 'refused', act), outcome: 'refused' };
      });
    },
    /**
     * Suspends an approved store for the act's reason, or resumes it. Its sessions are watched and credited, and its
     * webhooks are sent; its refunds that are not signed yet are held until it is resumed. Suspending it again keeps
     * the first reason and is not recorded.
     * @returns null when there is no such store
     */
    async suspend(
      id: string,
      to: 'suspended' | 'resumed',
      act: OperatorAct,
      isDryRun: boolean,
    ): Promise<Decided | null> {
      return writeOrTry(db, isDryRun, async () => {
        const row = await rows.find(id);
        if (!row) return null;
        const status = to === 'suspended' ? 'suspended' : 'approved';
        const isPointless = row.status === status || !isApproved(row.status);
        if (rows.isIntact(row) && isPointless) return { store: toStore(row), hasChanged: false };
        return { store: await decide(row, status, act), hasChanged: true };
      });
    },
  };
}

/** The look of a store's payment page, and who may embed it. */
function pageCommands({ orm, read, write }: Db, { rows, recordAct }: Parts) {
  const audited = ({ accent, embedOrigins, logo }: PageSettings): AuditedState => {
    return { accent, embedOrigins: embedOrigins.join(','), logoHash: logo };
  };
  return {
    async setPageSettings(storeId: string, { logo, ...change }: PageSettingsChange, act?: OperatorAct): Promise<void> {
      await write(async () => {
        const before = (await rows.find(storeId))?.page ?? noPage;
        const page: PageSettings = { ...before, ...change, ...(logo !== undefined && { logo: logo?.hash ?? null }) };
        const bytes = logo === undefined ? {} : { logo: logo && Buffer.from(logo.bytes) };
        await orm
          .update(stores)
          .set({ page, ...bytes })
          .where(eq(stores.id, storeId))
          .run();
        await recordAct(act, { target: storeId, before: audited(before), after: audited(page) });
      });
    },
    /** Returns a store's page settings; those of a new store if there is none. */
    async findPageSettings(storeId: string): Promise<PageSettings> {
      return read(async () => (await rows.find(storeId))?.page ?? noPage);
    },
    /** Returns the logo with this hash; null when the store has another one, or none. */
    async findLogo(storeId: string, hash: string): Promise<Uint8Array | null> {
      const { page, logo } = stores;
      const row = await read(() => orm.select({ page, logo }).from(stores).where(eq(stores.id, storeId)).get());
      return row?.page.logo === hash ? row.logo : null;
    },
  };
}
