/**
 * Raises an alarm when the node does not have the next blocks any more: it will not get them back by itself, and until
 * somebody gives it or us another source, no later payment is seen.
 *
 * @module
 */
import type { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';

/** A gateway may ask a node without them now and then; a node that is starting may not have found them yet. */
const LASTS_MS = 120_000;
const codes = ['node_block_missing', 'node_history_pruned'];

export type LostBlocks = Readonly<{
  /**
   * Notes that a step failed.
   * @throws Fault transient if the alarm cannot be saved; the next call tries again
   */
  note(fault: Fault, nowMs: number): Promise<void>;
  /** Notes that a step succeeded. */
  clear(): void;
}>;

export function createLostBlocks(network: NetworkKey, database: Pick<Database, 'raiseAlarm'>): LostBlocks {
  let sinceMs: number | null = null;
  let isRaised = false;
  return {
    async note({ code, message }, nowMs) {
      if (!codes.includes(code)) return;
      sinceMs ??= nowMs;
      const lastedMs = nowMs - sinceMs;
      if (isRaised || lastedMs < LASTS_MS) return;
      const lasting = `for ${Math.floor(lastedMs / 60_000)} minutes no further block of ${network} could be read, and no payment in one is seen: ${message}. What to do: \`quayside networks show ${network}\``;
      await database.raiseAlarm({ atMs: nowMs, code, message: lasting, network, sessionId: null });
      isRaised = true;
    },
    clear() {
      sinceMs = null;
      isRaised = false;
    },
  };
}
