/**
 * What nodes say of a transaction of ours: what it takes now (`Quote`), and what became of it (`Outcome`).
 */

/**
 * What an attempt is signed on besides its intent: fees, nonce, reference block, expiry. The names are the family's
 * own, the values decimal text or hex. Made by a node's quote, stored with the attempt, checked by the signer.
 */
export type Terms = Readonly<Record<string, string>>;

/** Terms to sign on, and the cost in base units of the native coin: likely, and at most. */
export type Quoted = Readonly<{ terms: Terms; feeUnits: bigint; feeUnitsMax: bigint }>;

/** A transaction that would fail now; `missing` where the wallet is short of something. */
export type Refused = Readonly<{ refused: RefusedCode; message: string; missing: Missing | null }>;

export type Quote = Quoted | Refused;

/** `refund_lock_set`: the chain says that the refund was paid. */
export type RefusedCode =
  | 'destination_frozen'
  | 'destination_invalid'
  | 'token_short'
  | 'native_short'
  | 'would_fail'
  | 'refund_lock_set';

/**
 * Base units of the token or the native coin that a wallet lacks. `costUnits`: the most that the transaction costs in
 * native coin. `loan`, of a sweep: a gas intent's `delegate` of `units`, with `coinUnits` (may be 0) sent, would do.
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
 * - `succeeded`: one is final and did what its draft says. `feeUnits` is what it cost.
 * - `failed`: one is final and moved nothing. The payout may be signed again.
 * - `dead`: final state proves that none of them can ever be included. The payout may be signed again.
 * - `foreign`: at finality, a transaction that is not ours has used the wallet's nonce. The wallet must stop.
 */
export type Outcome =
  | Readonly<{ kind: 'waiting'; included: Readonly<{ tx: string; number: number }> | null }>
  | Readonly<{ kind: 'succeeded' | 'failed'; tx: string; number: number; feeUnits: bigint }>
  | Readonly<{ kind: 'dead' }>
  | Readonly<{ kind: 'foreign'; message: string }>;
