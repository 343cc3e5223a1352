/**
 * Follows one payment through the tables. Everything is read; nothing is written.
 */
import type { StoredEvent } from '../events.ts';
import { TRACED_MAX, type TracedAddress, type TracedOutgoing, type TracedTransfer, type Traces } from '../traces.ts';
import type { Db } from './open.ts';

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

const addressColumns = `a.family, a.mode, a.key, a.derivation_index AS "index", a.state, a.session_id AS sessionId,
  iif((a.state = 'free' AND p.current = 0) OR (a.state = 'spoiled' AND a.derivation_index < p.retired_through), 1, 0) AS isRetired`;

const transferColumns = `t.network, t.tx, t.position AS place, t.currency, t.units, t.decimals,
  t.confirmed AS isConfirmed, t.first_confirmed_at_ms AS firstConfirmedAtMs, t.dust AS isDust, t.phase, t.counted,
  b.hash, b.number, b.time_s AS timeS, b.canonical AS isCanonical, a.id AS addressId`;

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
  transfersIn(`SELECT id FROM (${newestOf(0, addressIds)}) UNION SELECT id FROM (${newestOf(1, addressIds)})`);

const ofTransaction = transfersIn(`SELECT id FROM transfers WHERE tx = ? LIMIT ${TRACED_MAX}`);
const ofSession = ofAddresses('SELECT id FROM addresses WHERE session_id = :subject');
const ofAddress = ofAddresses(':subject');
const addressesWith = `
  SELECT a.id, ${addressColumns} FROM addresses AS a JOIN pools AS p ON p.id = a.pool_id
  WHERE a.family = ? AND a.mode IN ('live', 'test') AND a.key = ?`;
const ofOrder = `
  SELECT s.id FROM stores AS o CROSS JOIN (SELECT 'live' AS mode UNION ALL SELECT 'test') AS m
  CROSS JOIN sessions AS s ON s.store_id = o.id AND s.mode = m.mode AND s.order_id = ? ORDER BY s.id LIMIT ?`;
const eventsOf = `
  SELECT id, store_id AS storeId, session_id AS sessionId, mode, type, body, created_at_ms AS createdAtMs
  FROM events WHERE session_id = ? ORDER BY id DESC LIMIT ?`;
const outgoingIn = `
  SELECT network, block_number AS number, role, to_key AS "to", currency, units, state FROM outgoing_transfers
  WHERE tx = ? ORDER BY id LIMIT ?`;

/** Statements are prepared when they are asked for: only a person's command does, and some of them read much. */
export function traceQueries(db: Db): Traces {
  const all = <T>(text: string, ...values: readonly unknown[]): T[] =>
    db.read(() => db.client.prepare(text).all(...values) as T[]);
  return {
    async ofTransaction(tx) {
      return all<TransferRow>(ofTransaction, tx).map(toTransfer);
    },
    async ofSession(sessionId) {
      return all<TransferRow>(ofSession, { subject: sessionId }).map(toTransfer);
    },
    async ofAddress(addressId) {
      return all<TransferRow>(ofAddress, { subject: addressId }).map(toTransfer);
    },
    async findAddresses(family, key) {
      return all<AddressRow>(addressesWith, family, key).map((row) => ({ ...row, isRetired: row.isRetired === 1 }));
    },
    async sessionsOfOrder(orderId) {
      return all<{ id: string }>(ofOrder, orderId, TRACED_MAX).map(({ id }) => id);
    },
    async eventsOfSession(sessionId) {
      return all<StoredEvent>(eventsOf, sessionId, TRACED_MAX).reverse();
    },
    async outgoingOf(tx) {
      return all<OutgoingRow>(outgoingIn, tx, TRACED_MAX).map(({ units, ...row }) => ({
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
