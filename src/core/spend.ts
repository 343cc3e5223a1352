/** Nodes' answers about a transaction of ours: its current price (`Quote`), and its end (`Outcome`). */

/**
 * The terms of an attempt besides its intent: fees, nonce, reference block, expiry. The names are the family's own, the
 * values decimal text or hex. A node's quote makes them, the attempt stores them, and the signer checks them.
 */
export type Terms = Readonly<Record<string, string>>;

/** Terms to sign on, with the likely and the highest fee in base units of the native coin. */
export type Quoted = Readonly<{ terms: Terms; feeUnits: bigint; feeUnitsMax: bigint }>;

/** A transaction that would fail now. `missing`: the shortage of a wallet, if that is the cause. */
export type Refused = Readonly<{ refused: RefusedCode; message: string; missing: Missing | null }>;

export type Quote = Quoted | Refused;

/** `refund_lock_set`: the chain shows that the refund was paid. */
export type RefusedCode =
  | 'destination_frozen'
  | 'destination_invalid'
  | 'token_short'
  | 'native_short'
  | 'would_fail'
  | 'refund_lock_set';

/**
 * Base units of the token or the native coin that a wallet lacks. `costUnits`: the highest fee in native coin. `loan`:
 * a gas intent's `delegate` of `units`, with `coinUnits` (may be 0) sent, that would enable a sweep.
 */
export type Missing = Readonly<{
  units: bigint;
  costUnits?: bigint;
  loan?: Readonly<{ units: bigint; coinUnits: bigint }>;
}>;

export const isRefused = (answer: object): answer is Refused => 'refused' in answer;

/**
 * The outcome of the attempts of one generation, taken together.
 * - `waiting`: nothing is final yet. `included` names the attempt that is in a block now, if any.
 * - `succeeded`: one is final and has paid as drafted. `feeUnits` is its cost.
 * - `failed`: one is final and moved nothing. The payout may be signed again.
 * - `dead`: final state proves that none of them can ever be included. The payout may be signed again.
 * - `foreign`: at finality, a transaction that is not ours has used the wallet's nonce. The wallet must stop.
 */
export type Outcome =
  | Readonly<{ kind: 'waiting'; included: Readonly<{ tx: string; number: number }> | null }>
  | Readonly<{ kind: 'succeeded' | 'failed'; tx: string; number: number; feeUnits: bigint }>
  | Readonly<{ kind: 'dead' }>
  | Readonly<{ kind: 'foreign'; message: string }>;
