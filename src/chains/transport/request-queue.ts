/** Limits how many requests to one node run at once. The others wait in order. */
import PQueue from 'p-queue';
import { transient } from '../../core/fault.ts';

/** More waiting requests mean that a caller has lost control. */
const WAITING_MAX = 10_000;

export type RequestQueue = Readonly<{
  /**
   * Runs `work` as soon as a slot is free.
   * @param signal ends the wait; `work` has to observe it itself
   * @throws Fault transient `node_busy` or `node_timeout`, or what `work` throws
   */
  add<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}>;

/** Opens a queue. @param host names the node in messages */
export function openRequestQueue(
  options: Readonly<{ host: string; concurrencyMax: number; requestTimeoutMs: number }>,
): RequestQueue {
  const { host, concurrencyMax, requestTimeoutMs } = options;
  const queue = new PQueue({ concurrency: concurrencyMax });
  return {
    add(signal, work) {
      if (queue.size >= WAITING_MAX) {
        return Promise.reject(transient('node_busy', `${host}: ${WAITING_MAX} requests are waiting already`));
      }
      return new Promise((resolve, reject) => {
        // The queue does not get the signal, because it would search itself for each request that gives up.
        const giveUp = () => {
          const late = `no free slot within ${requestTimeoutMs} ms; the node is too slow for the number of requests`;
          reject(transient('node_timeout', `${host}: ${late}`));
        };
        signal.addEventListener('abort', giveUp, { once: true });
        void queue.add(async () => {
          signal.removeEventListener('abort', giveUp);
          if (signal.aborted) giveUp();
          else await Promise.resolve().then(work).then(resolve, reject);
        });
      });
    },
  };
}
