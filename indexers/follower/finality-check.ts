/**
 * Notices that a chain's finality does not move, where payments wait for it. The server raises an alarm if this lasts.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { finalityLagMax, type Lack, usualDepth } from '../../src/core/credit-policy.ts';
import type { NetworkReport } from '../../src/database/networks.ts';

/** The kinds of finality whose heights nodes show. */
const watched = ['safe', 'finalized'] as const;

/** The heights that the node calls safe and final; null if it reports none. */
type FinalHeights = Readonly<Record<(typeof watched)[number], number | null>>;

/**
 * Returns why payments wait, given what the node shows; null if they do not.
 * @param lacking what payments wait for now; stores may ask for a finality that the network's policy does not name
 */
type FinalityCheck = (headNumber: number, heights: FinalHeights, lacking: ReadonlySet<Lack>) => NetworkReport['reason'];

export function createFinalityCheck({
  confirmations,
  blockTimeMs,
  reorgDepthMax,
  creditsUnfinal = false,
}: Pick<NetworkConfig, 'confirmations' | 'blockTimeMs' | 'reorgDepthMax'> & {
  readonly creditsUnfinal?: boolean;
}): FinalityCheck {
  return (headNumber, heights, lacking) => {
    const stalled = watched.find((kind) => {
      const lagMax = finalityLagMax(confirmations, kind, blockTimeMs) ?? (lacking.has(kind) ? reorgDepthMax : null);
      return lagMax !== null && headNumber - (heights[kind] ?? 0) > lagMax;
    });
    if (stalled) return hasStalled(stalled, headNumber, heights[stalled]);
    return creditsUnfinal ? notAsked(usualDepth(confirmations, 0n)) : null;
  };
}

function hasStalled(kind: (typeof watched)[number], headNumber: number, number: number | null) {
  const name = kind === 'safe' ? 'safe' : 'final';
  const shown = number === null ? `calls no block ${name}` : `calls block ${number} ${name}`;
  const message =
    `the node ${shown}, and its head is ${headNumber}: payments that need this are seen, and credited once their ` +
    `blocks are ${name}. Look at the node, and at its consensus client if it has one, or name a depth instead in the ` +
    "network's confirmations";
  return { code: 'finality_stalled', message };
}

function notAsked(blocks: number) {
  const message =
    `solid_url is null, so payments are credited at ${blocks} blocks, which the network may still take back: set ` +
    'solid_url to where the node shows final blocks, or accept that with "finality": null in confirmations';
  return { code: 'finality_not_asked', message };
}
