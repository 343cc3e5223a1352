/**
 * Seals everything that the secret key protects with another key, in one transaction, while nothing else uses the
 * database. `sealedTables` lists the tables.
 */
import { getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Fault, permanent } from '../core/fault.ts';
import { createIntentMac, type IntentMac, isPayback, paybackKinds } from '../core/intent.ts';
import { hashOf } from '../lib/id.ts';
import { macedAddress } from './addresses.ts';
import { noticeAddressName, noticeCodeName } from './alarms.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { webhookSecretName } from './endpoints.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRows } from './engine/rows.ts';
import { apiSecretName, macedKey } from './keys.ts';
import { totpSecretName } from './people.ts';
import { macedRefundAddress } from './refunds/destinations.ts';
import { macedDestination } from './refunds/refund.ts';
import {
  createRowMacs,
  createTokens,
  createVault,
  type MacedRow,
  opensProbe,
  type RowMacs,
  sealProbe,
  type Tokens,
  type Vault,
} from './sealing.ts';
import { macedDecision } from './stores.ts';
import {
  addresses,
  endpoints,
  keys,
  noticeTargets,
  payouts,
  people,
  refundAddresses,
  refunds,
  stores,
  transfers,
} from './tables.ts';
import { macedTransfer } from './transfers.ts';

/** Most rows that are in memory at once. */
const SLICE_ROWS = 1_000;

/** Codecs made from a secret key. */
type Sealer = Readonly<{ vault: Vault; macs: RowMacs; macOf: IntentMac; tokens: Tokens }>;

/** The new values of a row; null for an altered row, which stays as it is and remains unusable. */
type Resealed = Readonly<Record<string, unknown>> | null;

type SealedTable = Readonly<{
  table: SQLiteTable;
  /** The columns of the primary key. If absent, the key is `id`. */
  key?: readonly string[] | undefined;
  /** The SQL of a condition; all rows if absent. */
  where?: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: each entry reads the rows of its own table
  reseal(row: any, from: Sealer, to: Sealer): Resealed;
}>;

/** The numbers of resealed and of altered rows, and of refunds with a new claim link. */
export type Resealing = Readonly<{ resealed: number; altered: number; claimLinks: number }>;

/** The place of a database: a URL, or without one a file. */
export type DatabasePlace = Required<Pick<OpenOptions, 'file' | 'url'>>;

const openAlone = (place: DatabasePlace): Db => openEngine({ ...place, isAlone: true }, async () => {});

/** Returns whether the database is sealed with a key. @throws Fault permanent `database_in_use` */
export async function fitsDatabase(place: DatabasePlace, key: Uint8Array): Promise<boolean> {
  const db = openAlone(place);
  try {
    return await db.write(() => opensProbe(db, createVault(key)));
  } finally {
    db.close();
  }
}

/**
 * Seals everything with another key, and records the act. No other process may have a file open.
 * @param onTable called before each table, with its name
 * @throws Fault permanent `refunds_approved`, `database_in_use`; transient `storage_unavailable`
 */
export async function resealDatabase(
  place: DatabasePlace,
  keys: Readonly<{ from: Uint8Array; to: Uint8Array }>,
  act: OperatorAct,
  onTable: (name: string) => void,
): Promise<Resealing> {
  const db = openAlone(place);
  try {
    return await db.write(async () => {
      await refuseApproved(db);
      const [from, to] = [createSealer(keys.from), createSealer(keys.to)];
      const sum = { resealed: 0, altered: 0, claimLinks: 0 };
      for (const table of sealedTables) {
        onTable(getTableName(table.table));
        await resealTable(db, table, from, to, sum);
      }
      await sealProbe(db, to.vault);
      await recordAct(db, act, { target: 'the secret key', before: null, after: sum });
      return sum;
    });
  } finally {
    db.close();
  }
}

const createSealer = (key: Uint8Array): Sealer => ({
  vault: createVault(key),
  macs: createRowMacs(key),
  macOf: createIntentMac(key),
  tokens: createTokens(key),
});

/**
 * Refuses the rotation while open refunds have approvals, because an approver's signature covers the refund's MAC.
 * @throws Fault permanent `refunds_approved`
 */
async function refuseApproved(db: Db): Promise<void> {
  const open = await findRows(db, refunds, "WHERE status IN ('pending', 'processing') AND approval IS NOT NULL");
  if (open.length === 0) return;
  throw permanent(
    'refunds_approved',
    `${open.length} open refunds are approved as they are (${open[0]?.id}). Start Quayside and wait until they are ` +
      'paid, or end them with `quayside refund reject`; then run this again',
  );
}

async function resealTable(
  db: Db,
  { table, key = ['id'], where = '1 = 1', reseal }: SealedTable,
  from: Sealer,
  to: Sealer,
  sum: { -readonly [K in keyof Resealing]: number },
): Promise<void> {
  type Row = Readonly<Record<string, string | number>>;
  const order = `ORDER BY ${key.join(', ')} LIMIT ${SLICE_ROWS}`;
  const later = `AND (${key.join(', ')}) > (${key.map((name) => `:${name}`).join(', ')})`;
  for (let after: Row | null = null; ; ) {
    const page = `WHERE (${where}) ${after === null ? '' : later} ${order}`;
    const rows: readonly Row[] = await findRows(db, table, page, after ?? {});
    for (const row of rows) {
      const values = reseal(row, from, to);
      if (values === null) sum.altered++;
      else if (Object.keys(values).length > 0) {
        await changeRows(db, table, Object.fromEntries(key.map((name) => [camel(name), row[camel(name)]])), values);
        sum.resealed++;
        if ('claimHash' in values) sum.claimLinks++;
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SLICE_ROWS) return;
    after = Object.fromEntries(key.map((name) => [name, last[camel(name)] ?? '']));
  }
}

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Seals the secrets of a row again; null if one of them does not open. */
function secretsOf(
  row: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
  { vault: from }: Sealer,
  { vault: to }: Sealer,
): Record<string, string> | null {
  const sealed = Object.entries(names).filter(([column]) => row[column]);
  try {
    return Object.fromEntries(
      sealed.map(([column, name]) => [column, to.seal(from.open(String(row[column]), name), name)]),
    );
  } catch (error) {
    if (error instanceof Fault && error.code === 'secret_key_wrong') return null;
    throw error;
  }
}

/** A table whose rows have secrets. */
const withSecrets = <T extends SQLiteTable>(
  table: T,
  namesOf: (row: T['$inferSelect']) => Readonly<Record<string, string>>,
): SealedTable => ({ table, reseal: (row, from, to) => secretsOf(row, namesOf(row), from, to) });

/** A table whose rows have MACs. */
const withMacs = <T extends SQLiteTable>(
  table: T,
  macedOf: (row: T['$inferSelect']) => MacedRow,
  key?: readonly string[],
): SealedTable => ({
  table,
  key,
  reseal: (row, from, to) => (from.macs.isIntact(macedOf(row), row.mac) ? { mac: to.macs.seal(macedOf(row)) } : null),
});

/** Every table with sealed values or MACs. */
const sealedTables: readonly SealedTable[] = [
  {
    table: keys,
    reseal(row: typeof keys.$inferSelect, from, to) {
      const sealed = from.macs.isIntact(macedKey(row), row.mac)
        ? secretsOf(row, { secret: apiSecretName(row.id) }, from, to)
        : null;
      return sealed && { ...sealed, mac: to.macs.seal(macedKey({ ...row, ...sealed })) };
    },
  },
  withSecrets(endpoints, ({ id, mode }) => ({ secret: webhookSecretName(id, mode) })),
  withSecrets(stores, ({ id }) => ({
    liveSecret: webhookSecretName(id, 'live'),
    testSecret: webhookSecretName(id, 'test'),
  })),
  withSecrets(people, ({ id }) => ({ totpSecret: totpSecretName(id) })),
  withSecrets(noticeTargets, ({ id }) => ({
    address: noticeAddressName(id),
    code: noticeCodeName(id),
  })),
  withMacs(addresses, macedAddress),
  withMacs(transfers, macedTransfer),
  withMacs(stores, macedDecision),
  withMacs(refundAddresses, macedRefundAddress, ['session_id', 'network']),
  {
    table: refunds,
    where: 'mac IS NOT NULL OR claim_hash IS NOT NULL',
    reseal(row: typeof refunds.$inferSelect, from, to) {
      const claimOf = ({ tokens }: Sealer): string => hashOf(tokens.of('refund claim', row.id));
      const claimHash = row.claimHash === claimOf(from) ? { claimHash: claimOf(to) } : {};
      if (row.mac === null) return claimHash;
      const covered = macedDestination(from.macOf, row);
      return covered && { ...claimHash, mac: to.macOf(covered) };
    },
  },
  {
    table: payouts,
    where: `kind IN (${paybackKinds.map((kind) => `'${kind}'`)})`,
    reseal({ intent }: typeof payouts.$inferSelect, from, to) {
      if (!isPayback(intent)) return {};
      return from.macOf(intent) === intent.mac ? { intent: { ...intent, mac: to.macOf(intent) } } : null;
    },
  },
];
