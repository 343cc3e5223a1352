/**
 * The tables of payouts and the ledger for the query builder, and the form of their rows in core; see `../schema.ts`.
 * @module
 */
import { blob, customType, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { type HotRole, type Intent, type Wallet, withoutMac } from '../../../core/intent.ts';
import type { Account, Asset, EntryKind } from '../../../core/ledger.ts';
import type { WalletStanding, WatchedRole } from '../../../core/outgoing.ts';
import type { Attempt, Payout, PayoutState, Proof } from '../../../core/payout.ts';
import type { Currency, NetworkKey } from '../../../core/transfer.ts';
import type { EngineReason, SeenSignerFreeze, SeenSignerPolicy } from '../../money-out.ts';
import type { OutgoingState } from '../../outgoing.ts';
import { json, units } from '../column-types.ts';

const network = () => text().$type<NetworkKey>().notNull();

// ── Intents as JSON text, with units as decimal strings ──────────────────────────────────────────────────────────────

/** Writes equal intents as the same text, whatever the order of their fields. */
export const writeIntent = (intent: Intent): string => JSON.stringify(intent, plain);

/** Returns whether two intents pay the same, whichever version of the secret key made their MACs. */
export const isSameIntent = (one: Intent, other: Intent): boolean =>
  writeIntent(withoutMac(one)) === writeIntent(withoutMac(other));

export const readIntent = (text: string): Intent =>
  JSON.parse(text, (key, value: unknown) => (key === 'units' ? BigInt(String(value)) : value)) as Intent;

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const intent = customType<{ data: Intent; driverData: string }>({
  dataType: () => 'text',
  toDriver: writeIntent,
  fromDriver: readIntent,
});

export const payouts = sqliteTable('payouts', {
  id: text().primaryKey(),
  kind: text().$type<Intent['kind']>().notNull(),
  network: network(),
  intent: intent().notNull(),
  sessionId: text(),
  servesId: text(),
  state: text().$type<PayoutState>().notNull(),
  generation: integer().notNull(),
  proof: text().$type<Proof>(),
  waitCode: text(),
  waitMessage: text(),
  faultCode: text(),
  faultMessage: text(),
  notBeforeMs: integer().notNull(),
  tx: text(),
  feeUnits: units(),
  createdAtMs: integer().notNull(),
  updatedAtMs: integer().notNull(),
  settledAtMs: integer(),
  isOrdered: integer({ mode: 'boolean' }).notNull().default(false),
  notPaidThrough: integer(),
});

export const payoutAttempts = sqliteTable('payout_attempts', {
  payoutId: text().notNull(),
  generation: integer().notNull(),
  attempt: integer().notNull(),
  network: network(),
  payer: text().notNull(),
  payerRole: text().$type<Wallet['role']>().notNull(),
  nonce: integer(),
  terms: json<Attempt['terms']>().notNull(),
  feeUnitsMax: units().notNull(),
  tx: text(),
  bytes: blob({ mode: 'buffer' }),
  allottedAtMs: integer().notNull(),
  signedAtMs: integer(),
  sentAtMs: integer(),
  answer: text(),
  feeUnits: units(),
});

export const lanes = sqliteTable('lanes', {
  network: network(),
  payer: text().notNull(),
  nextNonce: integer().notNull(),
  haltedCode: text(),
  haltedMessage: text(),
});

export const payoutEngines = sqliteTable('payout_engines', {
  network: text().$type<NetworkKey>().primaryKey(),
  fence: integer().notNull(),
  journalId: integer().notNull(),
  reasonCode: text(),
  reasonMessage: text(),
  signerFreeze: json<SeenSignerFreeze>(),
  isUncertain: integer({ mode: 'boolean' }).notNull().default(false),
  updatedAtMs: integer().notNull(),
});

export const seenSigner = sqliteTable('seen_signer', {
  id: integer().primaryKey(),
  freeze: json<SeenSignerFreeze>(),
  policy: json<SeenSignerPolicy>(),
});

export const payoutFreezes = sqliteTable(
  'payout_freezes',
  {
    /** Empty: every network. */
    network: text().$type<NetworkKey | ''>().notNull(),
    code: text().notNull(),
    reason: text().notNull(),
    frozenBy: text().notNull(),
    sinceMs: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.code] })],
);

export const ownWallets = sqliteTable('own_wallets', {
  id: integer().primaryKey(),
  network: network(),
  role: text().$type<WatchedRole>().notNull(),
  key: text().notNull(),
  mac: text(),
  standing: text().$type<WalletStanding>().notNull().default('current'),
});

export const outgoingTransfers = sqliteTable('outgoing_transfers', {
  id: integer().primaryKey(),
  network: network(),
  blockHash: text().notNull(),
  blockNumber: integer().notNull(),
  tx: text().notNull(),
  position: integer().notNull(),
  role: text().$type<WatchedRole>().notNull(),
  fromKey: text().notNull(),
  toKey: text().notNull(),
  currency: text().$type<Currency | 'native'>().notNull(),
  units: units().notNull(),
  state: text().$type<OutgoingState>().notNull(),
  seenAtMs: integer().notNull(),
  mac: text(),
});

export const walletBooks = sqliteTable('wallet_books', {
  network: network(),
  asset: text().$type<Asset>().notNull(),
  units: units().notNull(),
  shortSinceMs: integer(),
  ledgerId: integer().notNull(),
});

export const walletBalances = sqliteTable('wallet_balances', {
  network: network(),
  role: text().$type<HotRole>().notNull(),
  key: text().notNull(),
  isFormer: integer({ mode: 'boolean' }).notNull(),
  units: json<Readonly<Partial<Record<Asset, string>>>>().notNull(),
  low: json<readonly Asset[]>().notNull(),
  readAtMs: integer().notNull(),
});

export const ledgerEntries = sqliteTable('ledger_entries', {
  id: integer().primaryKey(),
  kind: text().$type<EntryKind>().notNull(),
  cause: text().notNull(),
  occurrence: integer().notNull(),
  atMs: integer().notNull(),
});

export const ledgerPostings = sqliteTable('ledger_postings', {
  entryId: integer().notNull(),
  account: text().$type<Account>().notNull(),
  subject: text().notNull(),
  network: network(),
  asset: text().$type<Asset>().notNull(),
  units: units().notNull(),
});

export const sweepParts = sqliteTable('sweep_parts', {
  payoutId: text().notNull(),
  network: network(),
  derivationIndex: integer().notNull(),
  currency: text().$type<Currency>().notNull(),
  poolId: integer(),
  units: units().notNull(),
});

export const unsweptLevels = sqliteTable('unswept_levels', {
  network: network(),
  currency: text().$type<Currency>().notNull(),
  owners: integer().notNull(),
  units: units().notNull(),
  openUnits: units().notNull(),
  readAtMs: integer().notNull(),
});

export type PayoutRow = typeof payouts.$inferSelect;
export type AttemptRow = typeof payoutAttempts.$inferSelect;

export function toPayout({
  kind: _,
  notPaidThrough: __,
  waitCode,
  waitMessage,
  faultCode,
  faultMessage,
  ...row
}: PayoutRow): Payout {
  return { ...row, wait: toReason(waitCode, waitMessage), fault: toReason(faultCode, faultMessage) };
}

export const toReason = (code: string | null, message: string | null): EngineReason | null =>
  code === null || message === null ? null : { code, message };

export function toAttempt({ payoutId: _, network: __, bytes, ...row }: AttemptRow): Attempt {
  return { ...row, bytes: bytes && new Uint8Array(bytes) };
}
