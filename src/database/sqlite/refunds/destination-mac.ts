/**
 * The MAC of a refund's destination, which the signer verifies: what it covers, and whether a row still has its own.
 * @module
 */
import { intentMac } from '../../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS } from '../../../core/money.ts';
import type { refunds } from './schema.ts';

type Row = typeof refunds.$inferSelect;

/** What a destination's MAC covers besides the destination. */
export type Bound = Pick<Row, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor' | 'heldKind'>;

export const boundTo = ({ id, network, currency, units, sessionId, amountMinor, heldKind }: Bound, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session, held: heldKind ?? undefined };
};

/** Returns whether the destination is the one that was set; versions before did not cover the session. */
export function isDestinationIntact(macKey: Uint8Array, row: Row): boolean {
  const { destination, mac, heldKind } = row;
  if (destination === null || mac === null) return destination === null && mac === null;
  const bound = boundTo(row, destination);
  if (intentMac(macKey, bound) === mac) return true;
  const { session: _, ...older } = bound;
  return heldKind === null && intentMac(macKey, older) === mac;
}
