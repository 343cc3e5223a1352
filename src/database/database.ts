/** The database as its users see it. Each repository has a file in this folder. This file puts them together. */

import { createIntentMac } from '../core/intent.ts';
import { poolCommands } from './addresses.ts';
import { alarmCommands, noticeCommands, raiseAlarm } from './alarms.ts';
import { auditCommands } from './audit-log.ts';
import { blockCommands } from './blocks.ts';
import { doorCommands } from './doors.ts';
import { endpointCommands } from './endpoints.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import { deliveryQueries, eventQueries, resendCommands, troubleQueries } from './events.ts';
import { heldMoneyCommands, heldReturnCommands } from './held-money.ts';
import { ingestCommands } from './ingest.ts';
import { keyCommands } from './keys.ts';
import { fenced, type HeldLease, leaseCommands } from './leases.ts';
import { ledgerCommands } from './ledger.ts';
import { formatsOf, networkCommands, type TextFormats } from './networks.ts';
import { attemptCommands, nonceCommands, openCommands } from './payouts/attempts.ts';
import { adoptionCommands, engineCommands } from './payouts/engines.ts';
import { holdCommands } from './payouts/holds.ts';
import { outcomeCommands } from './payouts/outcomes.ts';
import { payoutCommands } from './payouts/payouts.ts';
import { sweepCommands } from './payouts/sweeps.ts';
import { outgoingCommands, walletCommands } from './payouts/wallets.ts';
import { peopleCommands } from './people.ts';
import { recoveryCommands, rereadCommands } from './recovery.ts';
import { refundCommands } from './refunds/refunds.ts';
import { bookQueries, creditQueries, statsQuery } from './reports.ts';
import { checkKey, createRowGuard, createTokens, createVault, type SealedDb } from './sealing.ts';
import { claimCommands, recordCommands } from './sending.ts';
import { sessionListQueries } from './session.ts';
import { sessionCommands } from './sessions.ts';
import { storeCommands } from './stores.ts';
import { traceQueries } from './transfers.ts';

/**
 * The repositories over one database. Each command is one whole transaction: load, decide in `src/core`, save. Effects
 * (events, deliveries, alarms) are rows of that same transaction. There is no `transaction(callback)`. Commands are
 * asynchronous, because one may wait for other processes' writes while the thread goes on. Commands of one process run
 * in the order of their calls. Every call may fail with the transient `Fault` `storage_unavailable` (locked, full or
 * failing disk). Such a call has changed nothing, and will change nothing. `test/conformance/database` is the contract
 * in executable form.
 */
export type Database = ReturnType<typeof repositories> &
  Readonly<{
    /**
     * Returns the same database for the holder of a lease. Every write is refused once another process has it.
     * @param onLost called at each write that is refused with the transient Fault `lease_lost`
     */
    fenced(held: HeldLease, onLost: () => void): Database;
  }>;

export type Sessions = Database['sessions'];
export type Addresses = Database['addresses'];
export type Keys = Database['keys'];
export type Blocks = Database['blocks'];
export type Networks = Database['networks'];
export type Refunds = Database['refunds'];
export type People = Database['people'];
export type Alarms = Database['alarms'];
export type Audit = Database['audit'];
export type Deliveries = Database['deliveries'];
export type Payouts = Database['payouts'];
export type Engines = Database['engines'];
export type Holds = Database['holds'];

export type SqliteDatabaseOptions = OpenOptions &
  Partial<TextFormats> &
  Readonly<{
    /** The key that encrypts secrets in the database and makes the MACs of its rows. */
    secretKey: Uint8Array;
  }> &
  Pick<SealedDb, 'outageWaitS'>;

/** Longest wait for the write lock. A database that takes longer is not ready. */
const PROBE_WAIT_MS = 2_000;

/**
 * Opens a file that `migrate` has brought to the current schema.
 * @throws Fault permanent `schema_not_current`, `secret_key_wrong`, `sqlite_too_old`, `storage_damaged`; transient
 * `storage_unavailable`
 */
export function openSqliteDatabase(options: SqliteDatabaseOptions): Database {
  const { secretKey } = options;
  const vault = createVault(secretKey);
  const db = openEngine(options, (opened) => checkKey(opened, vault));
  const sealed: SealedDb = {
    ...db,
    ...formatsOf(options),
    vault,
    guard: createRowGuard(db, secretKey, (alarm) => raiseAlarm(db, alarm)),
    macOf: createIntentMac(secretKey),
    tokens: createTokens(secretKey),
    outageWaitS: options.outageWaitS,
  };
  const databaseOver = (own: SealedDb): Database => ({
    ...repositories(own),
    fenced: (held, onLost) => databaseOver(fenced(own, held, onLost)),
  });
  return databaseOver(sealed);
}

function repositories(db: SealedDb) {
  const { tokens } = db;
  return {
    sessions: {
      /** Returns the token of a session's payer, by the current secret key. */
      payerToken: (id: string): string => tokens.of('payer', id),
      isPayerToken: tokens.isPayer,
      ...sessionCommands(db),
      ...sessionListQueries(db),
    },
    addresses: { ...poolCommands(db), ...traceQueries(db) },
    stores: storeCommands(db),
    keys: keyCommands(db),
    blocks: { ...blockCommands(db), ...ingestCommands(db), ...rereadCommands(db) },
    networks: { ...networkCommands(db), ...recoveryCommands(db) },
    held: { ...heldMoneyCommands(db), ...heldReturnCommands(db) },
    refunds: refundCommands(db),
    people: peopleCommands(db),
    alarms: { ...alarmCommands(db), ...noticeCommands(db) },
    audit: auditCommands(db),
    ...moneyOutRepositories(db),
    ledger: { ...ledgerCommands(db), ...creditQueries(db), ...bookQueries(db) },
    leases: leaseCommands(db),
    endpoints: endpointCommands(db),
    doors: doorCommands(db),
    events: eventQueries(db),
    deliveries: {
      ...deliveryQueries(db),
      ...resendCommands(db),
      ...troubleQueries(db),
      ...claimCommands(db),
      ...recordCommands(db),
    },
    stats: statsQuery(db),
    changeCount: db.changeCount,
    /** Takes and releases the write lock, which proves that the database can be written now. */
    async probe(): Promise<void> {
      await db.write(() => {}, { waitMs: PROBE_WAIT_MS });
    },
    close: db.close,
  };
}

/** Repositories of money out, written by payout engines and operators' commands. */
const moneyOutRepositories = (db: SealedDb) => ({
  payouts: {
    ...payoutCommands(db),
    ...openCommands(db),
    ...nonceCommands(db),
    ...attemptCommands(db),
    ...outcomeCommands(db),
    ...adoptionCommands(db),
  },
  engines: engineCommands(db),
  holds: holdCommands(db),
  wallets: { ...walletCommands(db), ...outgoingCommands(db) },
  sweeps: sweepCommands(db),
});
