/**
 * Looks at the nodes of all networks again and again, side by side.
 */
import { followerNodeOptions } from '../../indexers/follower/node-options.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { readSoftware } from './software.ts';
import { type Estimate, estimate, type Sample, WINDOW_MS } from './sync-estimate.ts';
import { phaseOf } from './sync-phase.ts';

const REQUEST_TIMEOUT_MS = 8_000;

/** The present state of one node. Without an answer, everything but `fault` is what was last seen. */
export type SyncRow = Readonly<{
  network: NetworkConfig;
  sample: Sample | null;
  estimate: Estimate | null;
  /** Why the node did not answer just now. */
  fault: string | null;
}>;

export const isReady = ({ estimate: found, fault }: SyncRow): boolean => fault === null && found?.state === 'ready';

/** @throws Fault permanent `node_url_invalid` */
export async function openSyncWatch(network: NetworkConfig, clock: Clock) {
  const { openNode } = await chains[network.family].node();
  const options = { ...followerNodeOptions(network), requestTimeoutMs: REQUEST_TIMEOUT_MS };
  const node = openNode(options);
  let samples: readonly Sample[] = [];

  function row(fault: string | null): SyncRow {
    const [first, ...more] = samples;
    const found = first ? estimate([first, ...more], network.blockTimeMs) : null;
    return { network, sample: samples.at(-1) ?? null, estimate: found, fault };
  }

  return {
    /** Looks at the node once more. @returns what is known now */
    async look(): Promise<SyncRow> {
      try {
        const said = readSoftware(network.family, options, clock);
        const [{ number, timeS }, { peers, syncing }] = await Promise.all([node.head(), said]);
        const atMs = clock.nowMs();
        const sample = { atMs, number, timeS, peers, phase: phaseOf(syncing, number) };
        samples = [...samples.filter((one) => atMs - one.atMs <= WINDOW_MS), sample];
        return row(null);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return row(error.message);
      }
    },
    close: () => node.close(),
  };
}
