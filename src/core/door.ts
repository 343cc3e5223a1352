/**
 * The payment protocols of other programs that panels and shops already speak, and an order that came by one of them.
 */
import type { Currency } from './transfer.ts';

/** `epusdt`: Epusdt 0.x. `gmpay`: Epusdt 1 and 2. */
export const doorDialects = ['epay', 'epusdt', 'gmpay', 'bepusdt'] as const;
export type DoorDialect = (typeof doorDialects)[number];

export type DoorAlgorithm = 'md5' | 'hmac_sha256';

/** A way to pay that a request asked for. `network`: its name in the settings. */
export type DoorMethod = Readonly<{ network: string; coin: Currency }>;

/** How a client writes numbers that it signs. `go`: as its `%v` does. `twelve`: twelve decimals, no trailing zeros. */
export type DoorSpelling = 'shortest' | 'go' | 'twelve';

/** The terms of a request, which its notice repeats. */
export type DoorTerms = Readonly<{
  /** Two decimals, as notices carry it. */
  money: string;
  /** Safe to sign: see `cleanName`. */
  name: string;
  notifyUrl: string;
  /** The newest one while the order is unpaid. */
  returnUrl: string | null;
  param: string | null;
  /** The request's word for the way to pay, exactly. */
  type: string;
  /** Null: the payer picks. */
  method: DoorMethod | null;
  spelling: DoorSpelling;
  /** The one that the request was signed with. Notices use the same. */
  algorithm: DoorAlgorithm;
}>;

/** The session that an order asks for. `id`: of the order; `returnUrl`: of the door, which knows where to. */
export type DoorSession = Readonly<{
  id: string;
  orderId: string;
  name: string;
  amountMinor: bigint;
  currency: string;
  only: Readonly<{ network: string | null; currency: string | null }>;
  returnUrl: string;
}>;
