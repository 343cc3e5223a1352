/**
 * Settling-in: the wait after a start without a heartbeat in the last two minutes. The machine may have been restored
 * to an earlier state, and later transactions may be pending. Nothing is signed, and no payout ends as never paid, for
 * a time that depends on the family, and then until the head of that moment is final and read. Pending transactions
 * have expired by then, or a node has shown them.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { Fault } from '../../src/core/fault.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Engines } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** Interval of heartbeats. */
export const BEAT_MS = 10_000;
export const SETTLING = 'payouts_settling';

type SettlingInParts = Readonly<{
  network: NetworkKey;
  /** `SpendRules.settleMs`. */
  settleMs: number;
  chainNode: Pick<Node, 'head'>;
  engines: Engines;
  clock: Pick<Clock, 'nowMs'>;
}>;

export type SettlingIn = ReturnType<typeof createSettlingIn>;

export function createSettlingIn(parts: SettlingInParts) {
  const { network, settleMs, chainNode, engines, clock } = parts;
  let beatAtMs = Number.NEGATIVE_INFINITY;
  /**
   * End of the fixed time, by the chain's time; 0 if it is not known yet. Null: settling-in is over, or was never
   * needed.
   */
  let untilMs: number | null = 0;
  /** The head at the end of the fixed time. */
  let lastNumber: number | null = null;

  /** Read again and again, because the network also settles in when an operator reconciles it. */
  const readUntilMs = async (): Promise<number | null> =>
    (await engines.list()).find((one) => one.network === network)?.settlingUntilMs ?? null;

  return {
    /** Saves a heartbeat. To be called at least every two minutes. @throws Fault of the database */
    async beat(): Promise<void> {
      const nowMs = clock.nowMs();
      const isDue = nowMs < beatAtMs || nowMs >= beatAtMs + BEAT_MS;
      const known = isDue ? await engines.beat(network, nowMs) : await readUntilMs();
      if (isDue) beatAtMs = nowMs;
      if (known !== untilMs) lastNumber = null;
      untilMs = known;
    },
    /**
     * Ends settling-in if it is over.
     * @param floor the newest block that is final and read, and whose outgoing transfers were judged
     * @param lastLook called at the end, before anything is signed
     */
    async renew(floor: number, lastLook: () => Promise<void>): Promise<void> {
      // Before the first heartbeat, nothing is signed, because settling-in may be needed.
      if (untilMs === null || beatAtMs === Number.NEGATIVE_INFINITY) return;
      const head = await chainNode.head();
      const headMs = head.timeS * 1000;
      if (untilMs === 0) {
        untilMs = Math.max(headMs, clock.nowMs()) + settleMs;
        await engines.settle(network, untilMs);
      }
      if (headMs < untilMs) return;
      lastNumber ??= head.number;
      if (floor < lastNumber) return;
      await lastLook();
      await engines.settle(network, null);
      untilMs = null;
    },
    /** Returns why nothing may be signed; null if signing is allowed. */
    current: (): Fault | null => (untilMs === null ? null : settling(network, untilMs)),
  };
}

/** @param untilMs by the chain's time; 0 if it is not known yet */
export const settling = (network: NetworkKey, untilMs: number): Fault =>
  reasonFault(SETTLING, {
    network,
    until:
      untilMs === 0
        ? 'its node answers'
        : `${new Date(untilMs).toISOString()} by the chain's time, and some blocks more`,
  });
