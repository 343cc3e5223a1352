/**
 * Merchants' stores: their settings, payment page, approval and suspension.
 */

import { eq, getTableColumns, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import { defaultRefundPolicy, type RefundPolicy } from '../core/refund.ts';
import type { Mode } from '../core/transfer.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { AuditedState, PageSettings, StoreSettings } from './column-values.ts';
import { sealSecret } from './endpoints.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { builtOnce, changeRows, findRow, insertRow, perDatabase } from './engine/rows.ts';
import { personRow, saveMembership } from './people.ts';
import type { MacedRow, SealedDb } from './sealing.ts';
import { stores } from './tables.ts';

/** Most stores of one person that may wait for approval. */
export const WAITING_STORES_MAX = 3;

/** The channel of every store. */
export const CHANNEL_TYPE = 'API';

/** A merchant's store. Its id is the merchant id of the API. */
export type MerchantStore = Pick<StoreRow, 'id' | 'name' | 'settings' | 'zone' | 'createdAtMs'> &
  Readonly<{
    status: 'pending' | 'approved';
    /** The suspension, during which the store's keys can create neither sessions nor refunds. */
    suspension?: Decision;
  }>;

/** A new store with its webhook secrets. They sign for URLs of single sessions, and for endpoints without a secret. */
export type NewStore = Omit<MerchantStore, 'suspension'> & Readonly<{ webhookSecrets: Readonly<Record<Mode, string>> }>;

/** A decision of an operator against a store. */
export type Decision = Readonly<{ atMs: number; because: string }>;

/** All settings of a store. */
export type StoreValues = Readonly<{ name: string; zone: string }> & StoreSettings & RefundPolicy & PageSettings;

/** A store's logo, a PNG. `hash` is the SHA-256 of its bytes, in hex. */
export type Logo = Readonly<{ hash: string; bytes: Uint8Array }>;

/** New settings. Omitted ones stay as they are. */
export type StoreChanges = Partial<Omit<StoreValues, 'logo'>> & Readonly<{ logo?: Logo | null }>;

const { logo: _logo, liveSecret: _live, testSecret: _test, ...storeColumns } = getTableColumns(stores);

type StoreRow = Omit<typeof stores.$inferSelect, 'logo' | 'liveSecret' | 'testSecret'>;

const noPage: PageSettings = { accent: null, embedOrigins: [], logo: null };

/** The fields of a store that its MAC covers: the operator's decision about it. */
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

/** The reason shown for a store whose row was altered. Its decision is unknown, so it counts as suspended. */
const ALTERED = 'its row in the database was altered';

const selectStore = perDatabase(({ orm }: Db) =>
  builtOnce(
    orm
      .select(storeColumns)
      .from(stores)
      .where(eq(stores.id, sql.placeholder('id'))),
  ),
);

// Call these within a transaction.

const findStore = (db: Db, id: string): Promise<StoreRow | undefined> => selectStore(db)().get({ id });

/** Returns the row of a store that another row names. */
async function rowOf(db: Db, id: string): Promise<StoreRow> {
  const row = await findStore(db, id);
  invariant(row, `store ${id} exists`);
  return row;
}

/** Checks the MAC of a store's decision, and raises an alarm if it fails. */
const isIntact = ({ guard }: SealedDb, row: StoreRow): boolean =>
  guard.accepts(
    macedDecision(row),
    row.mac,
    `the decision about store ${row.id}, which counts as suspended`,
    `run \`quayside store decide ${row.id} suspend --reason …\`, or \`quayside store decide ${row.id} approve\` if it was not suspended`,
  );

/** Returns a store that another row names. */
export async function storeOf(db: SealedDb, id: string) {
  const row = await rowOf(db, id);
  const { settings, refundPolicy: policy } = row;
  return { settings, policy, isSuspended: () => !isIntact(db, row) || row.status === 'suspended' };
}

/** Returns a store as its readers see it. */
function toStore(db: SealedDb, row: StoreRow): MerchantStore {
  const { id, name, settings, zone, createdAtMs, decidedAtMs, decidedBecause } = row;
  const isAltered = !isIntact(db, row);
  const decision = { atMs: decidedAtMs ?? 0, because: isAltered ? ALTERED : (decidedBecause ?? '') };
  return {
    id,
    name,
    settings,
    zone,
    createdAtMs,
    status: row.status === 'pending' ? 'pending' : 'approved',
    ...((isAltered || row.status === 'suspended') && { suspension: decision }),
  };
}

const valuesOf = ({ name, zone, settings, refundPolicy, page }: StoreRow): StoreValues => ({
  name,
  zone,
  ...settings,
  ...refundPolicy,
  ...page,
});

/** Returns an object's values under the keys of another one. */
const like = <T extends object>(shape: T, values: T): T =>
  Object.fromEntries(Object.keys(shape).map((key) => [key, values[key as keyof T]])) as T;

const audited = (values: StoreValues, keys: readonly (keyof StoreValues)[]): AuditedState =>
  Object.fromEntries(keys.map((key) => [key, key === 'embedOrigins' ? values[key].join(',') : values[key]]));

async function createStore(db: SealedDb, input: NewStore, act?: OperatorAct, owner?: string) {
  const { webhookSecrets, ...store } = input;
  const { settings } = store;
  const row = {
    ...store,
    refundPolicy: defaultRefundPolicy,
    page: noPage,
    logo: null,
    nextReceiptNumber: 1,
    decidedAtMs: null,
    decidedBecause: null,
    liveSecret: sealSecret(db, store.id, 'live', webhookSecrets.live),
    testSecret: sealSecret(db, store.id, 'test', webhookSecrets.test),
  };
  await insertRow(db, stores, { ...row, mac: db.guard.seal(macedDecision(row)) });
  const { id: target, name, zone } = store;
  await recordAct(db, act, { target, before: null, after: { name, zone, ...(owner && { owner }), ...settings } });
}

export function storeCommands(db: SealedDb) {
  return {
    ...decisionCommands(db),
    /** @param act the operator's command that creates it, for the audit log */
    async create(input: NewStore, act?: OperatorAct): Promise<void> {
      await db.write(() => createStore(db, input, act));
    },
    async find(id: string): Promise<MerchantStore | null> {
      return db.read(async () => {
        const row = await findStore(db, id);
        return row ? toStore(db, row) : null;
      });
    },
    async list(): Promise<readonly MerchantStore[]> {
      const all = db.orm.select(storeColumns).from(stores).orderBy(stores.createdAtMs, stores.id);
      return db.read(async () => (await all.all()).map((row) => toStore(db, row)));
    },
    /** Returns all settings of an existing store. */
    async values(id: string): Promise<StoreValues> {
      return db.read(async () => valuesOf(await rowOf(db, id)));
    },
    /** Changes a store's settings. Open sessions keep those that they were created with. */
    async update(id: string, { logo, ...changes }: StoreChanges, act?: OperatorAct): Promise<void> {
      await db.write(async () => {
        const row = await rowOf(db, id);
        const before = valuesOf(row);
        const after = { ...before, ...changes, ...(logo !== undefined && { logo: logo?.hash ?? null }) };
        const changed = (Object.keys(after) as (keyof StoreValues)[]).filter(
          (key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
        );
        if (changed.length === 0) return;
        const { name, zone } = after;
        const own = {
          name,
          zone,
          settings: like(row.settings, after),
          refundPolicy: like(row.refundPolicy, after),
          page: like(row.page, after),
          ...(logo !== undefined && { logo: logo && Buffer.from(logo.bytes) }),
        };
        await changeRows(db, stores, { id }, own);
        await recordAct(db, act, { target: id, before: audited(before, changed), after: audited(after, changed) });
      });
    },
    /** Returns the logo with this hash; null when the store has another one or none. */
    async findLogo(storeId: string, hash: string): Promise<Uint8Array | null> {
      const row = await db.read(() => findRow(db, stores, { id: storeId }));
      return row?.page.logo === hash ? row.logo : null;
    },
  };
}

// ── Decisions of the operator ────────────────────────────────────────────────────────────────────────────────────────

export const storeDecisions = ['approve', 'suspend'] as const;
export type StoreDecision = (typeof storeDecisions)[number];

type Status = StoreRow['status'];

/** The states before and after each decision. */
const steps: Readonly<Record<StoreDecision, Readonly<{ from: readonly Status[]; to: Status }>>> = {
  approve: { from: ['pending', 'suspended'], to: 'approved' },
  suspend: { from: ['pending', 'approved'], to: 'suspended' },
};

function decisionCommands(db: SealedDb) {
  /** Counts the stores of a person that wait for approval. */
  async function countWaiting(personId: string): Promise<number> {
    const ids = (await personRow(db, personId))?.memberships.flatMap(({ storeId }) => storeId ?? []) ?? [];
    return (await mapInOrder(ids, (id) => findStore(db, id))).filter((row) => row?.status === 'pending').length;
  }

  return {
    /**
     * Creates a store that waits for the operator's approval, with its owner.
     * @returns false when too many of the owner's stores wait (`WAITING_STORES_MAX`)
     */
    async request(input: NewStore, ownerId: string, act: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        if ((await countWaiting(ownerId)) >= WAITING_STORES_MAX) return false;
        await createStore(db, { ...input, status: 'pending' }, act, ownerId);
        const owner = await personRow(db, ownerId);
        invariant(owner, `there is an account ${ownerId}`);
        await saveMembership(db, owner, { storeId: input.id, role: 'owner' });
        return true;
      });
    },
    /**
     * Approves or suspends a store. Owners see the act's reason. A suspended store's sessions are still watched and
     * credited, and its webhooks are sent. Its unsigned refunds wait. A repeated decision, or one that comes too late,
     * changes nothing and is not recorded.
     * @returns null when there is no such store
     */
    async decide(id: string, decision: StoreDecision, act: OperatorAct): Promise<MerchantStore | null> {
      return db.write(async () => {
        const row = await findStore(db, id);
        if (!row) return null;
        const { from, to: status } = steps[decision];
        // The decision about an altered row is unknown, so any new one is saved.
        if (!from.includes(row.status) && isIntact(db, row)) return toStore(db, row);
        const decided = {
          status,
          decidedAtMs: status === 'suspended' ? act.atMs : null,
          decidedBecause: status === 'suspended' ? (act.reason ?? '') : null,
        };
        const after = { ...row, ...decided };
        const sealed = { ...decided, mac: db.guard.seal(macedDecision(after)) };
        await changeRows(db, stores, { id }, sealed);
        const shown = (one: StoreRow) => ({
          status: one.status,
          ...(one.decidedBecause !== null && { because: one.decidedBecause }),
        });
        await recordAct(db, act, { target: id, before: shown(row), after: shown(after) });
        return toStore(db, { ...after, ...sealed });
      });
    },
  };
}
