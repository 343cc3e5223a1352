/** Adds up all receipts of a session at once. `recount` must arrive at the same sums step by step. */
import type { Arrival } from '../../src/core/arrival.ts';
import {
  earlierPhase,
  type Phase,
  phaseOf,
  type ReceiptState,
  type ReceiptSum,
  type Recount,
  recount,
  type Terms,
} from '../../src/core/session.ts';
import type { Currency } from '../../src/core/transfer.ts';

/** One transfer to the session's address, in base units. */
export type Receipt = Arrival &
  Readonly<{
    tx: string;
    currency: Currency;
    decimals: number;
    units: bigint;
    state: ReceiptState;
  }>;

/** Returns the phases of all receipts of a session. Receipts of one transaction share its earliest phase. */
function phasesOf(terms: Terms, receipts: readonly Receipt[]): (Phase | null)[] {
  const place = ({ network, tx }: Receipt) => `${network}/${tx}`;
  const earliest = new Map<string, Phase | null>();
  for (const receipt of receipts) {
    const known = earliest.get(place(receipt)) ?? null;
    earliest.set(place(receipt), earlierPhase(phaseOf(terms, receipt), known));
  }
  return receipts.map((receipt) => earliest.get(place(receipt)) ?? null);
}

/** Adds up all receipts of a session. */
export function sumReceipts(terms: Terms, receipts: readonly Receipt[]): ReceiptSum[] {
  const phasesFound = phasesOf(terms, receipts);
  const counted = receipts.flatMap((receipt, at): Recount[] => {
    const phase = phasesFound[at] ?? null;
    if (phase === null || receipt.state === 'orphaned') return [];
    const { network, currency, decimals, units, state } = receipt;
    return [{ network, currency, decimals, phase, units, from: 'none', to: state }];
  });
  return recount([], counted);
}
