/** Notices that a chain's finality has stopped while payments wait for it. The server raises an alarm if this lasts. */
import type { NetworkConfig } from '../../src/config/network.ts';
import { finalityLagMax, type Lack } from '../../src/core/credit-policy.ts';
import type { NetworkReport } from '../../src/database/networks.ts';

/** The kinds of finality whose heights nodes report. */
const watched = ['safe', 'finalized'] as const;

/** The heights of the node's safe and final blocks; null if it reports none. */
type FinalHeights = Readonly<Record<(typeof watched)[number], number | null>>;

/**
 * Returns why payments wait for finality; null if they do not.
 * @param lacking conditions that payments wait for now; a store may require a finality that the network's policy does
 * not name
 */
type FinalityCheck = (headNumber: number, heights: FinalHeights, lacking: ReadonlySet<Lack>) => NetworkReport['reason'];

export function createFinalityCheck({
  confirmations,
  blockTimeMs,
  reorgDepthMax,
}: Pick<NetworkConfig, 'confirmations' | 'blockTimeMs' | 'reorgDepthMax'>): FinalityCheck {
  return (headNumber, heights, lacking) => {
    const stalled = watched.find((kind) => {
      const lagMax = finalityLagMax(confirmations, kind, blockTimeMs) ?? (lacking.has(kind) ? reorgDepthMax : null);
      return lagMax !== null && headNumber - (heights[kind] ?? 0) > lagMax;
    });
    return stalled ? hasStalled(stalled, headNumber, heights[stalled]) : null;
  };
}

function hasStalled(kind: (typeof watched)[number], headNumber: number, number: number | null) {
  const name = kind === 'safe' ? 'safe' : 'final';
  const shown = number === null ? `calls no block ${name}` : `calls block ${number} ${name}`;
  const message =
    `the node ${shown}, and its head is ${headNumber}. Payments that need this stay seen, and are credited once their ` +
    `blocks are ${name}. Look at the node, and at its consensus client if it has one, or name a depth instead in the ` +
    "network's confirmations";
  return { code: 'finality_stalled', message };
}
