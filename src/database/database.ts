/**
 * The database port on one SQLite file. Each part of the port is a file of this folder; they are put together here.
 */

import { createIntentMac, type IntentMac } from '../core/intent.ts';
import { createAddresses, poolCommands } from './addresses.ts';
import { alarmCommands, createAlarmEnder, createAlarmWriter, type RaiseAlarm } from './alarms.ts';
import { createApprovalAlarms } from './approval-alarms.ts';
import {
  auditCommands,
  createAuditLog,
  createRecordAs,
  type RecordAct,
  recordWrites,
  type TargetedAct,
} from './audit-log.ts';
import { createBlockFacts } from './block-facts.ts';
import { blockCommands, createBlocks } from './blocks.ts';
import { bookQueries } from './bookkeeping.ts';
import { comparisonQueries } from './comparison.ts';
import { deliveryCommands } from './deliveries.ts';
import { createRefreshDue } from './endpoint-due.ts';
import { healthQueries, troubleQueries } from './endpoint-health.ts';
import { endpointCommands } from './endpoints.ts';
import { type OpenOptions, openEngine } from './engine/engine.ts';
import type { Db } from './engine/open.ts';
import { createOutbox, eventQueries } from './events.ts';
import { heldMoneyCommands } from './held-money.ts';
import { createHeldRecords } from './held-records.ts';
import { ingestCommands } from './ingest.ts';
import { createJobs, type Jobs } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { createLedger, type Ledger, ledgerCommands } from './ledger.ts';
import { lookupCommands } from './lookups.ts';
import { createNetworks, type NetworkRows, networkCommands } from './networks.ts';
import { noticeCommands } from './notices.ts';
import {
  createNonces,
  nonceCommands,
  openCommands,
  attemptCommands as payoutAttemptCommands,
} from './payouts/attempts.ts';
import { createDoubts } from './payouts/doubts.ts';
import { adoptionCommands, engineCommands } from './payouts/engines.ts';
import { createFreezer, type Freezer, holdCommands } from './payouts/holds.ts';
import { type FollowLost, outcomeCommands } from './payouts/outcomes.ts';
import { createOutgoing, type Outgoing, outgoingCommands } from './payouts/outgoing.ts';
import { createPayoutSteps, type PayoutSteps, payoutCommands } from './payouts/payouts.ts';
import { sweepCommands } from './payouts/sweeps.ts';
import { walletCommands } from './payouts/wallets.ts';
import { peopleCommands } from './people/people.ts';
import { signInCommands } from './people/sign-ins.ts';
import { proofCommands } from './proofs.ts';
import { recoveryCommands } from './recovery.ts';
import { refundCommands } from './refunds/refunds.ts';
import { createReturned } from './refunds/returned.ts';
import { createRefundRows, type RefundRows } from './refunds/rows.ts';
import { createRefundSettlement, type RefundSettlement } from './refunds/settlement.ts';
import { createReplays } from './replays.ts';
import { reportQueries } from './reports.ts';
import { rereadCommands } from './reread.ts';
import { createRowGuard, type RowGuard } from './row-macs.ts';
import { sendingCommands } from './sending.ts';
import { sessionListQueries } from './session-lists.ts';
import { createCountingSums } from './session-sums.ts';
import { createSessionTransitions, type SessionTransitions } from './session-transitions.ts';
import { createSessionFinder, type FindSessionRow, sessionCommands } from './sessions.ts';
import { statsCommands } from './stats.ts';
import { createStoreRows, type StoreRows, storeCommands } from './stores.ts';
import { formatsOf, type TextFormats } from './text-formats.ts';
import { createTokens, type Tokens } from './tokens.ts';
import { traceQueries } from './traces.ts';
import { createTransfers } from './transfers.ts';
import { checkKey, createVault, type Vault } from './vault.ts';
import { waitingCommands } from './waiting.ts';
import { createWebhookSecrets, webhookSecretCommands } from './webhook-secrets.ts';

/**
 * The repositories over one file. Each command is one whole transaction: load, decide in `src/core`, save. Effects
 * (events, deliveries, alarms) are rows of that same transaction. There is no `transaction(callback)`. Commands are
 * asynchronous: one may wait for other processes' writes while the thread goes on, and commands of one process are done
 * in the order in which they were called. Every call may fail with a `Fault` of code `storage_unavailable` (locked,
 * full or failing disk; transient): then nothing was changed, and nothing will be. `test/conformance/database` is
 * the contract in executable form.
 */
export type Database = ReturnType<typeof assemble> &
  Readonly<{
    /**
     * Calls `work` with the same database for one command of a person: everything that it changes is recorded as this
     * act, in the transaction of the change. One piece of work is done at a time; it waits only for the database.
     */
    recordAs<T>(act: TargetedAct, work: (database: Database) => Promise<T>): Promise<T>;
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
    /** The operator's command that this connection is for: what it changes is recorded. */
    act?: TargetedAct;
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
    const guard = createRowGuard(db, secretKey);
    const own = options.act ? recordWrites(db, options.act) : db;
    const sealing = { vault, guard, macOf: createIntentMac(secretKey), tokens: createTokens(secretKey) };
    const commandsOver = (connection: Db): Database => ({ ...assemble(connection, sealing, options), recordAs });
    const recordAs: Database['recordAs'] = createRecordAs(db, commandsOver);
    return commandsOver(own);
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Parts that use the secret key. */
type Sealing = Readonly<{
  vault: Vault;
  guard: RowGuard;
  macOf: IntentMac;
  tokens: Tokens;
}>;

function assemble(db: Db, sealing: Sealing, options: SqliteDatabaseOptions) {
  const { vault, guard, tokens } = sealing;
  const { outageWaitS } = options;
  const formats = formatsOf(options);
  const raiseAlarm = createAlarmWriter(db);
  const recordAct = createAuditLog(db);
  const networks = createNetworks(db);
  const addresses = createAddresses(db, guard);
  const transfers = createTransfers(db, guard);
  const outgoing = createOutgoing(db);
  const facts = { addresses, blocks: createBlocks(db), transfers, networks, outgoing };
  const returned = createReturned(db);
  const countingSums = createCountingSums(returned.of);
  const findSession = createSessionFinder(db);
  const stores = createStoreRows(db, guard);
  const refreshDue = createRefreshDue(db);
  const outbox = createOutbox(db, refreshDue);
  const replays = createReplays(db);
  const jobs = createJobs(db);
  const endAlarm = createAlarmEnder(db);
  const heldRecords = createHeldRecords(db, raiseAlarm, endAlarm, outbox);
  const changed = { networks, countingSums, outbox, raiseAlarm, heldRecords };
  const transitions = createSessionTransitions(db, changed, outageWaitS);
  const ledger = createLedger(db, findSession);
  const freezer = createFreezer(db, recordAct, raiseAlarm);
  const payouts = createPayoutSteps(db, { raiseAlarm, doubts: createDoubts(db, { freezer, outgoing }) });
  const approvalAlarms = createApprovalAlarms(db, raiseAlarm, endAlarm);
  const rows = createRefundRows(db, { ...sealing, findSession, ...formats, alarms: approvalAlarms });
  const secrets = createWebhookSecrets(db, vault);
  const asked = { rows, stores, ledger, findSession };
  const settlement = createRefundSettlement(db, { ...asked, outbox, transitions });
  const own = { ...asked, settlement, payouts, replays, recordAct };
  const refundParts = { ...facts, ...sealing, ...own, ...formats, held: heldRecords, countingSums, transitions };
  const { refunds, giveBack } = refundCommands(db, refundParts);
  const storeParts = { rows: stores, guard, recordAct, secrets, alarms: approvalAlarms };
  const sessionParts = { ...facts, ...own, transitions, outageWaitS };
  return {
    sessions: {
      /** Returns the token of a session's payer, by the current secret key. */
      payerToken: (id: string): string => tokens.of('payer', id),
      isPayerToken: tokens.isPayer,
      ...sessionCommands(db, findSession, sessionParts),
      ...sessionListQueries(db),
    },
    addresses: poolCommands(db, guard, raiseAlarm, addresses),
    stores: storeCommands(db, storeParts),
    keys: keyCommands(db, vault, { ...storeParts, replays }),
    ...chainRepositories(db, { ...facts, ...own, ...formats, jobs, transitions, raiseAlarm, freezer }),
    held: { ...heldMoneyCommands(db, { held: heldRecords, transitions, findSession, recordAct, returned }), giveBack },
    refunds,
    people: peopleCommands(db, { recordAct }),
    signIns: signInCommands(db, { vault, recordAct, raiseAlarm }),
    alarms: alarmCommands(db, raiseAlarm, recordAct),
    notices: noticeCommands(db, vault, recordAct),
    audit: { ...auditCommands(db), ...proofCommands(db) },
    reports: { ...reportQueries(db), ...statsCommands(db), ...bookQueries(db) },
    traces: traceQueries(db),
    ...moneyOutRepositories(db, { ...changed, ...refundParts, freezer }),
    ledger: ledgerCommands(db),
    ...webhookRepositories(db, { ...storeParts, refreshDue, replays, raiseAlarm }),
    changeCount: db.changeCount,
    /** Takes and releases the write lock, which proves that the database can be written now. */
    async probe(): Promise<void> {
      await db.write(() => {}, { waitMs: PROBE_WAIT_MS });
    },
    close: db.close,
  };
}

type WebhookParts = Parameters<typeof endpointCommands>[1] &
  Parameters<typeof webhookSecretCommands>[1] &
  Parameters<typeof sendingCommands>[1];

/** Events, endpoints and deliveries. */
const webhookRepositories = (db: Db, parts: WebhookParts) => ({
  endpoints: {
    ...endpointCommands(db, parts),
    ...webhookSecretCommands(db, parts),
    ...healthQueries(db),
  },
  events: eventQueries(db),
  deliveries: { ...deliveryCommands(db, parts.refreshDue), ...troubleQueries(db) },
  sending: sendingCommands(db, parts),
});

type MoneyOutParts = TextFormats &
  Readonly<{
    networks: NetworkRows;
    raiseAlarm: RaiseAlarm;
    recordAct: RecordAct;
    ledger: Ledger;
    payouts: PayoutSteps;
    freezer: Freezer;
    outgoing: Outgoing;
    rows: RefundRows;
    settlement: RefundSettlement;
    findSession: FindSessionRow;
    transitions: SessionTransitions;
  }>;

/** Repositories that payout engines write, with the operators' commands. */
function moneyOutRepositories(db: Db, own: MoneyOutParts) {
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

type ChainParts = Parameters<typeof createBlockFacts>[0] &
  Readonly<{
    networks: NetworkRows;
    jobs: Jobs;
    recordAct: RecordAct;
    stores: StoreRows;
    freezer: Freezer;
  }>;

/** Repositories that followers write, with the operators' commands. */
function chainRepositories(db: Db, own: ChainParts) {
  const parts = { ...own, facts: createBlockFacts(own) };
  return {
    blocks: {
      ...blockCommands(db),
      ...waitingCommands(db, parts),
      ...ingestCommands(db, parts),
      ...rereadCommands(db, parts),
      ...comparisonQueries(db),
    },
    networks: { ...networkCommands(db, parts.networks), ...recoveryCommands(db, parts) },
    lookups: lookupCommands(db, parts),
  };
}
