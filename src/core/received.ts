/** The confirmed money of a session. */
import type { ReceivedPart } from './refund.ts';
import type { ReceiptSum } from './session.ts';

/** Returns the confirmed money, by network and token. @param isFinal limits it to final money */
export function confirmedParts(sums: readonly ReceiptSum[], isFinal = false): ReceivedPart[] {
  const found = new Map<string, ReceivedPart>();
  for (const { network, currency, decimals, confirmed, final } of sums) {
    const counted = isFinal ? final : confirmed + final;
    if (counted === 0n) continue;
    const place = `${network} ${currency} ${decimals}`;
    const units = (found.get(place)?.units ?? 0n) + counted;
    found.set(place, { network, currency, decimals, units });
  }
  return [...found.values()];
}
