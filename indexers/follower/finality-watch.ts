/**
 * Notices that a chain's finality does not move, where payments wait for it.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { finalityLagMax } from '../../src/core/confirmation.ts';
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
  { key, confirmations, blockTimeMs }: Pick<NetworkConfig, 'key' | 'confirmations' | 'blockTimeMs'>,
  database: Pick<Database, 'raiseAlarm'>,
  clock: Pick<Clock, 'nowMs'>,
): FinalityWatch {
  const lagMax = finalityLagMax(confirmations, blockTimeMs);
  let stalledSinceMs: number | null = null;
  let isRaised = false;
  return {
    async look(headNumber, finalNumber) {
      if (lagMax === null || headNumber - (finalNumber ?? 0) <= lagMax) {
        stalledSinceMs = null;
        isRaised = false;
        return null;
      }
      const nowMs = clock.nowMs();
      stalledSinceMs ??= nowMs;
      const final = finalNumber === null ? 'calls no block final' : `calls block ${finalNumber} final`;
      const reason = {
        code: 'finality_stalled',
        message:
          `the node ${final}, and its head is ${headNumber}: payments are seen, and credited once they are final. ` +
          `Look at the node, and at its consensus client if it has one, or set the network's confirmations to a depth`,
      };
      if (!isRaised && nowMs - stalledSinceMs >= ALARM_AFTER_MS) {
        await database.raiseAlarm({ atMs: nowMs, ...reason, network: key, sessionId: null });
        isRaised = true;
      }
      return reason;
    },
  };
}
