/**
 * Destinations of refunds: addresses from payers and merchants, checked, with a MAC that the signer verifies.
 * @module
 */
import { and, eq } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import { type Intent, intentMac, intentMacKey, type RefundIntent } from '../../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS } from '../../../core/money.ts';
import type { Mode, NetworkKey } from '../../../core/transfer.ts';
import { toSeconds } from '../../../lib/clock.ts';
import type { DestinationCheck, DestinationFault, DestinationFrom, RefundDatabase } from '../../refunds.ts';
import type { Db } from '../open.ts';
import type { Addresses } from '../pool.ts';
import type { FindSessionRow } from '../sessions.ts';
import type { RefundRow, RefundRows } from './row.ts';
import { refundAddresses } from './schema.ts';

type Destination = Pick<RefundRow, 'destination' | 'destinationFrom' | 'mac'>;

/** To be called within a transaction. */
export type RefundDestinations = Readonly<{
  /** Returns the key of an address that somebody typed, or what is wrong with it. */
  read(network: NetworkKey, mode: Mode, text: string, check: DestinationCheck): string | { why: DestinationFault };
  /** Returns the key that the payer left at checkout for this network. */
  left(sessionId: string, network: NetworkKey): string | null;
  /** Returns the columns of a destination, including its MAC. */
  columns(refund: Bare, key: string, from: DestinationFrom): Destination;
  /**
   * Returns the intent of a refund that has a destination.
   * @param known what the signer's journal has under this id, whose form it takes; null for nothing
   */
  intentOf(row: RefundRow, known: Intent | null): RefundIntent;
}>;

/** What a destination's MAC covers besides the destination. */
type Bare = Pick<RefundRow, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor'>;

const boundTo = ({ id, network, currency, units, sessionId, amountMinor }: Bare, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session };
};

/** @param secretKey the installation's, which the signer has too */
export function createRefundDestinations(db: Db, addresses: Addresses, secretKey: Uint8Array): RefundDestinations {
  const macKey = intentMacKey(secretKey);
  return {
    read(network, mode, text, check) {
      const verdict = check(network, text);
      if (verdict.kind === 'bad') return { why: verdict.why };
      const isOurs = addresses.find({ family: verdict.family, mode }, verdict.key) !== null;
      return isOurs ? { why: 'own_address' } : verdict.key;
    },
    left: (sessionId, network) =>
      db.orm
        .select()
        .from(refundAddresses)
        .where(and(eq(refundAddresses.sessionId, sessionId), eq(refundAddresses.network, network)))
        .get()?.key ?? null,
    columns: (refund, key, from) => ({
      destination: key,
      destinationFrom: from,
      mac: intentMac(macKey, boundTo(refund, key)),
    }),
    intentOf(row, known) {
      const { destination, mac } = row;
      invariant(destination !== null && mac !== null, `refund ${row.id} has a destination`);
      const bound = boundTo(row, destination);
      const { session: _unbound, ...older } = bound;
      const isBound = intentMac(macKey, bound) === mac;
      // An older version signed it, or set its destination: neither covered the session.
      if (isBound && known?.kind === 'refund' && !known.session)
        return { kind: 'refund', ...older, mac: intentMac(macKey, older) };
      return { kind: 'refund', ...(isBound ? bound : older), mac };
    },
  };
}

/** Refunds of one session that are updated when its payer leaves an address; nobody makes that many at once. */
const ASKED_MAX = 1000;

/** Whether the payer has yet to answer. */
const isAsked = ({ status, destination, claimUntilS }: RefundRow, nowMs: number): boolean =>
  status === 'pending' && destination === null && (claimUntilS === null || toSeconds(nowMs) <= claimUntilS);

type Parts = Readonly<{ rows: RefundRows; destinations: RefundDestinations; findSession: FindSessionRow }>;

export function refundAddressCommands(
  db: Db,
  { rows, destinations, findSession }: Parts,
): Pick<RefundDatabase, 'claimRefund' | 'leaveRefundAddress' | 'refundAddresses'> {
  return {
    async claimRefund({ claimToken: token, address, nowMs }, check) {
      return db.write(() => {
        const row = rows.claimed(token);
        if (!row) return 'not_found';
        if (!isAsked(row, nowMs)) return 'fixed';
        const key = destinations.read(row.network, row.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        rows.change(row, destinations.columns(row, key, 'payer'));
        return 'done';
      });
    },
    async leaveRefundAddress({ sessionId, network, address, nowMs }, check) {
      return db.write(() => {
        const session = findSession(sessionId);
        if (!session?.networks.includes(network)) return 'not_found';
        if (destinations.left(sessionId, network) !== null) return 'fixed';
        const key = destinations.read(network, session.mode, address, check);
        if (typeof key === 'object') return { kind: 'bad', why: key.why };
        db.orm.insert(refundAddresses).values({ sessionId, network, key, setAtMs: nowMs }).run();
        // The address also serves refunds that wait for one by claim link: they would expire unanswered.
        for (const row of rows.list({ sessionId, limit: ASKED_MAX })) {
          if (row.network === network && isAsked(row, nowMs)) rows.change(row, destinations.columns(row, key, 'payer'));
        }
        return 'done';
      });
    },
    async refundAddresses(sessionId) {
      const rows = db.read(() =>
        db.orm.select().from(refundAddresses).where(eq(refundAddresses.sessionId, sessionId)).all(),
      );
      return Object.fromEntries(rows.map(({ network, key }) => [network, key]));
    },
  };
}
