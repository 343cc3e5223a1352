/**
 * Halts a network that must not continue. It reports and waits until an operator moves the network's position. If the
 * node is not the configured one, its identity is checked from time to time, because a gateway may have sent one
 * connection elsewhere. The network continues when the node has been the right one for a while.
 */
import { Fault } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Wakeup } from '../wakeup.ts';
import type { Reporter } from './reporter.ts';

/** Faults of identity, which can end by themselves. Others need a person. */
const provable = ['chain_id_mismatch', 'decimals_mismatch'];
/** Interval of the checks whether an operator has moved the network's position. */
const LOOK_MS = 1_000;
/** Time between two proofs. */
const PROOF_MS = 15_000;
/** Proofs needed in a row. One alone may be luck, at a gateway that alternates between two networks. */
const PROOFS = 4;

type HaltOptions = Readonly<{
  reporter: Pick<Reporter, 'update'>;
  clock: Pick<Clock, 'nowMs'>;
  wakeup: Pick<Wakeup, 'wait'>;
  /** Checks the node's identity. @throws Fault if it is not the configured node, or does not answer */
  prove: () => Promise<void>;
  /** Returns whether an operator has moved the network's position. @throws Fault `storage_unavailable` */
  isMoved: () => Promise<boolean>;
}>;

/** Reports a permanent fault, which the server makes an alarm, and waits until it is over or the signal aborts. */
export async function haltNetwork(
  { code, message }: Fault,
  { reporter, clock, wakeup, prove, isMoved }: HaltOptions,
  signal: AbortSignal,
): Promise<void> {
  reporter.update({ state: 'halted', reason: { code, message } });
  const isProvable = provable.includes(code);
  let askedAtMs = clock.nowMs();
  for (let proofs = 0; ; ) {
    try {
      if (await isMoved()) break;
      if (isProvable && clock.nowMs() - askedAtMs >= PROOF_MS) {
        askedAtMs = clock.nowMs();
        await prove();
        proofs += 1;
        if (proofs === PROOFS) break;
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      proofs = 0;
    }
    if (!signal.aborted) await wakeup.wait(LOOK_MS);
    if (signal.aborted) return;
  }
  reporter.update({ state: 'starting', reason: null });
}
