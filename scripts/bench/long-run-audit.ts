/**
 * Compares what an installation has recorded with what the simulated chains themselves wrote down, what the shop
 * ordered and what its server was told. Shares nothing with the programs that it judges but the format of the chains'
 * files.
 * @module
 */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { loadConfig } from '../../src/config/config.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import { families } from '../../src/sandbox/families.ts';
import { readJournal } from '../../src/sandbox/journal.ts';
import { decimalsOf, type Sale } from './long-run-shop.ts';

/** The events that the merchant's server was sent, by id. */
export type Told = ReadonlyMap<string, Readonly<{ type: string; sessionId: string }>>;

export type Audit = Readonly<{
  /** Sentences, one for each kind and example; empty if all agrees. */
  differences: readonly string[];
  transfers: number;
  outcomes: ReadonlyMap<string, number>;
}>;

export type AuditOptions = Readonly<{ dataDir: string; env: NodeJS.ProcessEnv; sales: readonly Sale[]; told: Told }>;

/** A transfer below a cent neither pays nor holds a session. */
const COIN_DECIMALS = 18;
const CENT = 10n ** 16n;

type Counts = Map<string, number>;
type Money = Readonly<{ transfers: Counts; receivedByAddress: ReadonlyMap<string, bigint> }>;

/** Reads everything as it is now. */
export function audit({ dataDir, env, sales, told }: AuditOptions): Audit {
  const database = new Sqlite(join(dataDir, 'quayside.db'), { readonly: true });
  try {
    const rows = <T>(query: string) => database.prepare(query).all() as T[];
    const addresses = rows<{ key: string; sessionId: string | null }>(
      "SELECT key, session_id AS sessionId FROM addresses WHERE state <> 'free'",
    );
    const money = readChains(dataDir, env, new Set(addresses.map(({ key }) => key)));
    const recorded = countsOf(
      rows<{ name: string }>(
        `SELECT substr(t.network, 6) || ' ' || b.number || ' ' || t.currency || ' ' || a.key || ' ' || t.units AS name
         FROM transfers t JOIN blocks b ON b.id = t.block_id JOIN addresses a ON a.id = t.address_id
         WHERE b.canonical`,
      ).map(({ name }) => name),
    );
    const unconfirmed = rows<{ name: string }>(
      `SELECT t.network || ' ' || t.tx AS name FROM transfers t JOIN blocks b ON b.id = t.block_id
       WHERE b.canonical AND NOT t.confirmed AND NOT t.dust`,
    ).map(({ name }) => name);
    const sessions = rows<{ id: string; orderId: string; status: string }>(
      'SELECT id, order_id AS orderId, status FROM sessions',
    );
    const events = rows<{ id: string; type: string; sessionId: string }>(
      `SELECT id, type, session_id AS sessionId FROM events
       WHERE type IN ('payment.completed', 'payment.expired', 'payment.failed')`,
    );
    const received = receivedBySession(addresses, money.receivedByAddress);
    const outcomes: Counts = new Map();
    const differences = [
      ...compareCounts('transfer', money.transfers, recorded),
      ...some('transfers are not confirmed', unconfirmed),
      ...sessionDifferences(sales, sessions, received, outcomes),
      ...eventDifferences(sessions, events, told),
      ...some('addresses are of several sessions', repeated(addresses.map(({ key }) => key))),
    ];
    return { differences, transfers: total(recorded), outcomes };
  } finally {
    database.close();
  }
}

/** Adds up what each chain's own file says about the addresses. */
function readChains(dataDir: string, env: NodeJS.ProcessEnv, ours: ReadonlySet<string>): Money {
  const names: string[] = [];
  const receivedByAddress = new Map<string, bigint>();
  for (const network of loadConfig({ env, cwd: process.cwd() }).networks) {
    const { name, family, tokens } = network;
    const symbols = new Map(tokens.map(({ symbol, address }) => [families[family].codec.parse(address), symbol]));
    const scale = 10n ** BigInt(COIN_DECIMALS - (decimalsOf[name] ?? 0));
    for (const block of canonical(readJournal(join(dataDir, 'sandbox', `${name}.jsonl`)).blocks)) {
      for (const { token, to, units } of transfersOf(block)) {
        const symbol = symbols.get(token);
        if (!ours.has(to) || symbol === undefined) continue;
        names.push(`${name} ${block.number} ${symbol} ${to} ${units}`);
        const value = units * scale;
        if (value >= CENT) receivedByAddress.set(to, (receivedByAddress.get(to) ?? 0n) + value);
      }
    }
  }
  return { transfers: countsOf(names), receivedByAddress };
}

/** Follows the parents from the block that was written last, which is the head. */
function* canonical(blocks: readonly WorldBlock[]): Iterable<WorldBlock> {
  const byHash = new Map(blocks.map((block) => [block.hash, block]));
  for (let block = blocks.at(-1); block; block = byHash.get(block.parent)) yield block;
}

const transfersOf = ({ transactions }: WorldBlock) =>
  transactions
    .filter(({ succeeded }) => succeeded)
    .flatMap(({ entries }) => entries.filter(({ kind, units }) => kind === 'transfer' && units > 0n));

function receivedBySession(
  addresses: readonly Readonly<{ key: string; sessionId: string | null }>[],
  byAddress: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, bigint> {
  const received = new Map<string, bigint>();
  for (const { key, sessionId } of addresses) {
    if (sessionId !== null) received.set(sessionId, (received.get(sessionId) ?? 0n) + (byAddress.get(key) ?? 0n));
  }
  return received;
}

type SessionRow = Readonly<{ id: string; orderId: string; status: string }>;

function sessionDifferences(
  sales: readonly Sale[],
  sessions: readonly SessionRow[],
  received: ReadonlyMap<string, bigint>,
  outcomes: Counts,
): string[] {
  const byOrder = new Map(sessions.map((session) => [session.orderId, session]));
  const wrong: string[] = [];
  for (const { orderId, ids, amountMinor, plan } of sales) {
    const session = byOrder.get(orderId);
    if (!session || ids.size !== 1 || ![...ids].every((id) => bodyOf(id) === bodyOf(session.id))) {
      wrong.push(`order ${orderId} was answered with ${[...ids].join(' and ')}, the database has ${session?.id}`);
      continue;
    }
    const expected = outcomeOf(received.get(session.id) ?? 0n, BigInt(amountMinor) * CENT, plan);
    outcomes.set(session.status, (outcomes.get(session.status) ?? 0) + 1);
    if (session.status !== expected) wrong.push(`order ${orderId} is ${session.status}, and should be ${expected}`);
  }
  const orders = new Set(sales.map(({ orderId }) => orderId));
  const unknown = sessions.filter(({ orderId }) => !orders.has(orderId)).map(({ id }) => id);
  return [
    ...some('sessions differ', wrong),
    ...some('sessions belong to no order', unknown),
    ...some('orders have several sessions', repeated(sessions.map(({ orderId }) => orderId))),
  ];
}

const bodyOf = (id: string): string => id.replace(/^cs_/, '');

function outcomeOf(received: bigint, due: bigint, plan: Sale['plan']): string {
  if (received >= due) return 'paid';
  return plan === 'nothing' ? 'expired' : 'pending';
}

const endings: Readonly<Record<string, string>> = { paid: 'payment.completed', expired: 'payment.expired' };

/** Each session that has ended has one event of its ending and no other, and each event was delivered. */
function eventDifferences(
  sessions: readonly SessionRow[],
  events: readonly Readonly<{ id: string; type: string; sessionId: string }>[],
  told: Told,
): string[] {
  const expected = sessions.flatMap(({ id, status }) =>
    endings[status] ? [`${endings[status]} of ${bodyOf(id)}`] : [],
  );
  const made = events.map(({ type, sessionId }) => `${type} of ${bodyOf(sessionId)}`);
  const sent = [...told.values()]
    .filter(({ type }) => Object.values(endings).includes(type))
    .map(({ type, sessionId }) => `${type} of ${bodyOf(sessionId)}`);
  return [
    ...compareCounts('event', countsOf(expected), countsOf(made)),
    ...compareCounts('delivery', countsOf(expected), countsOf(sent)),
  ];
}

/** Counts what one side has more often than the other. */
function compareCounts(what: string, expected: Counts, found: Counts): string[] {
  const missing = [...expected].filter(([name, count]) => (found.get(name) ?? 0) < count).map(([name]) => name);
  const surplus = [...found].filter(([name, count]) => (expected.get(name) ?? 0) < count).map(([name]) => name);
  return [...some(`${what}: lost`, missing), ...some(`${what}: too many`, surplus)];
}

const EXAMPLES_MAX = 5;

const some = (what: string, examples: readonly string[]): string[] =>
  examples.length === 0 ? [] : [`${examples.length} × ${what}: ${examples.slice(0, EXAMPLES_MAX).join('; ')}`];

function countsOf(names: readonly string[]): Counts {
  const counts: Counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const total = (counts: Counts): number => [...counts.values()].reduce((sum, count) => sum + count, 0);

const repeated = (names: readonly string[]): string[] =>
  [...countsOf(names)].filter(([, count]) => count > 1).map(([name]) => name);
