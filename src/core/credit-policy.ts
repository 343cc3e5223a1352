/**
 * Decides when a payment is credited. One policy by amount serves all families.
 *
 * A policy is a list of tiers. A payment must meet every tier that its amount reaches, so a larger amount never needs
 * less. The amount is everything that came to the session on the network and is not final yet, so splitting a payment
 * over transfers, tokens or blocks gains nothing. A store's own tiers are added to the network's, so a store can only
 * be stricter.
 */

/**
 * A network's own statements about a block, by rising firmness.
 * - `sequencer`: the only producer of blocks has made it (rollups). `confirmed`: two thirds of the stake have voted for
 *   it (Solana). Every block that a follower holds has this level, because these nodes show no earlier blocks.
 * - `safe`: its data is on the chain below (rollups), or most validators attest it.
 * - `finalized`: the chain never takes it back.
 */
export const finalities = ['sequencer', 'confirmed', 'safe', 'finalized'] as const;
export type Finality = (typeof finalities)[number];

/** Requirements for payments of at least `fromPar`. All of them must hold, besides those of the tiers below. */
export type CreditTier = Readonly<{
  /** The smallest amount that reaches the tier, at par. Absent means every amount. */
  fromPar?: bigint;
  /** Required depth of the payment's block, the block itself included. */
  blocks?: number;
  finality?: Finality;
  /** The depth at which a block usually reaches that finality, for display. */
  usual?: number;
  /** A second node confirms, at the moment of credit, that the block and the transfer are on its chain too. */
  secondNode?: true;
}>;

/** Tiers by rising `fromPar`. */
export type CreditPolicy = readonly CreditTier[];

/** Heights of a network: our tip, and the blocks that the network calls safe and final, if it reports them. */
export type Heights = Readonly<{ tip: number; safe: number | null; final: number | null }>;

/** Unmet requirements of a payment. `second_node` is asked only once all others are met. */
export type Lack = 'depth' | 'safe' | 'finalized';

/** A session's receipts on one network, at par: in blocks above the floor, and in all blocks. */
export type Received = Readonly<{ openPar: bigint; allPar: bigint }>;

const reached = (policy: CreditPolicy, par: bigint): CreditTier[] =>
  policy.filter(({ fromPar = 0n }) => fromPar <= par);

const depthOf = (tiers: readonly CreditTier[]): number =>
  tiers.reduce((depth, { blocks = 1, usual = 1 }) => Math.max(depth, blocks, usual), 1);

/** Returns the confirmations to display for a payment of `par`. Under a finality tier this is the usual depth. */
export const usualDepth = (policy: CreditPolicy, par: bigint): number => depthOf(reached(policy, par));

/** Returns the confirmations to display for the largest payment. */
export const usualDepthMax = (policy: CreditPolicy): number => depthOf(policy);

/** Returns whether a payment of `par` waits for the network to make its block safe or final. */
export const waitsForFinality = (policy: CreditPolicy, par: bigint): boolean =>
  reached(policy, par).some(({ finality }) => finality === 'safe' || finality === 'finalized');

/** Returns whether a payment of `par` needs a second node. */
export const needsSecondNode = (policy: CreditPolicy, par: bigint): boolean =>
  reached(policy, par).some(({ secondNode }) => secondNode);

/** Returns whether any amount needs this finality. */
export const namesFinality = (policy: CreditPolicy, finality: Finality): boolean =>
  policy.some((tier) => tier.finality === finality);

/**
 * Returns the amount by which payments to a session are judged, which is everything that is not final. Blocks at the
 * floor count as final, unless finality lags by more than a reorg may reach. Then everything that the session received
 * counts.
 */
export function judgedPar(policy: CreditPolicy, { openPar, allPar }: Received, floor: number, final: number | null) {
  const asksForFinality = policy.some(({ finality }) => finality !== undefined);
  return asksForFinality && (final === null || final < floor) ? allPar : openPar;
}

/** Returns the unmet requirements of a payment of `par` in block `number`, the second node left out. */
export function lacks(policy: CreditPolicy, par: bigint, number: number, { tip, safe, final }: Heights): Set<Lack> {
  const missing = new Set<Lack>();
  const isAt = (height: number | null): boolean => height !== null && number <= height;
  for (const { blocks = 1, finality } of reached(policy, par)) {
    if (tip - number + 1 < blocks) missing.add('depth');
    if (finality === 'safe' && !isAt(safe) && !isAt(final)) missing.add('safe');
    if (finality === 'finalized' && !isAt(final)) missing.add('finalized');
  }
  return missing;
}

/** Lag at which finality has stalled, in multiples of its usual depth. */
const FINALITY_LAG_FACTOR = 2;
/** Least lag at which finality has stalled. */
const FINALITY_LAG_MS_MIN = 300_000;

/**
 * Returns the largest distance, in blocks, of a head from the newest block with this finality; null if no payment waits
 * for it.
 */
export function finalityLagMax(policy: CreditPolicy, finality: Finality, blockTimeMs: number): number | null {
  const naming = policy.filter((tier) => tier.finality === finality);
  if (naming.length === 0) return null;
  return Math.max(FINALITY_LAG_FACTOR * depthOf(naming), Math.ceil(FINALITY_LAG_MS_MIN / blockTimeMs));
}
