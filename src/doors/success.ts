/**
 * A door's order that is paid. Success is signed for nothing else.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { DoorTerms } from '../core/door.ts';
import type { Currency } from '../core/transfer.ts';
import type { ShownOrder } from '../database/doors.ts';

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

/** Returns an order as paid; null unless its row says that a session paid it. */
export function paidOrder(pid: number, order: ShownOrder): PaidOrder | null {
  const { orderNo, tradeNo, terms, paidSessionId, paid } = order;
  if (paidSessionId === null || paid === null) return null;
  const { family = '', address: key = '' } = paid.payment ?? {};
  const payment = paid.payment && { ...paid.payment, address: chains[family as Family].address.format(key) };
  return { pid, orderNo, tradeNo, terms, payment } as PaidOrder;
}
