/**
 * A bound on what is under way at once.
 * @module
 */
import { type Fault, transient } from '../../core/fault.ts';

/** Requests that may wait for their turn; more is a caller that lost its measure. */
const WAITING_MAX = 10_000;

export type Gate = Readonly<{
  /** Runs `work` when there is room for it. @throws Fault transient `node_busy` or `node_timeout`, or what `work` throws */
  pass<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}>;

/** @param host names the node in messages */
export function openGate(options: Readonly<{ host: string; concurrencyMax: number; requestTimeoutMs: number }>): Gate {
  const { host, requestTimeoutMs } = options;
  let free = options.concurrencyMax;
  const line = new Set<() => void>();

  const whenFull = (): Fault => transient('node_busy', `${host}: ${WAITING_MAX} requests wait already`);
  const whenLate = (): Fault =>
    transient('node_timeout', `${host}: no turn within ${requestTimeoutMs} ms; the node is too slow for what is asked`);

  async function enter(signal: AbortSignal): Promise<void> {
    if (free > 0) {
      free -= 1;
      return;
    }
    if (line.size >= WAITING_MAX) throw whenFull();
    await new Promise<void>((resolve, reject) => {
      const onTurn = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        line.delete(onTurn);
        reject(whenLate());
      };
      line.add(onTurn);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  function leave(): void {
    const first = line.values().next();
    if (first.done) {
      free += 1;
      return;
    }
    line.delete(first.value);
    first.value();
  }

  return {
    async pass(signal, work) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
