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

/** A client's spelling of signed numbers. `go`: that of Go's `%v`. `twelve`: twelve decimals, no trailing zeros. */
export type DoorSpelling = 'shortest' | 'go' | 'twelve';

/** The terms of a request, which its notice repeats. */
export type DoorTerms = Readonly<{
  /** The amount with two decimals, as in notices. */
  money: string;
  /** The name in a form that is safe to sign; see `cleanName`. */
  name: string;
  notifyUrl: string;
  /** The newest URL to return to while the order is unpaid. */
  returnUrl: string | null;
  param: string | null;
  /** The request's word for the way to pay, exactly. */
  type: string;
  /** The way to pay; null if the payer chooses. */
  method: DoorMethod | null;
  spelling: DoorSpelling;
  /** The algorithm of the request's signature, which notices use too. */
  algorithm: DoorAlgorithm;
}>;

/** The session that an order asks for. `id` is the order's. `returnUrl` is the door's, which redirects further. */
export type DoorSession = Readonly<{
  id: string;
  orderId: string;
  name: string;
  amountMinor: bigint;
  currency: string;
  only: Readonly<{ network: string | null; currency: string | null }>;
  returnUrl: string;
}>;
