/**
 * The database port. Each command is one whole transaction: load, decide in `src/core`, save. Effects (events,
 * deliveries, alarms) are rows of that same transaction. There is no `transaction(callback)`.
 * The port is asynchronous: a command may wait for other processes' writes while the thread goes on, and commands of
 * one process are done in the order in which they were called. Every call may fail with a `Fault` of code
 * `storage_unavailable` (locked, full or failing disk; transient): then nothing was changed, and nothing will be.
 * `test/conformance/database.ts` is the contract in executable form.
 */

import type { Verdict, WebhookStamp } from '../core/delivery.ts';
import type { EventType } from '../core/event.ts';
import type { InclusionGrace } from '../core/inclusion.ts';
import type { CancelRefusal, Life, ReceiptState, ReceiptSum, Standing, Terms } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { Addresses } from './address-pools.ts';
import type { Alarms } from './alarms.ts';
import type { Audit, OperatorAct, TargetedAct } from './audit-log.ts';
import type { EndpointDatabase } from './endpoints.ts';
import type { EventDatabase, StoredEvent } from './events.ts';
import type { FreezeDatabase } from './freezes.ts';
import type { Held } from './held-money.ts';
import type { Blocks } from './ingest.ts';
import type { Keys } from './keys.ts';
import type { Lookups } from './lookups.ts';
import type { Mails } from './mails.ts';
import type { MoneyOutDatabase } from './money-out.ts';
import type { Notices } from './notices.ts';
import type { OutgoingDatabase } from './outgoing.ts';
import type { People, SignIns } from './people.ts';
import type { BlockGap, GapReading, Rewind, RewindOutcome, SkipOutcome } from './recovery.ts';
import type { Refunds, Replay } from './refunds.ts';
import type { Reports } from './reports.ts';
import type { SenderReportDatabase } from './sender-report.ts';
import type { SessionList, SessionPage, SessionPaging, SessionSearch } from './session-lists.ts';
import type { Conversion, SessionRequest } from './session-request.ts';
import type { Stores } from './stores.ts';
import type { SweepDatabase } from './sweeps.ts';
import type { Traces } from './traces.ts';
import type { SecretPair, WebhookSecretDatabase } from './webhook-secrets.ts';

// ── Sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** One way to pay, fixed when the session is created. `units` are base units of the token on that network. */
export type PaymentOption = Readonly<{
  /** The configured name, as the API shows it. */
  network: string;
  networkKey: NetworkKey;
  family: string;
  chainId: string;
  currency: Currency;
  token: string;
  decimals: number;
  units: bigint;
  confirmationsRequired: number;
}>;

export type NewSession = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  request: SessionRequest;
  conversion: Conversion | null;
  /** Due value at par; with the store's settings it becomes part of the session's `Terms`. */
  duePar: bigint;
  accepts: readonly Currency[];
  expiresInS: number;
  /** Of every network that may be offered. */
  inclusionGraceS: InclusionGrace;
  /** How many of its newest blocks a network may replace, of every network that may be offered. */
  reorgDepthsMax: Readonly<Partial<Record<NetworkKey, number>>>;
  /** The possible ways to pay. Networks that are not ready and families without a free address are left out. */
  options: readonly PaymentOption[];
  replay: Replay;
  nowMs: number;
}>;

/** A transfer to the session's address in its current state. */
export type Payment = Readonly<{
  networkKey: NetworkKey;
  network: string;
  currency: Currency;
  units: bigint;
  decimals: number;
  tx: string;
  index: number;
  block: string;
  from: string;
  confirmations: number;
  state: ReceiptState;
  blockTimeS: number;
  /** When it was first read in this block, and first confirmed; null if not, or not by this version. */
  seenAtMs: number | null;
  confirmedAtMs: number | null;
}>;

/** Payments that a session shows: anyone can send any number of transfers to an address. */
export const PAYMENTS_MAX = 100;

/** A session with everything that the API shows. `addresses` maps family to address key. */
export type Session = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  request: SessionRequest;
  conversion: Conversion | null;
  terms: Terms;
  life: Life;
  standing: Standing;
  /** What came, by network, coin and when; null for one of an early version, until its money changes. */
  sums: readonly ReceiptSum[];
  options: readonly PaymentOption[];
  addresses: Readonly<Record<string, string>>;
  /** The newest `PAYMENTS_MAX` transfers that are not dust, oldest first; `paymentCount` is how many there are. */
  payments: readonly Payment[];
  paymentCount: number;
  createdAtS: number;
}>;

/** A session without what only its own page shows. */
export type SessionSummary = Omit<Session, 'addresses' | 'payments'>;

export type CreateSessionOutcome =
  | Readonly<{ kind: 'created' | 'replayed'; session: Session }>
  | Readonly<{ kind: 'order_id_conflict' | 'idempotency_key_conflict' | 'store_suspended' }>
  /** Nothing can be offered: no network is ready to see a payment (`family` null), or no ready one has an address. */
  | Readonly<{ kind: 'no_network_followed' }>
  | Readonly<{ kind: 'address_pool_empty'; family: string }>;

export type CancelSessionOutcome =
  | Readonly<{ kind: 'done' | 'replayed'; session: Session }>
  | Readonly<{ kind: 'refused'; why: CancelRefusal; session: Session }>
  | Readonly<{ kind: 'not_found' | 'idempotency_key_conflict' }>;

// ── Chain facts ──────────────────────────────────────────────────────────────────────────────────────────────────────

export type NetworkState = 'starting' | 'following' | 'behind' | 'fault' | 'halted';

/** A network as its follower last reported it. Numbers are heights; null before the first answer of a node. */
export type NetworkStatus = Readonly<{
  network: NetworkKey;
  state: NetworkState;
  /** A code and a sentence: why `state` is `behind`, `fault` or `halted`, or why a followed network credits nothing. */
  reason: Readonly<{ code: string; message: string }> | null;
  cursor: Readonly<{ hash: string; number: number; timeS: number }> | null;
  headNumber: number | null;
  nodeConnected: boolean;
  nodeHeardAtMs: number;
  floor: number;
  readThroughS: number;
  updatedAtMs: number;
  pid: number;
}>;

/** What a follower reports between commits; the cursor is not part of it. */
export type NetworkReport = Pick<
  NetworkStatus,
  'network' | 'state' | 'reason' | 'headNumber' | 'nodeConnected' | 'nodeHeardAtMs' | 'readThroughS' | 'pid'
> &
  Readonly<{
    nowMs: number;
    /** The `recoveryCount` of the position that it is about: of an earlier one, neither state nor reason is saved. */
    recoveries?: number;
  }>;

// ── Webhooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** One event on its way to one endpoint. `attempts` counts only automatic attempts. */
export type Delivery = Readonly<{
  id: string;
  endpointId: string;
  eventId: string;
  eventType: EventType;
  sessionId: string;
  state: DeliveryState;
  attempts: number;
  nextAttemptAtMs: number | null;
  createdAtMs: number;
  lastStatus: number | null;
  lastError: string | null;
}>;

/** `after`: only those that come after this one, in the order of the list. */
export type DeliveryFilter = Readonly<{
  id?: string;
  storeId?: string;
  sessionId?: string;
  state?: DeliveryState;
  limit: number;
}>;

/**
 * Which deliveries of a store a list shows; null: any. `answer`: by the status of the last answer, from
 * `from` to `to`, or `none` for what was tried and got none.
 */
export type DeliverySearch = Readonly<{
  endpointId: string | null;
  state: DeliveryState | null;
  answer: Readonly<{ from: number; to: number }> | 'none' | null;
}>;

/** The last delivery of a page of a store's list, the last that was looked at, or the next event with an empty `id`. */
export type DeliveryCursor = Pick<Delivery, 'id' | 'eventId'>;

/** A delivery leased to this dispatcher until `leaseUntilMs`, with everything needed to send it. */
export type ClaimedDelivery = SecretPair &
  Readonly<{
    id: string;
    endpointId: string;
    url: string;
    mode: Mode;
    eventId: string;
    eventType: EventType;
    sessionId: string;
    eventAtMs: number;
    body: string;
    attempt: number;
    trigger: 'auto' | 'manual';
    leaseUntilMs: number;
  }>;

/** One attempt and its result. `status` is the HTTP status; `error` a class such as `timeout` or `blocked_address`. */
export type Attempt = Readonly<{
  deliveryId: string;
  attempt: number;
  trigger: 'auto' | 'manual';
  startedAtMs: number;
  durationMs: number;
  status: number | null;
  error: string | null;
  /** The beginning of the answer, for the operator. */
  responseExcerpt: string | null;
}>;

/** What follows from an attempt. */
export type DeliveryVerdict = Verdict;

/** `stamp`: what was sent with it, if anything was. */
export type RecordedAttempt = Readonly<{ attempt: Attempt; verdict: DeliveryVerdict; stamp?: WebhookStamp | null }>;

/** An attempt of the past. `stamp` is null where nothing was sent, and for attempts from before it was kept. */
export type PastAttempt = Attempt & Readonly<{ stamp: WebhookStamp | null }>;

// ── The port ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Sessions {
  /** Takes addresses, saves the session and remembers the idempotency key, in one transaction. */
  create(input: NewSession): Promise<CreateSessionOutcome>;
  /** @param id with or without its `cs_` prefix */
  find(id: string): Promise<Session | null>;
  /** Returns at most `limit` sessions by their ids; the cost does not grow with what is stored. */
  page(page: SessionPaging): Promise<readonly Session[]>;
  /** Returns the token of a session's payer, by the current secret key. Those by earlier versions stay valid. */
  payerToken(sessionId: string): string;
  /** Compares in constant time. */
  isPayerToken(sessionId: string, text: string): boolean;
  cancel(
    input: Readonly<{ id: string; storeId: string; mode: Mode; replay: Replay; nowMs: number }>,
  ): Promise<CancelSessionOutcome>;
  /**
   * For the sandbox: ends the time of a pending session in test mode now, without any grace. Earlier money
   * stays in time; the session ends with the next `settleDue`.
   * @returns false when there is no such session
   */
  cutShort(id: string, nowMs: number): Promise<boolean>;
  /** Settles up to `limit` pending sessions whose deadline has passed. @returns how many changed their status */
  settleDue(nowMs: number, limit: number): Promise<number>;
  list(list: SessionList): Promise<SessionPage<SessionSummary>>;
  /** Returns the currencies in which a store has priced sessions, in order of their codes. */
  listPriceCurrencies(at: Readonly<{ storeId: string; mode: Mode }>, limit: number): Promise<readonly string[]>;
  /** Returns the confirmed transactions to each session's addresses, at most `limit` for each. */
  transactionsOf(sessionIds: readonly string[], limit: number): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Returns at most `limit` sessions of the store and mode, newest first; a whole order id comes first of all. */
  search(
    search: SessionSearch,
    where: Readonly<{ storeId: string; mode: Mode; limit: number }>,
  ): Promise<readonly SessionSummary[]>;
  /** Returns a session's events, oldest first. */
  listEvents(sessionId: string, limit: number): Promise<readonly StoredEvent[]>;
}

export interface Networks {
  report(report: NetworkReport): Promise<void>;
  list(): Promise<readonly NetworkStatus[]>;
  /** Returns how often operators moved the network's position; a follower that sees it change loads it again. */
  recoveryCount(network: NetworkKey): Promise<number>;
  /** Returns a network's newest gaps, open and closed, highest blocks first. */
  listGaps(network: NetworkKey): Promise<readonly BlockGap[]>;
  /**
   * Takes the blocks above `to` out of our chain, as a reorg does, even final ones, and lowers the floor. Credited
   * payments in them are reversed until their blocks come back.
   */
  rewind(input: Rewind): Promise<RewindOutcome>;
  /**
   * Makes the follower go on beyond blocks that no node serves, and raises the alarm `block_skipped`. Where one of our
   * wallets has no sequence numbers that would tell what it sent in them, money out is frozen on the network.
   */
  skip(
    input: Readonly<{ network: NetworkKey; from: number; to: number; isDryRun: boolean; act: OperatorAct }>,
  ): Promise<SkipOutcome>;
  /** Closes the gaps within blocks that were all read again without a doubt. @returns them */
  closeGaps(network: NetworkKey, read: GapReading, act: OperatorAct): Promise<readonly BlockGap[]>;
}

export interface Database
  extends EndpointDatabase,
    EventDatabase,
    FreezeDatabase,
    OutgoingDatabase,
    SenderReportDatabase,
    MoneyOutDatabase,
    SweepDatabase,
    WebhookSecretDatabase {
  readonly sessions: Sessions;
  readonly addresses: Addresses;
  readonly stores: Stores;
  readonly keys: Keys;
  readonly blocks: Blocks;
  readonly networks: Networks;
  readonly lookups: Lookups;
  readonly held: Held;
  readonly refunds: Refunds;
  readonly people: People;
  readonly signIns: SignIns;
  readonly mails: Mails;
  readonly alarms: Alarms;
  readonly notices: Notices;
  readonly audit: Audit;
  readonly reports: Reports;
  readonly traces: Traces;
  /**
   * Calls `work` with the same database for one command of a person: everything that it changes is recorded as this
   * act, in the transaction of the change. One piece of work is done at a time; it waits only for the database.
   */
  recordAs<T>(act: TargetedAct, work: (database: Database) => Promise<T>): Promise<T>;
  /**
   * Leases up to `limit` due deliveries, in turn from each endpoint that has any. URLs of single sessions share the
   * places of one endpoint for each host. Within one endpoint and session, a delivery waits until earlier ones had
   * their first attempt and none is leased.
   * Deliveries whose lease ran out are due again.
   */
  claimDeliveries(
    input: Readonly<{
      nowMs: number;
      leaseMs: number;
      limit: number;
      /** Attempts in progress to one endpoint, or to one host's endpoints of single sessions. */
      perEndpointMax: number;
      /** Attempts in progress to endpoints that have not answered the last five, and to those of single sessions. */
      unprovenMax?: number;
      /** Ids of endpoints that answer quickly: each may have as many leases as its host. */
      quick?: ReadonlySet<string>;
      /** Leases in the transaction of the attempts that are being recorded in this turn, which free places. */
      isWithRecording?: boolean;
    }>,
  ): Promise<readonly ClaimedDelivery[]>;
  /**
   * Saves attempts and their verdicts, in the order in which they ended, in one transaction. A failed manual attempt
   * leaves the automatic schedule as it was.
   */
  recordAttempts(recorded: readonly RecordedAttempt[]): Promise<void>;
  listDeliveries(filter: DeliveryFilter): Promise<readonly Delivery[]>;
  /**
   * Lists the deliveries of a store's events in one mode, newest event first.
   * @param page `lookMax`: so many events and deliveries are looked at; what is not found among them may be in the next
   * @returns `goOn`: where older ones may be; null after the last event
   */
  listStoreDeliveries(
    at: Readonly<{ storeId: string; mode: Mode }>,
    search: DeliverySearch,
    page: Readonly<{ after: DeliveryCursor | null; limit: number; lookMax: number }>,
  ): Promise<Readonly<{ deliveries: readonly Delivery[]; goOn: DeliveryCursor | null }>>;
  listAttempts(deliveryId: string): Promise<readonly PastAttempt[]>;
  /** Makes a delivery due at once, in any state. @returns false when there is none with this id */
  resendDelivery(id: string, nowMs: number): Promise<boolean>;
  /** Returns a number that changes with every commit by any connection. Cheap enough to poll ten times a second. */
  changeCount(): number;
  /** Takes and releases the write lock, which proves that the database can be written now. */
  probe(): Promise<void>;
  close(): void;
}
