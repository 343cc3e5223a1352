/**
 * A door's order that is paid. Success is signed for nothing else.
 */
import type { DoorTerms } from '../core/door.ts';
import type { Currency } from '../core/transfer.ts';

declare const isPaid: unique symbol;

/** An order whose session is paid. */
export type PaidOrder = Readonly<{
  pid: number;
  /** The panel's. */
  orderNo: string;
  tradeNo: string;
  terms: DoorTerms;
  /** Null if no transfer paid it, as in a simulation. `address`: as people read it. `units`: what was asked for. */
  payment: Readonly<{ tx: string; address: string; currency: Currency; units: bigint; decimals: number }> | null;
  [isPaid]: true;
}>;
