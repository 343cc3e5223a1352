/** Marks figures of networks whose nodes have stopped: they say how it was then. */
import type { NetworkKey } from '../core/transfer.ts';
import { staleSinceMs } from '../database/network-health.ts';
import type { Html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import type { Visit } from './page.ts';
import { ago, badge } from './show.ts';

/** Returns what stands beside a figure of a network; null while its node answers. */
export async function readStale(
  { database }: Pick<DashboardDeps, 'database'>,
  { nowMs, words }: Pick<Visit<unknown>, 'nowMs' | 'words'>,
): Promise<(network: NetworkKey) => Html | null> {
  const since = new Map((await database.networks.list()).map((one) => [one.network, staleSinceMs(one, nowMs)]));
  return (network) => {
    const sinceMs = since.get(network) ?? null;
    // A node that was never heard has no figures.
    if (sinceMs === null || sinceMs === 0) return null;
    return badge(words.html('operator.as_of', { ago: ago(words, sinceMs, nowMs) }), 'attention');
  };
}
