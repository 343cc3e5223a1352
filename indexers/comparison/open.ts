/** Opens what the comparison of one network needs: a connection to its node, and the addresses to look for. */
import { chains } from '../../src/chains/index.ts';
import { createAddressTable } from '../follower/address-table.ts';
import { createWatch } from '../follower/address-watch.ts';
import { createMatcher } from '../follower/matcher.ts';
import { followerNodeOptions } from '../follower/node-options.ts';
import type { ComparisonParts } from './network.ts';

/** Concurrent requests: the follower's come first. */
const REQUESTS_MAX = 8;

/** @throws Fault permanent `node_url_invalid` */
export async function openComparison(
  options: Pick<ComparisonParts, 'network' | 'database' | 'clock' | 'log'>,
): Promise<ComparisonParts & Readonly<{ close(): Promise<void> }>> {
  const { network, database } = options;
  const chain = chains[network.family];
  const table = createAddressTable(chain.address.keyBytes);
  // Nobody waits for this process, so every answer may be decoded in its own thread.
  const own = { chain, tokens: network.tokens, table };
  const matcher = await createMatcher({ ...own, inlineBytesMax: Number.POSITIVE_INFINITY, threadsMax: 1 });
  const { openNode } = await chain.node();
  const node = openNode({ ...followerNodeOptions(network), concurrencyMax: REQUESTS_MAX });
  return {
    ...options,
    node,
    matcher,
    watch: createWatch(database, network, table),
    close: async () => void (await Promise.all([node.close(), matcher.close()])),
  };
}
