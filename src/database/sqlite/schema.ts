/**
 * The tables for the query builder. `migrations/` creates them, with constraints, indexes and their reasons; a test
 * compares the two. Column names are these names in snake case.
 * @module
 */
import { sql } from 'drizzle-orm';
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EventType, ExtendedEventType, SessionStatus } from '../../core/event.ts';
import type { HeldKind, HeldState } from '../../core/held-money.ts';
import type { InclusionGrace } from '../../core/inclusion.ts';
import type { LookupResult } from '../../core/lookup.ts';
import type { Counted, Phase, Standing, Terms } from '../../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../../core/transfer.ts';
import type { DeliveryState, NetworkState } from '../database.ts';
import type { Scope } from '../keys.ts';
import type { Logo } from '../page-settings.ts';
import type { SenderReport } from '../sender-report.ts';
import type { LineItem } from '../session-request.ts';
import type { MerchantStore, StoreSettings } from '../stores.ts';
import { json, paymentOptions, receiptSums, units } from './column-types.ts';

const flag = () => integer({ mode: 'boolean' });
const mode = () => text().$type<Mode>();
const currency = () => text().$type<Currency>();
const latePolicy = () => text().$type<StoreSettings['latePolicy']>();

export const meta = sqliteTable('meta', {
  name: text().primaryKey(),
  value: text().notNull(),
});

export const stores = sqliteTable('stores', {
  id: text().primaryKey(),
  name: text().notNull(),
  status: text().$type<MerchantStore['status']>().notNull(),
  settlementCurrency: currency().notNull(),
  toleranceMinor: integer().notNull(),
  topUpGraceS: integer().notNull(),
  monitoringS: integer().notNull(),
  latePolicy: latePolicy().notNull(),
  credit: text().notNull(),
  zone: text().notNull(),
  createdAtMs: integer().notNull(),
  suspendedAtMs: integer(),
  suspendedBecause: text(),
  refusedAtMs: integer(),
  refusedBecause: text(),
  channelType: text().$type<MerchantStore['channelType']>().notNull(),
  mac: text(),
});

export const keys = sqliteTable('keys', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  mode: mode().notNull(),
  keyHash: text().notNull(),
  secret: text().notNull(),
  name: text(),
  hint: text().notNull(),
  scopes: json<readonly Scope[]>().notNull(),
  createdAtMs: integer().notNull(),
  revokedAtMs: integer(),
  sources: json<readonly string[]>().notNull(),
  expiresAtMs: integer(),
  lastUsedAtMs: integer(),
  lastUsedFrom: text(),
  mac: text(),
  createdBy: text(),
});

export const nonces = sqliteTable('nonces', {
  keyId: text().notNull(),
  nonce: text().notNull(),
  keepUntilMs: integer().notNull(),
});

export const networks = sqliteTable('networks', {
  key: text().$type<NetworkKey>().primaryKey(),
  state: text().$type<NetworkState>().notNull(),
  reasonCode: text(),
  reasonMessage: text(),
  tipHash: text(),
  tipNumber: integer(),
  tipTimeS: integer(),
  headNumber: integer(),
  nodeConnected: flag().notNull(),
  nodeHeardAtMs: integer().notNull(),
  floor: integer().notNull(),
  readThroughS: integer().notNull(),
  prunedThrough: integer().notNull(),
  updatedAtMs: integer().notNull(),
  pid: integer().notNull(),
  recoveries: integer().notNull(),
  rewoundAtMs: integer().notNull(),
});

export const networkLags = sqliteTable('network_lags', {
  network: text().$type<NetworkKey>().notNull(),
  atMs: integer().notNull(),
  lagS: integer().notNull(),
});

export const blockGaps = sqliteTable('block_gaps', {
  id: integer().primaryKey(),
  network: text().$type<NetworkKey>().notNull(),
  fromNumber: integer().notNull(),
  toNumber: integer().notNull(),
  because: text().notNull(),
  atMs: integer().notNull(),
  closedAtMs: integer(),
  holdsPayouts: flag().notNull(),
});

export const blocks = sqliteTable('blocks', {
  id: integer().primaryKey(),
  network: text().$type<NetworkKey>().notNull(),
  hash: text().notNull(),
  parent: text().notNull(),
  number: integer().notNull(),
  timeS: integer().notNull(),
  canonical: flag().notNull(),
  watchedThroughId: integer().notNull(),
});

export const transfers = sqliteTable('transfers', {
  id: integer().primaryKey(),
  blockId: integer().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  tx: text().notNull(),
  position: integer().notNull(),
  currency: currency().notNull(),
  fromKey: text().notNull(),
  addressId: integer().notNull(),
  units: units().notNull(),
  decimals: integer().notNull(),
  confirmed: flag().notNull(),
  firstConfirmedAtMs: integer(),
  dust: flag().notNull(),
  phase: text().$type<Phase>(),
  counted: text().$type<Counted>().notNull(),
  mac: text(),
  seenAtMs: integer(),
});

export const pools = sqliteTable('pools', {
  id: integer().primaryKey(),
  family: text().notNull(),
  mode: mode().notNull(),
  source: text().notNull(),
  current: flag().notNull(),
  nextIndex: integer().notNull(),
  taken: integer().notNull(),
  retiredThrough: integer().notNull(),
  gapSinceMs: integer(),
  gapGiven: integer().notNull(),
});

export const addresses = sqliteTable('addresses', {
  id: integer().primaryKey(),
  poolId: integer().notNull(),
  family: text().notNull(),
  mode: mode().notNull(),
  key: text().notNull(),
  derivationIndex: integer().notNull(),
  state: text().$type<'free' | 'taken' | 'spoiled'>().notNull(),
  sessionId: text(),
  mac: text(),
});

export const sessions = sqliteTable('sessions', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  mode: mode().notNull(),
  orderId: text().notNull(),
  bodyHash: text().notNull(),
  amountMinor: units().notNull(),
  currency: text().notNull(),
  description: text(),
  lineItems: json<readonly LineItem[]>(),
  taxMinor: units(),
  shippingMinor: units(),
  successUrl: text(),
  cancelUrl: text(),
  metadata: json<Readonly<Record<string, string>>>(),
  webhookUrl: text(),
  endpointId: text(),
  rate: text(),
  targetCurrency: currency(),
  targetMinor: units(),
  duePar: units().notNull(),
  tolerancePar: units().notNull(),
  accepts: json<readonly Currency[]>().notNull(),
  expiresAtS: integer().notNull(),
  inclusionGraceS: json<InclusionGrace>().notNull(),
  topUpGraceS: integer().notNull(),
  monitoringS: integer().notNull(),
  latePolicy: latePolicy().notNull(),
  options: paymentOptions().notNull(),
  networks: json<readonly NetworkKey[]>().notNull(),
  createdAtMs: integer().notNull(),
  beforeNumbers: json<Terms['beforeNumbers']>().notNull(),
  status: text().$type<SessionStatus>().notNull(),
  endedAtS: integer(),
  paidAtS: integer(),
  canceledAtS: integer(),
  paidLate: flag().notNull(),
  takesAnyToken: flag().notNull(),
  funded: text().$type<Standing['funded']>().notNull(),
  firm: text().$type<Standing['firm']>().notNull(),
  touched: flag().notNull(),
  late: flag().notNull(),
  seenPar: units().notNull(),
  confirmedPar: units().notNull(),
  latePar: units().notNull(),
  deadlineS: integer(),
  sums: receiptSums().notNull(),
  paymentCount: integer().notNull(),
  rateSources: json<readonly string[]>(),
});

export const heldMoney = sqliteTable('held_money', {
  id: text().primaryKey(),
  sessionId: text().notNull(),
  kind: text().$type<HeldKind>().notNull(),
  state: text().$type<HeldState>().notNull(),
  valuePar: units().notNull(),
  settledPar: units().notNull(),
  currency: currency().notNull(),
  openedAtMs: integer().notNull(),
  settledAtMs: integer(),
});

export const sessionAssets = sqliteTable('session_assets', {
  storeId: text().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  currency: currency().notNull(),
  sessionId: text().notNull(),
});

export const sessionCounts = sqliteTable('session_counts', {
  status: text().$type<SessionStatus>().primaryKey(),
  sessions: integer().notNull(),
});

export const replays = sqliteTable('replays', {
  storeId: text().notNull(),
  mode: mode().notNull(),
  path: text().notNull(),
  idempotencyKey: text().notNull(),
  bodyHash: text().notNull(),
  sessionId: text().notNull(),
  createdAtMs: integer().notNull(),
});

export const endpoints = sqliteTable('endpoints', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  mode: mode().notNull(),
  url: text().notNull(),
  extendedEvents: json<readonly ExtendedEventType[]>().notNull(),
  perSession: flag().notNull(),
  disabledAtMs: integer(),
  disabledReason: text(),
  createdAtMs: integer().notNull(),
  removed: flag().notNull(),
  host: text().notNull(),
  goneCount: integer().notNull(),
  goneSinceMs: integer(),
  failingSinceMs: integer(),
  answeredEventId: text(),
  resumedThrough: text(),
  lastEventAtMs: integer(),
  retiredAtMs: integer(),
  probeAtMs: integer(),
  probes: integer().notNull(),
});

export const webhookSecrets = sqliteTable('webhook_secrets', {
  owner: text().notNull(),
  mode: mode().notNull(),
  secret: text().notNull(),
  nextSecret: text(),
  rotatedAtMs: integer(),
});

export const events = sqliteTable('events', {
  id: text().primaryKey(),
  storeId: text().notNull(),
  sessionId: text().notNull(),
  type: text().$type<EventType>().notNull(),
  body: text().notNull(),
  createdAtMs: integer().notNull(),
  mode: mode().notNull(),
});

export const deliveries = sqliteTable('deliveries', {
  id: text().primaryKey(),
  eventId: text().notNull(),
  endpointId: text().notNull(),
  state: text().$type<DeliveryState>().notNull(),
  attempts: integer().notNull(),
  nextAttemptAtMs: integer(),
  manualAtMs: integer(),
  lastStatus: integer(),
  lastError: text(),
  createdAtMs: integer().notNull(),
  sessionId: text().notNull(),
});

export const deliveryLines = sqliteTable('delivery_lines', {
  endpointId: text().notNull(),
  sessionId: text().notNull(),
  queue: text().notNull(),
  host: text().notNull(),
  readyAtMs: integer(),
  leaseUntilMs: integer(),
  leasedId: text(),
});

export const deliveryQueues = sqliteTable('delivery_queues', {
  queue: text().primaryKey(),
  host: text().notNull(),
  readyAtMs: integer(),
  silences: integer().notNull(),
  answered: integer().notNull(),
  pausedUntilMs: integer().notNull(),
  hostSilences: integer().notNull(),
  hostPausedUntilMs: integer().notNull(),
  trusted: flag().notNull(),
  triedAtMs: integer().notNull(),
  unansweredSinceMs: integer(),
  rank: integer().generatedAlwaysAs(sql``),
});

export const attempts = sqliteTable('attempts', {
  id: integer().primaryKey(),
  deliveryId: text().notNull(),
  attempt: integer().notNull(),
  trigger: text().$type<'auto' | 'manual'>().notNull(),
  startedAtMs: integer().notNull(),
  durationMs: integer().notNull(),
  status: integer(),
  error: text(),
  responseExcerpt: text(),
  timestampS: integer(),
  nonce: text(),
  signature: text(),
  standardSignature: text(),
});

export const alarms = sqliteTable('alarms', {
  id: integer().primaryKey(),
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
  resolvedAtMs: integer(),
  snoozedUntilMs: integer(),
  snoozedBy: text(),
});

export const lookups = sqliteTable('look_ups', {
  id: integer().primaryKey(),
  sessionId: text().notNull(),
  network: text().$type<NetworkKey>().notNull(),
  family: text().notNull(),
  tx: text().notNull(),
  askedAtMs: integer().notNull(),
  nextLookAtMs: integer(),
  finding: text().$type<LookupResult>(),
});

export const pageSettings = sqliteTable('page_settings', {
  storeId: text().primaryKey(),
  accent: text(),
  embedOrigins: json<readonly string[]>().notNull(),
  logo: blob({ mode: 'buffer' }),
  logoType: text().$type<Logo['type']>(),
  logoHash: text(),
  receiptsReplyTo: text(),
});

export const webhookSender = sqliteTable('webhook_sender', {
  id: integer().primaryKey(),
  report: json<SenderReport>().notNull(),
});
