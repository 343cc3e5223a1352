/** The tables for the query builder. Made of `schema.sql` by `npm run tables`; change that, not this. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { Membership } from '../core/access.ts';
import type { DoorDialect, DoorTerms } from '../core/door.ts';
import type { EventType, ExtendedEventType } from '../core/event.ts';
import type { BlockGap } from '../core/gap.ts';
import type { Account, Asset, EntryKind } from '../core/ledger.ts';
import type { Severity } from '../core/notice.ts';
import type { Attempt } from '../core/payout.ts';
import type { Reason } from '../core/reasons.ts';
import type { RefundPolicy, RefundReason } from '../core/refund.ts';
import type { Terms } from '../core/session.ts';
import type { Currency, NetworkKey } from '../core/transfer.ts';
import type {
  AuditedState,
  ChannelKind,
  DoorSettings,
  NoticeProgress,
  OrderDetails,
  PageSettings,
  Passkey,
  RefundApproval,
  Scope,
  StoreSettings,
} from './column-values.ts';
import { exactJson, intent, json, receiptSums, sessionTerms, units } from './engine/column-types.ts';

export const meta = sqliteTable('meta', {
  name: text().notNull(),
  value: text().notNull(),
});

export const counters = sqliteTable('counters', {
  owner: text().notNull(),
  last: integer().notNull(),
});

export const leases = sqliteTable('leases', {
  name: text().notNull(),
  holder: text().notNull(),
  fence: integer().notNull(),
  sinceMs: integer().notNull(),
  untilMs: integer().notNull(),
});

export const stores = sqliteTable('stores', {
  id: text().notNull(),
  name: text().notNull(),
  status: text().$type<'pending' | 'approved' | 'suspended'>().notNull(),
  decidedAtMs: integer(),
  decidedBecause: text(),
  settings: json<StoreSettings>().notNull(),
  refundPolicy: json<RefundPolicy>().notNull(),
  page: json<PageSettings>().notNull(),
  zone: text().notNull(),
  nextReceiptNumber: integer().notNull(),
  createdAtMs: integer().notNull(),
  mac: text(),
  liveSecret: text().notNull(),
  testSecret: text().notNull(),
  logo: blob({ mode: 'buffer' }),
});

export const keys = sqliteTable('keys', {
  id: text().notNull(),
  storeId: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  keyHash: text().notNull(),
  secret: text().notNull(),
  name: text(),
  hint: text().notNull(),
  scopes: json<readonly Scope[]>().notNull(),
  createdAtMs: integer().notNull(),
  createdBy: text(),
  revokedAtMs: integer(),
  lastUsedAtMs: integer(),
  lastUsedFrom: text(),
  mac: text(),
});

export const replays = sqliteTable('replays', {
  scope: text().notNull(),
  key: text().notNull(),
  bodyHash: text(),
  madeId: text(),
  keepUntilMs: integer().notNull(),
});

export const people = sqliteTable('people', {
  id: text().notNull(),
  name: text().notNull(),
  memberships: json<readonly Membership[]>().notNull(),
  password: text(),
  totpSecret: text(),
  totpStep: integer().notNull(),
  failures: integer().notNull(),
  lockedUntilMs: integer().notNull(),
  recoveryHashes: json<readonly string[]>().notNull(),
  passkeys: json<readonly Passkey[]>().notNull(),
  linkHash: text(),
  linkSalt: text(),
  linkExpiresAtMs: integer(),
  createdAtMs: integer().notNull(),
  removedAtMs: integer(),
});

export const webSessions = sqliteTable('web_sessions', {
  hash: text().notNull(),
  personId: text().notNull(),
  startedAtMs: integer().notNull(),
  seenAtMs: integer().notNull(),
  sudoUntilMs: integer().notNull(),
  formToken: text().notNull(),
  previousHash: text(),
  previousUntilMs: integer().notNull(),
});

export const pools = sqliteTable('pools', {
  id: integer().notNull(),
  family: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  source: text().notNull(),
  current: integer({ mode: 'boolean' }).notNull(),
  nextIndex: integer().notNull(),
  retiredThrough: integer().notNull(),
  gapSinceMs: integer(),
  gapGiven: integer().notNull(),
});

export const addresses = sqliteTable('addresses', {
  id: integer().notNull(),
  seq: integer().notNull(),
  poolId: integer().notNull(),
  family: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  key: text().notNull(),
  derivationIndex: integer().notNull(),
  state: text().$type<'free' | 'taken' | 'spoiled'>().notNull(),
  sessionId: text(),
  mac: text(),
});

export const sessions = sqliteTable('sessions', {
  id: text().notNull(),
  storeId: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  orderId: text().notNull(),
  bodyHash: text().notNull(),
  amountMinor: units().notNull(),
  currency: text().notNull(),
  createdAtMs: integer().notNull(),
  networks: json<readonly NetworkKey[]>().notNull(),
  beforeNumbers: json<Terms['beforeNumbers']>().notNull(),
  terms: sessionTerms().notNull(),
  orderDetails: json<OrderDetails>(),
  status: text().$type<'pending' | 'paid' | 'failed' | 'expired' | 'canceled'>().notNull(),
  endedAtS: integer(),
  paidAtS: integer(),
  canceledAtS: integer(),
  paidLate: integer({ mode: 'boolean' }).notNull(),
  takesAnyToken: integer({ mode: 'boolean' }).notNull(),
  funded: text().$type<'none' | 'part' | 'full' | 'over'>().notNull(),
  firm: text().$type<'none' | 'seen' | 'confirmed' | 'final'>().notNull(),
  touched: integer({ mode: 'boolean' }).notNull(),
  late: integer({ mode: 'boolean' }).notNull(),
  seenPar: units().notNull(),
  confirmedPar: units().notNull(),
  latePar: units().notNull(),
  deadlineS: integer(),
  sums: receiptSums().notNull(),
  paymentCount: integer().notNull(),
});

export const networks = sqliteTable('networks', {
  key: text().$type<NetworkKey>().notNull(),
  number: integer().notNull(),
  lastId: integer().notNull(),
  state: text().$type<'starting' | 'following' | 'behind' | 'fault' | 'halted'>().notNull(),
  reason: json<Reason>(),
  tipHash: text(),
  tipNumber: integer(),
  headNumber: integer(),
  nodeConnected: integer({ mode: 'boolean' }).notNull(),
  nodeHeardAtMs: integer().notNull(),
  floor: integer().notNull(),
  readThroughS: integer().notNull(),
  prunedThrough: integer().notNull(),
  updatedAtMs: integer().notNull(),
  pid: integer().notNull(),
  recoveries: integer().notNull(),
  rewoundAtMs: integer().notNull(),
  gaps: json<readonly BlockGap[]>().notNull(),
});

export const blocks = sqliteTable('blocks', {
  id: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  hash: text().notNull(),
  parent: text().notNull(),
  number: integer().notNull(),
  timeS: integer().notNull(),
  canonical: integer({ mode: 'boolean' }).notNull(),
  watchedThrough: integer().notNull(),
});

export const transfers = sqliteTable('transfers', {
  id: integer().notNull(),
  blockId: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  tx: text().notNull(),
  position: integer().notNull(),
  currency: text().$type<'USDT' | 'USDC'>().notNull(),
  fromKey: text().notNull(),
  addressId: integer().notNull(),
  units: units().notNull(),
  decimals: integer().notNull(),
  dust: integer({ mode: 'boolean' }).notNull(),
  phase: text().$type<'in_time' | 'top_up' | 'late' | 'too_late'>(),
  counted: text().$type<'none' | 'seen' | 'confirmed' | 'final'>().notNull(),
  confirmed: integer({ mode: 'boolean' }).notNull(),
  firstConfirmedAtMs: integer(),
  mac: text(),
});

export const heldMoney = sqliteTable('held_money', {
  id: text().notNull(),
  sessionId: text().notNull(),
  kind: text().$type<'late' | 'short' | 'surplus' | 'wrong_token'>().notNull(),
  state: text().$type<'open' | 'settled' | 'gone'>().notNull(),
  valuePar: units().notNull(),
  settledPar: units().notNull(),
  currency: text().$type<Currency>().notNull(),
  openedAtMs: integer().notNull(),
  settledAtMs: integer(),
});

export const ledgerEntries = sqliteTable('ledger_entries', {
  network: text().$type<NetworkKey>().notNull(),
  seq: integer().notNull(),
  kind: text().$type<EntryKind>().notNull(),
  cause: text().notNull(),
  occurrence: integer().notNull(),
  atMs: integer().notNull(),
  storeId: text(),
  mode: text().$type<'live' | 'test'>(),
  reason: text(),
});

export const ledgerPostings = sqliteTable('ledger_postings', {
  network: text().$type<NetworkKey>().notNull(),
  seq: integer().notNull(),
  account: text().$type<Account>().notNull(),
  subject: text().notNull(),
  asset: text().$type<Asset>().notNull(),
  units: units().notNull(),
});

export const endpoints = sqliteTable('endpoints', {
  id: text().notNull(),
  storeId: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  url: text().notNull(),
  extendedEvents: json<readonly ExtendedEventType[]>().notNull(),
  secret: text(),
  perSession: integer({ mode: 'boolean' }).notNull(),
  createdAtMs: integer().notNull(),
  disabledAtMs: integer(),
  disabledReason: text(),
  removed: integer({ mode: 'boolean' }).notNull(),
  failingSinceMs: integer(),
  failures: integer().notNull(),
  gones: integer().notNull(),
  silences: integer().notNull(),
  pausedUntilMs: integer().notNull(),
  dueAtMs: integer(),
  dialect: text().$type<DoorDialect>(),
  pid: integer(),
  door: json<DoorSettings>(),
});

export const doorOrders = sqliteTable('door_orders', {
  id: text().notNull(),
  endpointId: text().notNull(),
  orderNo: text().notNull(),
  tradeNo: text().notNull(),
  sessionId: text(),
  paidSessionId: text(),
  terms: json<DoorTerms>().notNull(),
  createdAtMs: integer().notNull(),
});

export const events = sqliteTable('events', {
  id: integer().notNull(),
  storeId: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  sessionId: text().notNull(),
  type: text().$type<EventType>().notNull(),
  facts: text().notNull(),
  createdAtMs: integer().notNull(),
});

export const deliveries = sqliteTable('deliveries', {
  id: integer().notNull(),
  eventId: integer().notNull(),
  endpointId: text().notNull(),
  state: text().$type<'waiting' | 'delivered' | 'failed'>().notNull(),
  attempts: integer().notNull(),
  dueAtMs: integer(),
  leaseUntilMs: integer(),
  leaseHolder: text(),
  lastStatus: integer(),
  lastError: text(),
});

export const attempts = sqliteTable('attempts', {
  id: integer().notNull(),
  deliveryId: integer().notNull(),
  attempt: integer().notNull(),
  startedAtMs: integer().notNull(),
  durationMs: integer().notNull(),
  status: integer(),
  error: text(),
  responseExcerpt: text(),
});

export const refundAddresses = sqliteTable('refund_addresses', {
  sessionId: text().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  key: text().notNull(),
  mac: text(),
});

export const refunds = sqliteTable('refunds', {
  id: text().notNull(),
  storeId: text().notNull(),
  mode: text().$type<'live' | 'test'>().notNull(),
  refundId: text().notNull(),
  sessionId: text().notNull(),
  heldKind: text().$type<'late' | 'short' | 'surplus' | 'wrong_token'>(),
  bodyHash: text().notNull(),
  amountMinor: units().notNull(),
  currency: text().$type<'USDT' | 'USDC'>().notNull(),
  reason: text().$type<RefundReason>(),
  description: text(),
  metadata: exactJson<Readonly<Record<string, unknown>>>(),
  requestedBy: text(),
  requestedKey: text(),
  network: text().$type<NetworkKey>().notNull(),
  units: units().notNull(),
  destination: text(),
  destinationFrom: text().$type<'payer' | 'claim_link' | 'merchant' | 'operator' | 'sender'>(),
  mac: text(),
  claimHash: text(),
  claimUntilS: integer(),
  status: text().$type<'pending' | 'processing' | 'completed' | 'failed' | 'canceled'>().notNull(),
  needsApproval: integer({ mode: 'boolean' }).notNull(),
  approvedAtMs: integer(),
  approvedDestination: text(),
  approval: json<RefundApproval>(),
  failureReason: text(),
  tx: text(),
  receiptNumber: text(),
  createdAtMs: integer().notNull(),
  processingAtMs: integer(),
  processedAtMs: integer(),
  canceledAtMs: integer(),
});

export const payouts = sqliteTable('payouts', {
  id: text().notNull(),
  kind: text().$type<'refund' | 'return' | 'sweep' | 'gas'>().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  intent: intent().notNull(),
  sessionId: text(),
  namedSession: text(),
  servesId: text(),
  state: text().$type<'waiting' | 'sent' | 'succeeded' | 'failed' | 'canceled' | 'stuck'>().notNull(),
  generation: integer().notNull(),
  proof: text().$type<'failed' | 'dead'>(),
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
});

export const payoutAttempts = sqliteTable('payout_attempts', {
  payoutId: text().notNull(),
  generation: integer().notNull(),
  attempt: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  payer: text().notNull(),
  payerRole: text().$type<'refund' | 'gas' | 'collection'>().notNull(),
  nonce: integer(),
  terms: json<Attempt['terms']>().notNull(),
  feeUnitsMax: units().notNull(),
  tx: text(),
  bytes: blob({ mode: 'buffer' }),
  signedAtMs: integer(),
  sentAtMs: integer(),
  answerCode: text(),
  answer: text(),
  feeUnits: units(),
});

export const lanes = sqliteTable('lanes', {
  network: text().$type<NetworkKey>().notNull(),
  payer: text().notNull(),
  nextNonce: integer().notNull(),
});

export const payoutEngines = sqliteTable('payout_engines', {
  network: text().$type<NetworkKey>().notNull(),
  fence: integer().notNull(),
  journalId: integer().notNull(),
  reason: json<Reason>(),
  beatAtMs: integer(),
  settlingUntilMs: integer(),
});

export const payoutFreezes = sqliteTable('payout_freezes', {
  network: text().$type<NetworkKey | ''>().notNull(),
  code: text().notNull(),
  reason: text().notNull(),
  frozenBy: text().notNull(),
  sinceMs: integer().notNull(),
});

export const ownWallets = sqliteTable('own_wallets', {
  network: text().$type<NetworkKey>().notNull(),
  seq: integer().notNull(),
  role: text().$type<'refund' | 'gas' | 'treasury'>().notNull(),
  key: text().notNull(),
});

export const outgoingTransfers = sqliteTable('outgoing_transfers', {
  id: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  blockHash: text().notNull(),
  blockNumber: integer().notNull(),
  tx: text().notNull(),
  position: integer().notNull(),
  role: text().$type<'refund' | 'gas'>().notNull(),
  fromKey: text().notNull(),
  toKey: text().notNull(),
  currency: text().$type<'USDT' | 'USDC'>().notNull(),
  units: units().notNull(),
  state: text().$type<'open' | 'foreign' | 'known'>().notNull(),
  seenAtMs: integer().notNull(),
});

export const otherTransfers = sqliteTable('other_transfers', {
  payoutId: text().notNull(),
  transferId: integer().notNull(),
});

export const walletBooks = sqliteTable('wallet_books', {
  network: text().$type<NetworkKey>().notNull(),
  units: units().notNull(),
  shortSinceMs: integer(),
  missingUnits: units().notNull(),
  ledgerSeq: integer().notNull(),
});

export const sweepParts = sqliteTable('sweep_parts', {
  payoutId: text().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  derivationIndex: integer().notNull(),
  currency: text().$type<'USDT' | 'USDC'>().notNull(),
  poolId: integer(),
  units: units().notNull(),
});

export const alarms = sqliteTable('alarms', {
  id: integer().notNull(),
  atMs: integer().notNull(),
  code: text().notNull(),
  message: text().notNull(),
  network: text().$type<NetworkKey>(),
  sessionId: text(),
  key: text(),
  endedAtMs: integer(),
  acknowledgedAtMs: integer(),
  acknowledgedBy: text(),
  acknowledgedNote: text(),
});

export const noticeTargets = sqliteTable('notice_targets', {
  id: text().notNull(),
  kind: text().$type<ChannelKind>().notNull(),
  name: text().notNull(),
  address: text().notNull(),
  severity: text().$type<Severity>().notNull(),
  code: text().notNull(),
  createdAtMs: integer().notNull(),
  provedAtMs: integer(),
  progress: json<NoticeProgress>().notNull(),
});

export const auditLog = sqliteTable('audit_log', {
  id: integer().notNull(),
  atMs: integer().notNull(),
  operator: text().notNull(),
  command: text().notNull(),
  target: text().notNull(),
  before: json<AuditedState>(),
  after: json<AuditedState>(),
  reason: text(),
});
