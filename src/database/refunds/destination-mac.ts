/**
 * The MAC of a refund's destination, which the signer verifies: what it covers, and whether a row still has its own.
 */
import type { IntentMac, MacedRefund } from '../../core/intent.ts';
import { formatUnits, MINOR_DECIMALS } from '../../core/money.ts';
import type { refunds } from '../tables.ts';

type Row = typeof refunds.$inferSelect;

/** What a destination's MAC covers besides the destination. */
export type Bound = Pick<Row, 'id' | 'network' | 'currency' | 'units' | 'sessionId' | 'amountMinor' | 'heldKind'>;

export const boundTo = ({ id, network, currency, units, sessionId, amountMinor, heldKind }: Bound, to: string) => {
  const session = { id: sessionId, amount: formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS) };
  return { id, network, currency, to, units, session, held: heldKind ?? undefined };
};

/** Returns what a destination's MAC covers; null if the destination is not the one that was set. */
export function macedDestination(macOf: IntentMac, row: Row): MacedRefund | null {
  const { destination, mac } = row;
  if (destination === null || mac === null) return null;
  const bound = boundTo(row, destination);
  return macOf(bound) === mac ? bound : null;
}
