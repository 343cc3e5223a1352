/**
 * Follows one payment through the tables. Everything is read; nothing is written.
 */
import type { Counted, Phase } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import type { StoredEvent } from './events.ts';
import type { OutgoingRecord } from './payouts/outgoing.ts';

/** Rows of one kind that a trace returns, at most: anyone can send any number of transfers to an address. */
export const TRACED_MAX = 100;

/** One of our deposit addresses. `isRetired`: it is watched and never given out. */
export type TracedAddress = Readonly<{
  id: number;
  family: string;
  mode: Mode;
  key: string;
  index: number;
  state: 'free' | 'taken' | 'spoiled';
  isRetired: boolean;
  sessionId: string | null;
}>;

/** A transfer to one of our addresses with its block; dust, and what is in blocks that left the chain, included. */
export type TracedTransfer = Readonly<{
  network: NetworkKey;
  tx: string;
  index: number;
  currency: Currency;
  units: bigint;
  decimals: number;
  address: TracedAddress;
  block: Readonly<{ hash: string; number: number; timeS: number; isCanonical: boolean }>;
  isDust: boolean;
  isConfirmed: boolean;
  firstConfirmedAtMs: number | null;
  /** Null for dust, and for what came before its address was given to the session. */
  phase: Phase | null;
  counted: Counted;
}>;

export type TracedOutgoing = Pick<OutgoingRecord, 'role' | 'currency' | 'units' | 'to' | 'state'> &
  Readonly<{ network: NetworkKey; number: number }>;

type Flag = 0 | 1;
type AddressRow = Omit<TracedAddress, 'isRetired'> & Readonly<{ isRetired: Flag }>;
type TransferRow = Pick<
  TracedTransfer,
  'network' | 'tx' | 'currency' | 'decimals' | 'firstConfirmedAtMs' | 'phase' | 'counted'
> &
  Omit<AddressRow, 'id'> &
  Readonly<{
    addressId: number;
    place: number;
    units: string;
    hash: string;
    number: number;
    timeS: number;
    isCanonical: Flag;
    isDust: Flag;
    isConfirmed: Flag;
  }>;
type OutgoingRow = Omit<TracedOutgoing, 'units'> & Readonly<{ units: string }>;

const addressColumns = `a.family, a.mode, a.key, a.derivation_index AS "index", a.state, a.session_id AS "sessionId",
  CASE WHEN (a.state = 'free' AND p.current = 0) OR (a.state = 'spoiled' AND a.derivation_index < p.retired_through)
    THEN 1 ELSE 0 END AS "isRetired"`;

const transferColumns = `t.network, t.tx, t.position AS place, t.currency, t.units, t.decimals,
  t.confirmed AS "isConfirmed", t.first_confirmed_at_ms AS "firstConfirmedAtMs", t.dust AS "isDust", t.phase, t.counted,
  b.hash, b.number, b.time_s AS "timeS", b.canonical AS "isCanonical", a.id AS "addressId"`;

/** The transfers whose ids `ids` selects, with their blocks and addresses. */
const transfersIn = (ids: string): string => `
  SELECT ${transferColumns}, ${addressColumns}
  FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id JOIN addresses AS a ON a.id = t.address_id
  JOIN pools AS p ON p.id = a.pool_id
  WHERE t.id IN (${ids}) ORDER BY t.id`;

/** The newest transfers of an address, dust last: it counts for nothing and costs its sender nothing. */
const newestOf = (dust: Flag, addressIds: string): string =>
  `SELECT id FROM transfers WHERE address_id IN (${addressIds}) AND dust = ${dust} ORDER BY id DESC LIMIT ${TRACED_MAX}`;
const ofAddresses = (addressIds: string): string =>
  transfersIn(
    `SELECT id FROM (${newestOf(0, addressIds)}) AS shown UNION SELECT id FROM (${newestOf(1, addressIds)}) AS dusty`,
  );

const ofTransaction = transfersIn(`SELECT id FROM transfers WHERE tx = ? LIMIT ${TRACED_MAX}`);
const ofSession = ofAddresses('SELECT id FROM addresses WHERE session_id = :subject');
const ofAddress = ofAddresses(':subject');
const addressesWith = `
  SELECT a.id, ${addressColumns} FROM addresses AS a JOIN pools AS p ON p.id = a.pool_id
  WHERE a.family = ? AND a.mode IN ('live', 'test') AND a.key = ?`;
const ofOrder = `
  SELECT s.id FROM stores AS o CROSS JOIN (SELECT 'live' AS mode UNION ALL SELECT 'test') AS m
  JOIN sessions AS s ON s.store_id = o.id AND s.mode = m.mode AND s.order_id = ? ORDER BY s.id LIMIT ?`;
const eventsOf = `
  SELECT id, store_id AS "storeId", session_id AS "sessionId", mode, type, body, created_at_ms AS "createdAtMs"
  FROM events WHERE session_id = ? ORDER BY id DESC LIMIT ?`;
const outgoingIn = `
  SELECT network, block_number AS number, role, to_key AS "to", currency, units, state FROM outgoing_transfers
  WHERE tx = ? ORDER BY id LIMIT ?`;

/** Statements are prepared when they are asked for: only a person's command does, and some of them read much. */
export function traceQueries(db: Db) {
  const all = <T>(text: string, ...values: readonly unknown[]): Promise<T[]> =>
    db.read(async () => (await db.client.prepare(text).all(...values)) as T[]);
  return {
    /**
     * Returns the transfers to us in a transaction. Reads the index of all transfers: for operators, not for servers.
     */
    async ofTransaction(tx: string): Promise<readonly TracedTransfer[]> {
      return (await all<TransferRow>(ofTransaction, tx)).map(toTransfer);
    },
    /** Returns the newest transfers to a session's addresses, oldest first. */
    async ofSession(sessionId: string): Promise<readonly TracedTransfer[]> {
      return (await all<TransferRow>(ofSession, { subject: sessionId })).map(toTransfer);
    },
    /** Returns the newest transfers to an address, oldest first. */
    async ofAddress(addressId: number): Promise<readonly TracedTransfer[]> {
      return (await all<TransferRow>(ofAddress, { subject: addressId })).map(toTransfer);
    },
    /** Returns our addresses of a family with this key: one in each mode at most. */
    async findAddresses(family: string, key: string): Promise<readonly TracedAddress[]> {
      return (await all<AddressRow>(addressesWith, family, key)).map((row) => ({
        ...row,
        isRetired: row.isRetired === 1,
      }));
    },
    /** Returns the ids of the sessions of an order, one in each store and mode at most. */
    async sessionsOfOrder(orderId: string): Promise<readonly string[]> {
      return (await all<{ id: string }>(ofOrder, orderId, TRACED_MAX)).map(({ id }) => id);
    },
    /** Returns the newest events of a session, oldest first. */
    async eventsOfSession(sessionId: string): Promise<readonly StoredEvent[]> {
      return (await all<StoredEvent>(eventsOf, sessionId, TRACED_MAX)).reverse();
    },
    /** Returns what left our own wallets in a transaction and no attempt explains. */
    async outgoingOf(tx: string): Promise<readonly TracedOutgoing[]> {
      return (await all<OutgoingRow>(outgoingIn, tx, TRACED_MAX)).map(({ units, ...row }) => ({
        ...row,
        units: BigInt(units),
      }));
    },
  };
}

function toTransfer(row: TransferRow): TracedTransfer {
  const { network, tx, place, currency, units, decimals, firstConfirmedAtMs, phase, counted } = row;
  const { addressId: id, family, mode, key, index, state, sessionId, isRetired } = row;
  const { hash, number, timeS, isCanonical, isDust, isConfirmed } = row;
  return {
    network,
    tx,
    index: place,
    currency,
    units: BigInt(units),
    decimals,
    address: { id, family, mode, key, index, state, sessionId, isRetired: isRetired === 1 },
    block: { hash, number, timeS, isCanonical: isCanonical === 1 },
    isDust: isDust === 1,
    isConfirmed: isConfirmed === 1,
    firstConfirmedAtMs,
    phase,
    counted,
  };
}
