/**
 * Notices that a chain's finality does not move, where payments wait for it.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { finalityLagMax, type Lack, usualDepth } from '../../src/core/credit-policy.ts';
import type { Database, NetworkReport } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A node that was restarted may know of no finality for a moment; an alarm is raised after this long. */
const ALARM_AFTER_MS = 60_000;

/** The kinds of finality whose heights nodes show. */
const watched = ['safe', 'finalized'] as const;

/** The heights that the node calls safe and final; null if it reports none. */
export type FinalHeights = Readonly<Record<(typeof watched)[number], number | null>>;

export interface FinalityWatch {
  /**
   * Returns why payments wait, given what the node shows; null if they do not. Raises an alarm once if this lasts.
   * @param lacking what payments wait for now; stores may ask for a finality that the network's policy does not name
   * @throws Fault `storage_unavailable`
   */
  look(headNumber: number, heights: FinalHeights, lacking: ReadonlySet<Lack>): Promise<NetworkReport['reason']>;
}

export function createFinalityWatch(
  network: Pick<NetworkConfig, 'key' | 'confirmations' | 'blockTimeMs' | 'reorgDepthMax' | 'creditsUnfinal'>,
  database: Pick<Database, 'raiseAlarm'>,
  clock: Pick<Clock, 'nowMs'>,
): FinalityWatch {
  const { key, confirmations, blockTimeMs, reorgDepthMax, creditsUnfinal = false } = network;
  let stalledSinceMs: number | null = null;
  let isRaised = false;
  return {
    async look(headNumber, heights, lacking) {
      const stalled = watched.find((kind) => {
        const lagMax = finalityLagMax(confirmations, kind, blockTimeMs) ?? (lacking.has(kind) ? reorgDepthMax : null);
        return lagMax !== null && headNumber - (heights[kind] ?? 0) > lagMax;
      });
      if (!stalled && !creditsUnfinal) {
        stalledSinceMs = null;
        isRaised = false;
        return null;
      }
      const nowMs = clock.nowMs();
      stalledSinceMs ??= nowMs;
      const reason = stalled
        ? hasStalled(stalled, headNumber, heights[stalled])
        : notAsked(usualDepth(confirmations, 0n));
      if (!isRaised && nowMs - stalledSinceMs >= ALARM_AFTER_MS) {
        await database.raiseAlarm({ atMs: nowMs, ...reason, network: key, sessionId: null });
        isRaised = true;
      }
      return reason;
    },
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
    'solid_url to where the node shows final blocks, or accept that with "finality": false in confirmations';
  return { code: 'finality_not_asked', message };
}
