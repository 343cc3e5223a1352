/**
 * Mines a block of a world at intervals.
 *
 * @module
 */
import type { Clock } from '../lib/clock.ts';
import type { World } from './world.ts';

export type Miner = Readonly<{ stop(): Promise<void> }>;

/**
 * Starts mining.
 * @param onFault called when a block could not be mined (a full disk); mining then ends
 */
export function startMiner(
  world: Pick<World, 'mine'>,
  clock: Clock,
  intervalMs: number,
  onFault: (error: unknown) => void,
): Miner {
  const stopping = new AbortController();

  async function run(): Promise<void> {
    for (;;) {
      await clock.sleep(intervalMs, stopping.signal);
      if (stopping.signal.aborted) return;
      world.mine();
    }
  }
  const ended = run().catch(onFault);

  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
