/**
 * Merchants' stores.
 * @module
 */
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import { invariant } from '../../core/fault.ts';
import { defaultRefundPolicy, type RefundPolicy } from '../../core/refund.ts';
import type { Mode } from '../../core/transfer.ts';
import type { MerchantStore, StoreDatabase, StoreSettings, StoreValues } from '../stores.ts';
import type { RecordAct } from './audit-log.ts';
import { writeOrTry } from './dry-run.ts';
import type { Db } from './open.ts';
import { atFirstUse, preparedInsert } from './prepared.ts';
import { stores } from './schema.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';

type StoreRow = typeof stores.$inferSelect;
type Parts = Readonly<{
  policyOf: (storeId: string) => RefundPolicy;
  setPolicy: (storeId: string, changes: Partial<RefundPolicy>) => RefundPolicy;
  recordAct: RecordAct;
  secrets: WebhookSecrets;
}>;

const pick = (values: StoreValues, keys: readonly (keyof StoreValues)[]) =>
  Object.fromEntries(keys.map((key) => [key, values[key]]));

/** Reads a store's settings, which a session copies. */
export function createSettingsReader({ orm }: Db): (storeId: string) => StoreSettings {
  const { settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit } = stores;
  const select = atFirstUse(
    orm
      .select({ settlementCurrency, toleranceMinor, topUpGraceS, monitoringS, latePolicy, credit })
      .from(stores)
      .where(eq(stores.id, sql.placeholder('id'))),
  );
  return (id) => {
    const settings = select.get({ id });
    invariant(settings, `store ${id} exists`);
    return settings;
  };
}

/** Returns whether a store's keys may create nothing. */
export function createSuspensionReader({ client }: Db): (storeId: string) => boolean {
  const find = client.prepare('SELECT 1 FROM stores WHERE id = :storeId AND suspended_at_ms IS NOT NULL');
  return (storeId) => find.get({ storeId }) !== undefined;
}

export function storeCommands(db: Db, { policyOf, setPolicy, recordAct, secrets }: Parts): StoreDatabase {
  const insert = preparedInsert(db, stores);
  const find = atFirstUse(
    db.orm
      .select()
      .from(stores)
      .where(eq(stores.id, sql.placeholder('id'))),
  );
  const secretOf = (id: string, mode: Mode) => secrets.open(secrets.ofStore(id, mode)).secret;
  const toStore = ({
    id,
    name,
    status,
    zone,
    createdAtMs,
    suspendedAtMs,
    suspendedBecause,
    refusedAtMs,
    refusedBecause,
    ...settings
  }: StoreRow): MerchantStore => ({
    id,
    name,
    status,
    settings,
    zone,
    webhookSecrets: { live: secretOf(id, 'live'), test: secretOf(id, 'test') },
    createdAtMs,
    ...(suspendedAtMs !== null && { suspension: { atMs: suspendedAtMs, because: suspendedBecause ?? '' } }),
    ...(refusedAtMs !== null && { refusal: { atMs: refusedAtMs, because: refusedBecause ?? '' } }),
  });
  return {
    async createStore({ settings, webhookSecrets, suspension, refusal, ...store }, act) {
      const [stopped, refused] = [suspension ?? null, refusal ?? null];
      await db.write(() => {
        insert({
          ...store,
          ...settings,
          suspendedAtMs: stopped?.atMs ?? null,
          suspendedBecause: stopped?.because ?? null,
          refusedAtMs: refused?.atMs ?? null,
          refusedBecause: refused?.because ?? null,
        });
        const { id: target, name, zone } = store;
        if (act) recordAct(act, { target, before: null, after: { name, zone, ...settings } });
        for (const mode of ['live', 'test'] as const) secrets.add(store.id, mode, webhookSecrets[mode]);
      });
    },
    async approveStore(id, act, isDryRun) {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        const approved = { status: 'approved', refusedAtMs: null, refusedBecause: null } as const;
        if (row.status === 'approved') return { store: toStore(row), hasChanged: false };
        db.orm.update(stores).set(approved).where(eq(stores.id, id)).run();
        recordAct(act, { target: id, before: { status: row.status }, after: { status: 'approved' } });
        return { store: toStore({ ...row, ...approved }), hasChanged: true };
      });
    },
    async refuseStore(id, act, isDryRun) {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        if (row.status === 'approved') return { store: toStore(row), outcome: 'approved' };
        if (row.refusedAtMs !== null) return { store: toStore(row), outcome: 'already' };
        const refused = { refusedAtMs: act.atMs, refusedBecause: act.reason ?? '' };
        db.orm.update(stores).set(refused).where(eq(stores.id, id)).run();
        recordAct(act, { target: id, before: { status: row.status }, after: { status: 'refused' } });
        return { store: toStore({ ...row, ...refused }), outcome: 'refused' };
      });
    },
    async pageStores({ which, after, limit }) {
      const { createdAtMs, status, refusedAtMs } = stores;
      const isAfter = after ? sql`(${createdAtMs}, ${stores.id}) > (${after.createdAtMs}, ${after.id})` : undefined;
      // As text, so that the partial index fits.
      const isWaiting = which === 'waiting' ? and(sql`${status} = 'pending'`, isNull(refusedAtMs)) : undefined;
      const select = db.orm.select().from(stores).where(and(isWaiting, isAfter));
      return db.read(() => select.orderBy(asc(createdAtMs), asc(stores.id)).limit(limit).all().map(toStore));
    },
    async findStore(id) {
      return db.read(() => {
        const row = find.get({ id });
        return row ? toStore(row) : null;
      });
    },
    async updateStore(id, changes, act, isDryRun) {
      const decide = () => {
        const row = find.get({ id });
        if (!row) return null;
        const before: StoreValues = { name: row.name, zone: row.zone, ...toStore(row).settings, ...policyOf(id) };
        const after: StoreValues = { ...before, ...changes };
        const changed = (Object.keys(after) as (keyof StoreValues)[]).filter((key) => before[key] !== after[key]);
        if (isDryRun || changed.length === 0) return { before, after };
        const isOfRefunds = (key: keyof StoreValues) => key in defaultRefundPolicy;
        const own = changed.filter((key) => !isOfRefunds(key));
        if (own.length > 0) db.orm.update(stores).set(pick(after, own)).where(eq(stores.id, id)).run();
        if (own.length < changed.length) setPolicy(id, pick(after, changed.filter(isOfRefunds)));
        recordAct(act, { target: id, before: pick(before, changed), after: pick(after, changed) });
        return { before, after };
      };
      return isDryRun ? db.read(decide) : db.write(decide);
    },
    async suspendStore(id, to, act, isDryRun) {
      return writeOrTry(db, isDryRun, () => {
        const row = find.get({ id });
        if (!row) return null;
        const isWanted = to === 'suspended';
        if ((row.suspendedAtMs !== null) === isWanted) return { store: toStore(row), hasChanged: false };
        const own = isWanted
          ? { suspendedAtMs: act.atMs, suspendedBecause: act.reason ?? '' }
          : { suspendedAtMs: null, suspendedBecause: null };
        db.orm.update(stores).set(own).where(eq(stores.id, id)).run();
        const { suspendedAtMs, suspendedBecause } = row;
        recordAct(act, { target: id, before: { suspendedAtMs, suspendedBecause }, after: own });
        return { store: toStore({ ...row, ...own }), hasChanged: true };
      });
    },
    async suspendedStores() {
      const select = db.orm.select({ id: stores.id }).from(stores).where(isNotNull(stores.suspendedAtMs));
      return db.read(() => select.all().map(({ id }) => id));
    },
    async listStores() {
      return db.read(() => db.orm.select().from(stores).orderBy(stores.createdAtMs, stores.id).all().map(toStore));
    },
  };
}
