/**
 * Every table with values that the secret key sealed or made MACs of, and how its rows get the current version. A row
 * is first checked by its own version: what was altered before never gets a valid MAC.
 * @module
 */
import { and, asc, eq, getTableName, inArray, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Fault } from '../../../core/fault.ts';
import { type IntentMacs, intentMacVersion, isPayback, paybackKinds } from '../../../core/intent.ts';
import { type DataKeys, versionOf } from '../data-keys.ts';
import { apiSecretName, macedKey } from '../keys.ts';
import { mailName } from '../mails.ts';
import { noticeAddressName, noticeCodeName } from '../notices/notices.ts';
import type { Db } from '../open.ts';
import { macedOutgoing, macedWallet } from '../payouts/outgoing.ts';
import { totpSecretName } from '../people/secrets.ts';
import { macedAddress, NOT_DERIVED } from '../pool.ts';
import { macedDestination } from '../refunds/destination-mac.ts';
import { macedRefundAddress } from '../refunds/destinations.ts';
import type { MacedRow, RowMacs } from '../row-macs.ts';
import { macedSuspension } from '../stores.ts';
import {
  addresses,
  jobs,
  keys,
  noticeTargets,
  outgoingTransfers,
  ownWallets,
  payouts,
  people,
  refundAddresses,
  refunds,
  stores,
  transfers,
  webhookSecrets,
} from '../tables.ts';
import { macedTransfer } from '../transfers.ts';
import type { Vault } from '../vault.ts';
import { webhookSecretName } from '../webhook-secrets.ts';

/** What becomes of a row: it had the current version, has it now, keeps an older one, or is not opened by any. */
type Outcome = 'current' | 'resealed' | 'refused' | Readonly<{ kept: number }>;
type Place = readonly (string | number)[];

export type SealedTable = Readonly<{
  /** For people: what the rows are. */
  what: string;
  table: string;
  /** The columns, as SQL that gives a text with a version. */
  columns: readonly Readonly<{ name: string; text: string }>[];
  /** Rows that have such values; by default all. */
  where?: string;
  /** Seals the next rows, within a transaction. @returns what became of each, and the last one's place */
  reseal(after: Place | null, limit: number): Readonly<{ outcomes: readonly Outcome[]; last: Place | null }>;
}>;

export type SealedTableParts = Readonly<{ keys: DataKeys; vault: Vault; macs: RowMacs; macOf: IntentMacs }>;

/** Refunds of these states may still be signed. */
const openStatuses = ['pending', 'processing'] as const;

const plain = (name: string) => ({ name, text: name });
/** The MACs of refunds by version 1 do not name it. */
const intentText = (name: string, text: string) => ({
  name,
  text: `CASE WHEN ${text} LIKE 'v%' THEN ${text} ELSE 'v1.' || ${text} END`,
});

/** Returns the condition for rows after a place in the order of these columns. */
const isAfter = (columns: readonly SQLiteColumn[], after: Place | null): SQL | undefined =>
  after === null
    ? undefined
    : sql`(${sql.join([...columns], sql`, `)}) > (${sql.join(
        after.map((value) => sql`${value}`),
        sql`, `,
      )})`;

export function sealedTables(db: Db, parts: SealedTableParts): readonly SealedTable[] {
  return [...secretTables(db, parts), ...macedTables(db, parts), ...refundTables(db, parts)];
}

/** Goes through a list of rows. */
function each<Row>(
  rows: readonly Row[],
  placeOf: (row: Row) => Place,
  reseal: (row: Row) => Outcome,
): ReturnType<SealedTable['reseal']> {
  const last = rows.at(-1);
  return { outcomes: rows.map(reseal), last: last === undefined ? null : placeOf(last) };
}

/** Tables of secrets. */
function secretTables({ orm }: Db, { keys: dataKeys, vault, macs }: SealedTableParts): SealedTable[] {
  const isCurrent = (sealed: string | null): boolean => sealed === null || versionOf(sealed) === dataKeys.current();

  /** Returns the texts sealed with the current version; null if one of them does not open. */
  function again(...texts: readonly (readonly [sealed: string | null, name: string])[]): (string | null)[] | null {
    try {
      return texts.map(([sealed, name]) => sealed && vault.seal(vault.open(sealed, name), name));
    } catch (error) {
      if (error instanceof Fault && error.code === 'secret_key_wrong') return null;
      throw error;
    }
  }

  return [
    {
      what: 'API keys',
      table: 'keys',
      columns: [plain('secret'), plain('mac')],
      reseal: (after, limit) =>
        each(
          orm
            .select()
            .from(keys)
            .where(isAfter([keys.id], after))
            .orderBy(asc(keys.id))
            .limit(limit)
            .all(),
          ({ id }) => [id],
          (row) => {
            if (isCurrent(row.secret) && row.mac !== null && isCurrent(row.mac)) return 'current';
            const [secret] =
              (macs.isIntact(macedKey(row), row.mac) && again([row.secret, apiSecretName(row.id)])) || [];
            if (!secret) return 'refused';
            const mac = macs.seal(macedKey({ ...row, secret }));
            orm.update(keys).set({ secret, mac }).where(eq(keys.id, row.id)).run();
            return 'resealed';
          },
        ),
    },
    {
      what: 'webhook secrets',
      table: 'webhook_secrets',
      columns: [plain('secret'), plain('next_secret')],
      where: "secret <> ''",
      reseal(after, limit) {
        const { owner, mode } = webhookSecrets;
        const where = and(isAfter([owner, mode], after), sql`${webhookSecrets.secret} <> ''`);
        const list = orm.select().from(webhookSecrets).where(where).orderBy(asc(owner), asc(mode)).limit(limit);
        return each(
          list.all(),
          (row) => [row.owner, row.mode],
          (row) => {
            if (isCurrent(row.secret) && isCurrent(row.nextSecret)) return 'current';
            const name = webhookSecretName(row.owner, row.mode);
            const [secret, nextSecret = null] = again([row.secret, name], [row.nextSecret, name]) ?? [];
            if (!secret) return 'refused';
            const isRow = and(eq(owner, row.owner), eq(mode, row.mode));
            orm.update(webhookSecrets).set({ secret, nextSecret }).where(isRow).run();
            return 'resealed';
          },
        );
      },
    },
    {
      what: 'second factors',
      table: 'people',
      columns: [plain('totp_secret')],
      reseal: (after, limit) =>
        each(
          orm
            .select()
            .from(people)
            .where(isAfter([people.id], after))
            .orderBy(asc(people.id))
            .limit(limit)
            .all(),
          ({ id }) => [id],
          ({ id, totpSecret: sealed }) => {
            if (isCurrent(sealed)) return 'current';
            const [totpSecret] = again([sealed, totpSecretName(id)]) ?? [];
            if (!totpSecret) return 'refused';
            orm.update(people).set({ totpSecret }).where(eq(people.id, id)).run();
            return 'resealed';
          },
        ),
    },
    {
      what: 'mails',
      table: 'jobs',
      columns: [plain('payload')],
      where: "kind = 'mail' AND payload IS NOT NULL",
      reseal(after, limit) {
        const isMail = and(eq(jobs.kind, 'mail'), isNotNull(jobs.payload), isAfter([jobs.key], after));
        const list = orm.select().from(jobs).where(isMail).orderBy(asc(jobs.key)).limit(limit);
        return each(
          list.all(),
          ({ key }) => [key],
          ({ kind, key, payload: sealed }) => {
            if (isCurrent(sealed)) return 'current';
            const [payload] = again([sealed, mailName(key)]) ?? [];
            if (!payload) return 'refused';
            const isRow = and(eq(jobs.kind, kind), eq(jobs.key, key));
            orm.update(jobs).set({ payload }).where(isRow).run();
            return 'resealed';
          },
        );
      },
    },
    {
      what: 'targets of notices',
      table: 'notice_targets',
      columns: [plain('address'), plain('code')],
      reseal(after, limit) {
        const { id } = noticeTargets;
        const list = orm
          .select()
          .from(noticeTargets)
          .where(isAfter([id], after))
          .orderBy(asc(id))
          .limit(limit);
        return each(
          list.all(),
          (row) => [row.id],
          (row) => {
            if (isCurrent(row.address) && isCurrent(row.code)) return 'current';
            const texts = again([row.address, noticeAddressName(row.id)], [row.code, noticeCodeName(row.id)]);
            const [address, code] = texts ?? [];
            if (!address || !code) return 'refused';
            orm.update(noticeTargets).set({ address, code }).where(eq(id, row.id)).run();
            return 'resealed';
          },
        );
      },
    },
  ];
}

/** Tables whose rows have MACs. */
function macedTables({ orm, client }: Db, { keys: dataKeys, macs }: SealedTableParts): SealedTable[] {
  /** Checks a row's MAC, and makes the new one. */
  function again(row: MacedRow, mac: string | null, save: (mac: string) => void): Outcome {
    if (versionOf(mac) === dataKeys.current()) return 'current';
    if (!macs.isIntact(row, mac)) return 'refused';
    save(macs.seal(row));
    return 'resealed';
  }

  /** Returns a table whose rows are found by `id`. */
  function byId<T extends SQLiteTable & { id: SQLiteColumn; mac: SQLiteColumn }>(
    what: string,
    table: T,
    macedOf: (row: T['$inferSelect']) => MacedRow,
    where?: string,
  ): SealedTable {
    type Row = T['$inferSelect'] & { id: number | string; mac: string | null };
    const name = getTableName(table);
    const update = client.prepare(`UPDATE ${name} SET mac = ? WHERE id = ?`);
    return {
      what,
      table: name,
      columns: [plain('mac')],
      ...(where !== undefined && { where }),
      reseal(after, limit) {
        const due = and(isAfter([table.id], after), where === undefined ? undefined : sql.raw(where));
        const list = orm.select().from(table as SQLiteTable);
        return each(
          list.where(due).orderBy(asc(table.id)).limit(limit).all() as Row[],
          ({ id }) => [id],
          (row) => again(macedOf(row), row.mac, (mac) => update.run(mac, row.id)),
        );
      },
    };
  }

  const { sessionId, network } = refundAddresses;
  return [
    byId('deposit addresses', addresses, macedAddress, `mac IS NOT '${NOT_DERIVED}'`),
    byId('transfers', transfers, macedTransfer),
    byId('our own wallets', ownWallets, macedWallet),
    byId('outgoing transfers', outgoingTransfers, macedOutgoing),
    byId('suspensions of stores', stores, macedSuspension),
    {
      what: 'refund addresses',
      table: 'refund_addresses',
      columns: [plain('mac')],
      reseal(after, limit) {
        const isLater = isAfter([sessionId, network], after);
        const list = orm.select().from(refundAddresses).where(isLater).orderBy(asc(sessionId), asc(network));
        return each(
          list.limit(limit).all(),
          (row) => [row.sessionId, row.network],
          (row) => {
            const isRow = and(eq(sessionId, row.sessionId), eq(network, row.network));
            return again(macedRefundAddress(row), row.mac, (mac) =>
              orm.update(refundAddresses).set({ mac }).where(isRow).run(),
            );
          },
        );
      },
    },
  ];
}

/** Refunds and their payouts, whose MACs the signer checks. */
function refundTables({ orm }: Db, { keys: dataKeys, macOf }: SealedTableParts): SealedTable[] {
  /** An approver's signature covers the MAC: one that was given stays valid. */
  const isApproved = and(inArray(refunds.status, openStatuses), sql`${refunds.approvals} <> '[]'`);

  return [
    {
      what: 'destinations of refunds',
      table: 'refunds',
      columns: [intentText('mac', 'mac')],
      reseal(after, limit) {
        const list = orm
          .select({ row: refunds, isApproved: sql<number>`${isApproved}` })
          .from(refunds)
          .where(and(isAfter([refunds.id], after), sql`${refunds.mac} IS NOT NULL`))
          .orderBy(asc(refunds.id))
          .limit(limit);
        return each(
          list.all(),
          ({ row }) => [row.id],
          ({ row, isApproved: keeps }) => {
            const version = intentMacVersion(row.mac ?? '');
            if (version === dataKeys.current()) return 'current';
            if (keeps === 1) return { kept: version };
            const covered = macedDestination(macOf, row);
            const mac = covered && macOf(covered, dataKeys.current());
            if (mac === null) return 'refused';
            orm.update(refunds).set({ mac }).where(eq(refunds.id, row.id)).run();
            return 'resealed';
          },
        );
      },
    },
    {
      what: 'payouts of refunds',
      table: 'payouts',
      columns: [intentText('intent', `(intent ->> '$.mac')`)],
      where: "kind IN ('refund', 'return')",
      reseal(after, limit) {
        const list = orm
          .select({ id: payouts.id, intent: payouts.intent, isApproved: sql<number | null>`${isApproved}` })
          .from(payouts)
          .leftJoin(refunds, eq(refunds.id, payouts.id))
          .where(and(isAfter([payouts.id], after), inArray(payouts.kind, paybackKinds)))
          .orderBy(asc(payouts.id))
          .limit(limit);
        return each(
          list.all(),
          ({ id }) => [id],
          ({ id, intent, isApproved: keeps }) => {
            if (!isPayback(intent)) return 'current';
            const version = intentMacVersion(intent.mac);
            if (version === dataKeys.current()) return 'current';
            if (keeps === 1) return { kept: version };
            const mac = macOf(intent, version) === intent.mac ? macOf(intent, dataKeys.current()) : null;
            if (mac === null) return 'refused';
            orm
              .update(payouts)
              .set({ intent: { ...intent, mac } })
              .where(eq(payouts.id, id))
              .run();
            return 'resealed';
          },
        );
      },
    },
  ];
}
