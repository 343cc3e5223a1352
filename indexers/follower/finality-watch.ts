/**
 * Notices that a chain's finality does not move, where payments wait for it.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { finalityLagMax, usualDepth } from '../../src/core/confirmation.ts';
import type { Database, NetworkReport } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** A node that was restarted may know of no finality for a moment; an alarm is raised after this long. */
const ALARM_AFTER_MS = 60_000;

export interface FinalityWatch {
  /**
   * Returns why payments wait, given what the node shows; null if they do not. Raises an alarm once if this lasts.
   * @param finalNumber the height that the node calls final; null if it reports none
   * @throws Fault `storage_unavailable`
   */
  look(headNumber: number, finalNumber: number | null): Promise<NetworkReport['reason']>;
}

export function createFinalityWatch(
  network: Pick<NetworkConfig, 'key' | 'confirmations' | 'blockTimeMs' | 'creditsUnfinal'>,
  database: Pick<Database, 'raiseAlarm'>,
  clock: Pick<Clock, 'nowMs'>,
): FinalityWatch {
  const { key, confirmations, blockTimeMs, creditsUnfinal = false } = network;
  const lagMax = finalityLagMax(confirmations, blockTimeMs);
  let stalledSinceMs: number | null = null;
  let isRaised = false;
  return {
    async look(headNumber, finalNumber) {
      const isWell = lagMax === null ? !creditsUnfinal : headNumber - (finalNumber ?? 0) <= lagMax;
      if (isWell) {
        stalledSinceMs = null;
        isRaised = false;
        return null;
      }
      const nowMs = clock.nowMs();
      stalledSinceMs ??= nowMs;
      const reason = creditsUnfinal ? notAsked(usualDepth(confirmations)) : stalled(headNumber, finalNumber);
      if (!isRaised && nowMs - stalledSinceMs >= ALARM_AFTER_MS) {
        await database.raiseAlarm({ atMs: nowMs, ...reason, network: key, sessionId: null });
        isRaised = true;
      }
      return reason;
    },
  };
}

function stalled(headNumber: number, finalNumber: number | null) {
  const final = finalNumber === null ? 'calls no block final' : `calls block ${finalNumber} final`;
  const message =
    `the node ${final}, and its head is ${headNumber}: payments are seen, and credited once they are final. ` +
    `Look at the node, and at its consensus client if it has one, or set the network's confirmations to a depth`;
  return { code: 'finality_stalled', message };
}

function notAsked(blocks: number) {
  const message =
    `solid_url is null, so payments are credited at ${blocks} blocks, which the network may still take back: set ` +
    'solid_url to where the node shows final blocks, or accept that with "finality": false in confirmations';
  return { code: 'finality_not_asked', message };
}
