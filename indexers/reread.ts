/**
 * Reads blocks again that a follower has passed, and compares them with the database. It adds missed transfers to our
 * addresses and out of our own wallets. The network's follower credits them like any other once the policy is met, and
 * its payout engine judges them like any other.
 */
import type { Chain, Node } from '../src/chains/chain.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import type { BlockRef } from '../src/core/block.ts';
import { permanent, transient } from '../src/core/fault.ts';
import type { BlockGap } from '../src/core/gap.ts';
import type { NetworkKey } from '../src/core/transfer.ts';
import type { OperatorAct } from '../src/database/audit-log.ts';
import type { Database } from '../src/database/database.ts';
import type { RereadDifference } from '../src/database/recovery.ts';
import type { Clock } from '../src/lib/clock.ts';
import { createAddressTable } from './follower/address-table.ts';
import { createWatch, type Watch } from './follower/address-watch.ts';
import { rangeFrom } from './follower/after-gap.ts';
import { createIdentityProof } from './follower/identity.ts';
import { createMatcher } from './follower/matcher.ts';
import { followerNodeOptions } from './follower/node-options.ts';
import { patiently, type RangePart, readChainRange } from './follower/range-reader.ts';

const PATIENCE_MS = 30_000;
/** Differences that are reported one by one. Further ones are only counted. */
const REPORTED_MAX = 1_000;

type RereadOptions = Readonly<{
  network: NetworkConfig;
  database: Database;
  chain: Chain;
  /** Block numbers, inclusive, not above the network's tip. */
  from: number;
  to: number;
  /** Only compares, and adds nothing. */
  isCheck: boolean;
  act: OperatorAct;
  clock: Clock;
  /** Called after each part. The next part waits for it. */
  onPart: (part: RereadPart) => void | Promise<void>;
  /** A part that fails is tried again for this long; half a minute if absent. */
  patienceMs?: number;
  /** Ends the reading after the present part. */
  signal?: AbortSignal;
}>;

/** Everything up to `throughNumber` was read. */
type RereadPart = RangePart & Readonly<{ differences: readonly RereadDifference[] }>;

type RereadReport = Readonly<{
  /** The first `REPORTED_MAX`. */
  differences: readonly RereadDifference[];
  counts: Readonly<Record<RereadDifference['kind'], number>>;
  /** Gaps that are closed now, because no block in them differs from the database. */
  closed: readonly BlockGap[];
}>;

/** Returns a network whose blocks are read from another node. */
export function atUrl(network: NetworkConfig, url: string): NetworkConfig {
  const { rpcUrl: _, finalityUrl: __, ...rest } = network;
  return { ...rest, url };
}

/**
 * Reads the blocks part by part. Parts that were saved before a failure stay saved.
 * @throws Fault permanent if the node is another one than configured; transient if it fails for good
 */
export async function rereadBlocks(options: RereadOptions): Promise<RereadReport> {
  const { network, database, chain, from, to, clock, patienceMs = PATIENCE_MS, signal } = options;
  const table = createAddressTable(chain.address.keyBytes);
  const own = new Set<string>();
  const watch = createWatch(database, network, table, own);
  const matcher = await createMatcher({ chain, tokens: network.tokens, table, own });
  const { openNode } = await chain.node();
  const node = openNode(followerNodeOptions(network));
  const patience = { clock, patienceMs };
  const close = () => Promise.all([node.close(), matcher.close()]);
  // At a stop, requests in flight fail at once, because their node is closed.
  signal?.addEventListener('abort', close, { once: true });
  const counts = { missing: 0, outgoing: 0, unknown: 0, other_block: 0 };
  const differences: RereadDifference[] = [];
  const doubtful = new Set<number>();
  try {
    await patiently(patience, signal, () => createIdentityProof(network, node, clock).renew(0));
    await watch.load(true);
    const searchedFor = watch.ownWallet();
    await patiently(patience, signal, () => checkBeginning(options, node));
    let at = from;
    for await (const part of readChainRange({ node, matcher, ...patience }, from, to, signal)) {
      const save = () => saveChecked(options, node, watch.through(), at, part);
      const found = await patiently(patience, signal, save);
      for (const { kind, number } of found) {
        counts[kind]++;
        if (kind === 'unknown' || kind === 'other_block') doubtful.add(number);
      }
      differences.push(...found.slice(0, REPORTED_MAX - differences.length));
      at = part.throughNumber + 1;
      await options.onPart({ ...part, differences: found });
    }
    await refuseNewWallet(watch, searchedFor, network.key);
    const closed = options.isCheck
      ? []
      : await database.networks.closeGaps(network.key, { from, to, doubtful: [...doubtful] }, options.act);
    return { differences, counts, closed };
  } finally {
    await close();
  }
}

/**
 * Checks that no wallet was added while blocks were read, because they were not searched for its transfers.
 * @throws Fault transient `storage_moved`
 */
async function refuseNewWallet(watch: Watch, searchedFor: number, key: NetworkKey): Promise<void> {
  await watch.load(true);
  if (watch.ownWallet() === searchedFor) return;
  throw transient('storage_moved', `a wallet of ${key} was added while blocks were read; read them once more`);
}

/**
 * Saves a part once the node has shown that it is on our chain and complete.
 * @throws Fault transient if the node has not shown that, or fails
 */
async function saveChecked(
  { network, database, isCheck, act }: RereadOptions,
  node: Pick<Node, 'range'>,
  watchedThrough: number,
  from: number,
  { blocks, throughNumber: to }: RangePart,
): Promise<readonly RereadDifference[]> {
  const anchor = await database.blocks.rereadAnchor(network.key, to);
  if (!anchor) throw permanent('refused', `the database has no block of ${network.key} from ${to} on`);
  await checkEnd(node, blocks.at(-1)?.block, to, anchor);
  const [shown] = await node.range(anchor.number, anchor.number);
  if (shown?.hash !== anchor.hash) {
    throw transient(
      'node_inconsistent',
      `the node does not show our block ${anchor.number} ${anchor.hash}: it is behind, or on another chain`,
    );
  }
  const outcome = await database.blocks.saveReread({
    network: network.key,
    family: network.family,
    decimals: Object.fromEntries(network.tokens.map((token) => [token.symbol, token.decimals])),
    dustFloorPar: network.dustFloorPar,
    watchedThrough,
    from,
    to,
    blocks,
    anchor: anchor.hash,
    isCheck,
    act,
  });
  if (outcome.kind === 'done') return outcome.differences;
  throw transient('storage_moved', 'our chain changed while blocks were read');
}

/**
 * Checks that the node has lost no block at the beginning, and that its first block continues ours if there is one
 * before it.
 */
async function checkBeginning({ network, database, from }: RereadOptions, node: Node): Promise<void> {
  const before = await database.blocks.rereadAnchor(network.key, from - 1);
  const [first] = await rangeFrom(node, from, from);
  if (!first || before?.number !== from - 1 || first.parent === before.hash) return;
  throw permanent(
    'node_inconsistent',
    `the node's block ${first.number} does not continue our block ${before.number} ${before.hash}. If the node's chain is right: ` +
      `\`quayside network reread ${network.key} --above ${from - 2} --reason …\``,
  );
}

/** Checks that the node has lost no block at the end of the range. The next block must be the child of the last one. */
async function checkEnd(
  node: Pick<Node, 'range'>,
  last: BlockRef | undefined,
  to: number,
  anchor: Pick<BlockRef, 'number'>,
): Promise<void> {
  if (anchor.number === to || !last) return;
  const [next] = await node.range(to + 1, to + 1);
  if (next?.parent === last.hash) return;
  throw transient(
    'node_block_missing',
    `the node's block ${next?.number} is not the child of its block ${last.number}`,
  );
}
