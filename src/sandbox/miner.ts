/**
 * Mines a block of a world at intervals.
 */
import type { Clock } from '../lib/clock.ts';
import type { World } from './world.ts';

export type Miner = Readonly<{ stop(): Promise<void> }>;

type Pace = Readonly<{
  intervalMs: number;
  /**
   * The longer interval of a chain on which nothing is under way: no payment waits, and so many blocks are on top of
   * the last payment, of the last reorg and of the tip at the start. Without it, the interval is always the same.
   */
  quiet?: Readonly<{ intervalMs: number; afterBlocks: number }>;
}>;

/**
 * Starts mining. A payment never waits longer than the short interval.
 * @param onFault called when a block could not be mined (a full disk); mining then ends
 */
export function startMiner(
  world: Pick<World, 'mine' | 'pending' | 'tip' | 'onChange'>,
  clock: Clock,
  { intervalMs, quiet = { intervalMs, afterBlocks: 0 } }: Pace,
  onFault: (error: unknown) => void,
): Miner {
  const stopping = new AbortController();
  const followed = () => world.tip().number + quiet.afterBlocks;
  let underWayUpTo = followed();
  const forget = world.onChange(({ removed }) => {
    if (removed.length > 0) underWayUpTo = followed();
  });

  async function run(): Promise<void> {
    for (let waitedMs = intervalMs; ; waitedMs += intervalMs) {
      await clock.sleep(intervalMs, stopping.signal);
      if (stopping.signal.aborted) return;
      const hasPayments = world.pending().length > 0;
      const isUnderWay = hasPayments || world.tip().number < underWayUpTo;
      if (!isUnderWay && waitedMs < quiet.intervalMs) continue;
      world.mine();
      if (hasPayments) underWayUpTo = followed();
      waitedMs = 0;
    }
  }
  const ended = run().catch(onFault);

  return {
    async stop() {
      forget();
      stopping.abort();
      await ended;
    },
  };
}
