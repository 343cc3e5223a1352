/**
 * Raises an alarm when faults delay payouts for long.
 *
 * @module
 */
import type { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

const ALARM_AFTER_MS = 600_000;

export interface DelayWatch {
  /**
   * Notes what delays single payouts now; null if nothing does.
   * @throws Fault `storage_unavailable`
   */
  note(fault: Fault | null): Promise<void>;
}

export function createDelayWatch(
  network: NetworkKey,
  database: Pick<Database, 'raiseAlarm'>,
  clock: Pick<Clock, 'nowMs'>,
): DelayWatch {
  let sinceMs: number | null = null;
  let isRaised = false;
  return {
    async note(fault) {
      const nowMs = clock.nowMs();
      if (!fault) {
        sinceMs = null;
        isRaised = false;
        return;
      }
      sinceMs ??= nowMs;
      if (isRaised || nowMs < sinceMs + ALARM_AFTER_MS) return;
      const message = `payouts on ${network} have been delayed for ${ALARM_AFTER_MS / 60_000} minutes: ${fault.message}`;
      await database.raiseAlarm({ atMs: nowMs, code: 'payouts_delayed', message, network, sessionId: null });
      isRaised = true;
    },
  };
}
