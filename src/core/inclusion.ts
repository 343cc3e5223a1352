/**
 * Inclusion grace. A payer who sends just before the deadline is in time, although the next blocks come after it.
 */
import type { NetworkKey } from './transfer.ts';

/** Seconds after the deadline for which a block still counts as in time, by network. */
export type InclusionGrace = Readonly<Record<NetworkKey, number>>;

const BLOCKS = 3;
const GRACE_S_MIN = 15;
const GRACE_S_MAX = 60;

/** Returns the grace of a network, in seconds: three blocks, at least 15 s and at most 60 s. */
export const inclusionGraceS = (blockTimeMs: number): number =>
  Math.min(GRACE_S_MAX, Math.max(GRACE_S_MIN, Math.ceil((BLOCKS * blockTimeMs) / 1000)));

/** Returns the grace of one network, in seconds; 0 on a network that the session does not offer. */
export const graceOn = (grace: InclusionGrace, network: NetworkKey): number => grace[network] ?? 0;

/** Returns the grace of the named networks only. */
export const graceOf = (grace: InclusionGrace, networks: readonly NetworkKey[]): InclusionGrace =>
  Object.fromEntries(Object.entries(grace).filter(([key]) => (networks as readonly string[]).includes(key)));

/** Returns the longest grace of a session's networks, in seconds. */
export const longestGraceS = (grace: InclusionGrace): number => Math.max(0, ...Object.values(grace));
