/**
 * Halts a network that must not continue: it reports and waits, until an operator has moved its position. If the
 * node was not the configured one, it is asked who it is from time to time, because a gateway may have sent one
 * connection elsewhere; when it has proven for a while that it is the right one, the network continues.
 */
import { Fault } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Wakeup } from '../wakeup.ts';
import type { Reporter } from './reporter.ts';

/** Faults of the node's identity, which the node itself can prove to be over. Others need a person. */
const provable = ['chain_id_mismatch', 'decimals_mismatch'];
/** How often it looks whether an operator has moved the network's position. */
const LOOK_MS = 1_000;
/** Between two proofs. */
const PROOF_MS = 15_000;
/** Proofs in a row: a gateway between two networks would otherwise let one through now and then. */
const PROOFS = 4;

type HaltOptions = Readonly<{
  reporter: Pick<Reporter, 'update'>;
  clock: Pick<Clock, 'nowMs'>;
  wakeup: Pick<Wakeup, 'wait'>;
  /** Asks the node who it is. @throws Fault if it is not the configured one, or does not answer */
  prove: () => Promise<void>;
  /** Whether an operator has moved the network's position. @throws Fault `storage_unavailable` */
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
