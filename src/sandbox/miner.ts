/**
 * Mines a block of a world at intervals.
 *
 * @module
 */
import type { Clock } from '../lib/clock.ts';
import type { World } from './world.ts';

export interface Miner {
  intervalMs(): number;
  /** Zero stops mining; payments then stay pending until a block is mined on request. */
  setInterval(ms: number): void;
  stop(): Promise<void>;
}

const FOREVER_MS = 2 ** 31 - 1;

/**
 * Starts mining.
 * @param onFault called when a block could not be mined (a full disk); mining then ends
 */
export function startMiner(
  world: Pick<World, 'mine'>,
  clock: Clock,
  firstIntervalMs: number,
  onFault: (error: unknown) => void,
): Miner {
  let intervalMs = firstIntervalMs;
  let isStopped = false;
  let wake = new AbortController();

  async function run(): Promise<void> {
    while (!isStopped) {
      const { signal } = wake;
      await clock.sleep(intervalMs || FOREVER_MS, signal);
      if (signal.aborted) wake = new AbortController();
      else world.mine();
    }
  }
  const ended = run().catch(onFault);

  return {
    intervalMs: () => intervalMs,
    setInterval(ms) {
      intervalMs = ms;
      wake.abort();
    },
    async stop() {
      isStopped = true;
      wake.abort();
      await ended;
    },
  };
}
