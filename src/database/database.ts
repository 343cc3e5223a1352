/**
 * The database port on one SQLite file. Each part of the port is a file of this folder; they are put together here.
 */

import { createIntentMac, type IntentMac } from '../core/intent.ts';
import { createAddresses, poolCommands } from './addresses.ts';
import { alarmCommands, createAlarmEnder, createAlarmWriter, noticeCommands } from './alarms.ts';
import { auditCommands, createAuditLog } from './audit-log.ts';
import { blockCommands, comparisonQueries, createBlocks } from './blocks.ts';
import { doorCommands } from './doors.ts';
import { createRefreshDue, createWebhookSecrets, endpointCommands } from './endpoints.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import { fenced, type HeldLease } from './engine/fenced.ts';
import type { Db } from './engine/open.ts';
import { createOutbox, deliveryCommands, eventQueries, troubleQueries } from './events.ts';
import { heldMoneyCommands, heldReturnCommands } from './held-money.ts';
import { createBlockFacts, ingestCommands } from './ingest.ts';
import { keyCommands } from './keys.ts';
import { leaseCommands } from './leases.ts';
import { createLedger, ledgerCommands } from './ledger.ts';
import { lookupCommands } from './lookups.ts';
import { createNetworks, formatsOf, networkCommands, type TextFormats } from './networks.ts';
import {
  createNonces,
  nonceCommands,
  openCommands,
  attemptCommands as payoutAttemptCommands,
} from './payouts/attempts.ts';
import { adoptionCommands, engineCommands } from './payouts/engines.ts';
import { createDoubts, createFreezer, holdCommands } from './payouts/holds.ts';
import { type FollowLost, outcomeCommands } from './payouts/outcomes.ts';
import { createPayoutSteps, payoutCommands } from './payouts/payouts.ts';
import { sweepCommands } from './payouts/sweeps.ts';
import { createOutgoing, outgoingCommands, walletCommands } from './payouts/wallets.ts';
import { peopleCommands } from './people.ts';
import { recoveryCommands, rereadCommands } from './recovery.ts';
import { createRefundDestinations } from './refunds/destinations.ts';
import { createRefundRows, createReturned } from './refunds/refund.ts';
import { createRefundSettlement, refundCommands } from './refunds/refunds.ts';
import { createReplays, createRequestNonces } from './replays.ts';
import { bookQueries, reportQueries, statsCommands } from './reports.ts';
import {
  checkKey,
  createRowGuard,
  createTokens,
  createVault,
  type RowGuard,
  type Tokens,
  type Vault,
} from './sealing.ts';
import { sendingCommands } from './sending.ts';
import { createSessionFinder, sessionListQueries } from './session.ts';
import { createCountingSums, createHeldRecords, createSessionTransitions } from './session-transitions.ts';
import { sessionCommands } from './sessions.ts';
import { signInCommands } from './sign-ins.ts';
import { createStoreRows, storeCommands } from './stores.ts';
import { createTransfers, traceQueries } from './transfers.ts';

/**
 * The repositories over one file. Each command is one whole transaction: load, decide in `src/core`, save. Effects
 * (events, deliveries, alarms) are rows of that same transaction. There is no `transaction(callback)`. Commands are
 * asynchronous: one may wait for other processes' writes while the thread goes on, and commands of one process are done
 * in the order in which they were called. Every call may fail with a `Fault` of code `storage_unavailable` (locked,
 * full or failing disk; transient): then nothing was changed, and nothing will be. `test/conformance/database` is
 * the contract in executable form.
 */
export type Database = ReturnType<typeof repositories> &
  Readonly<{
    /**
     * Returns the same database for the holder of a lease: once another process has taken it, every write is refused.
     * @param onLost called with each write that is refused, by a Fault transient `lease_lost`
     */
    fenced(held: HeldLease, onLost: () => void): Database;
  }>;

export type Sessions = Database['sessions'];
export type Addresses = Database['addresses'];
export type Keys = Database['keys'];
export type Blocks = Database['blocks'];
export type Networks = Database['networks'];
export type Lookups = Database['lookups'];
export type Refunds = Database['refunds'];
export type People = Database['people'];
export type Alarms = Database['alarms'];
export type Audit = Database['audit'];
export type Doors = Database['doors'];
export type Deliveries = Database['deliveries'];
export type Sending = Database['sending'];
export type Payouts = Database['payouts'];
export type Engines = Database['engines'];
export type Holds = Database['holds'];

export type SqliteDatabaseOptions = OpenOptions &
  Partial<TextFormats> &
  Readonly<{
    /** Encrypts the secrets in the file, and makes the MACs of its rows. */
    secretKey: Uint8Array;
    /** At most this long after its deadline a session stays open because a network is unread. */
    outageWaitS: number;
  }>;

/** A database that cannot be written within this time is not ready. */
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
  try {
    const guard = createRowGuard(db, secretKey, createAlarmWriter(db));
    const sealing = { vault, guard, macOf: createIntentMac(secretKey), tokens: createTokens(secretKey) };
    const databaseOver = (connection: Db): Database => ({
      ...repositories(connection, createSteps(connection, sealing, options)),
      fenced: (held, onLost) => databaseOver(fenced(connection, held, onLost)),
    });
    return databaseOver(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Parts that use the secret key. */
type Sealing = Readonly<{ vault: Vault; guard: RowGuard; macOf: IntentMac; tokens: Tokens }>;

/** Makes the functions on rows that several repositories share; most are called within a transaction. */
function createSteps(db: Db, sealing: Sealing, options: SqliteDatabaseOptions) {
  const { vault, guard } = sealing;
  const { outageWaitS } = options;
  const formats = formatsOf(options);
  const raiseAlarm = createAlarmWriter(db);
  const endAlarm = createAlarmEnder(db);
  const recordAct = createAuditLog(db);
  const networks = createNetworks(db);
  const addresses = createAddresses(db, guard);
  const outgoing = createOutgoing(db);
  const facts = { blocks: createBlocks(db), transfers: createTransfers(db, guard), networks, addresses, outgoing };
  const returned = createReturned(db);
  const countingSums = createCountingSums(returned.of);
  const findSession = createSessionFinder(db);
  const stores = createStoreRows(db, guard);
  const refreshDue = createRefreshDue(db);
  const outbox = createOutbox(db, refreshDue);
  const held = createHeldRecords(db, raiseAlarm, endAlarm, outbox);
  const changed = { networks, countingSums, outbox, raiseAlarm, held };
  const transitions = createSessionTransitions(db, changed, outageWaitS);
  const ledger = createLedger(db, findSession);
  const freezer = createFreezer(db, recordAct, raiseAlarm);
  const payouts = createPayoutSteps(db, { raiseAlarm, doubts: createDoubts(db, { freezer, outgoing }) });
  const rows = createRefundRows(db, { ...sealing, ...formats, findSession });
  const asked = { rows, stores, ledger, findSession };
  const replays = createReplays(db);
  return {
    ...{ ...sealing, ...formats, ...facts, ...changed, ...asked, outageWaitS },
    ...{ endAlarm, recordAct, returned, refreshDue, transitions, freezer, payouts },
    destinations: createRefundDestinations(db, { addresses, guard, macOf: sealing.macOf }),
    settlement: createRefundSettlement(db, { ...asked, outbox, transitions }),
    secrets: createWebhookSecrets(db, vault),
    replays,
    requestNonces: createRequestNonces(db, replays),
  };
}

type Steps = ReturnType<typeof createSteps>;

function repositories(db: Db, steps: Steps) {
  const { vault, guard, tokens, raiseAlarm, recordAct, findSession, stores } = steps;
  const blockParts = { ...steps, facts: createBlockFacts(steps) };
  const storeParts = { ...steps, rows: stores };
  return {
    sessions: {
      /** Returns the token of a session's payer, by the current secret key. */
      payerToken: (id: string): string => tokens.of('payer', id),
      isPayerToken: tokens.isPayer,
      ...sessionCommands(db, findSession, steps),
      ...sessionListQueries(db),
    },
    addresses: poolCommands(db, guard, raiseAlarm),
    stores: storeCommands(db, storeParts),
    keys: keyCommands(db, vault, steps),
    blocks: {
      ...blockCommands(db),
      ...ingestCommands(db, blockParts),
      ...rereadCommands(db, blockParts),
      ...comparisonQueries(db),
    },
    networks: { ...networkCommands(db, steps.networks), ...recoveryCommands(db, blockParts) },
    lookups: lookupCommands(db, steps),
    held: { ...heldMoneyCommands(db, steps), ...heldReturnCommands(db, steps) },
    refunds: refundCommands(db, steps),
    people: { ...peopleCommands(db, { recordAct }), ...signInCommands(db, steps) },
    alarms: { ...alarmCommands(db, raiseAlarm, recordAct), ...noticeCommands(db, vault, recordAct) },
    audit: auditCommands(db),
    reports: { ...reportQueries(db), ...statsCommands(db), ...bookQueries(db) },
    traces: traceQueries(db),
    ...moneyOutRepositories(db, steps),
    ledger: ledgerCommands(db),
    leases: leaseCommands(db),
    endpoints: endpointCommands(db, steps),
    doors: doorCommands(db, steps),
    events: eventQueries(db),
    deliveries: { ...deliveryCommands(db, steps), ...troubleQueries(db) },
    sending: sendingCommands(db, steps),
    changeCount: db.changeCount,
    /** Takes and releases the write lock, which proves that the database can be written now. */
    async probe(): Promise<void> {
      await db.write(() => {}, { waitMs: PROBE_WAIT_MS });
    },
    close: db.close,
  };
}

/** Repositories that payout engines write, with the operators' commands. */
function moneyOutRepositories(db: Db, own: Steps) {
  const { payouts: steps, settlement } = own;
  const followLost: FollowLost = async ({ intent, sessionId }, nowMs) => {
    const session = intent.kind === 'return' && sessionId === null && (await own.findSession(intent.session.id));
    if (session) await own.transitions.followReturn(session, nowMs);
  };
  const approvalsOf = async (id: string) => (await own.rows.find(id))?.approvals ?? [];
  const parts = { ...own, steps, followLost, followRefund: settlement.settle, nonces: createNonces(db) };
  return {
    payouts: {
      ...payoutCommands(db, steps),
      ...openCommands(db, { steps, approvalsOf }),
      ...nonceCommands(db, parts),
      ...payoutAttemptCommands(db, { ...parts, refundGates: settlement.gatesOf }),
      ...outcomeCommands(db, parts),
      ...adoptionCommands(db, parts),
    },
    engines: engineCommands(db),
    holds: holdCommands(db, own),
    wallets: { ...walletCommands(db, own), ...outgoingCommands(db, own) },
    sweeps: sweepCommands(db, steps),
  };
}
