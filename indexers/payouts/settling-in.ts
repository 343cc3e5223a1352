/**
 * Settling-in: after a start without a heartbeat of the last two minutes, the machine may have been restored to an
 * earlier state, and what was signed since may be on its way. Nothing is signed, and nothing ends as never paid, for a
 * fixed time of the family and until the head of that moment is final and read. Transactions that were on their way
 * have then expired, or a node has shown them.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { Fault } from '../../src/core/fault.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Engines } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** How often a run leaves its heartbeat. */
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
  /** By the chain's time; 0: not known yet. Null: it is over, or was never needed. */
  let untilMs: number | null = 0;
  /** The head when the time was over. */
  let lastNumber: number | null = null;

  /** An operator who reconciles the network lets it settle in, too. */
  const readUntilMs = async (): Promise<number | null> =>
    (await engines.list()).find((one) => one.network === network)?.settlingUntilMs ?? null;

  return {
    /** Leaves a heartbeat; to be called at least every two minutes. @throws Fault of the database */
    async beat(): Promise<void> {
      const nowMs = clock.nowMs();
      const isDue = nowMs < beatAtMs || nowMs >= beatAtMs + BEAT_MS;
      const known = isDue ? await engines.beat(network, nowMs) : await readUntilMs();
      if (isDue) beatAtMs = nowMs;
      if (known !== untilMs) lastNumber = null;
      untilMs = known;
    },
    /**
     * Looks whether it is over.
     * @param floor the newest block that is final and read, and whose outgoing transfers have been judged
     * @param lastLook called when it is over, before anything is signed
     */
    async renew(floor: number, lastLook: () => Promise<void>): Promise<void> {
      // Before the first heartbeat nobody knows whether it is due, and nothing is signed.
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
    /** Returns why nothing is signed; null when it may be. */
    current: (): Fault | null => (untilMs === null ? null : settling(network, untilMs)),
  };
}

/** @param untilMs by the chain's time; 0: not known yet */
export const settling = (network: NetworkKey, untilMs: number): Fault =>
  reasonFault(SETTLING, {
    network,
    until:
      untilMs === 0
        ? 'its node answers'
        : `${new Date(untilMs).toISOString()} by the chain's time, and some blocks more`,
  });
