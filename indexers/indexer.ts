/**
 * One network's indexer: creates the parts, runs them, and closes them.
 */
import type { Chain, Node, NodeOptions } from '../src/chains/chain.ts';
import { derivedFamilies } from '../src/chains/index.ts';
import type { PayoutNode } from '../src/chains/spend.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import { Fault } from '../src/core/fault.ts';
import { freezeTexts } from '../src/core/reasons.ts';
import type { Database } from '../src/database/database.ts';
import { WALLETS_UNKNOWN as CODE } from '../src/database/payouts/holds.ts';
import type { Clock } from '../src/lib/clock.ts';
import type { Log } from '../src/lib/log.ts';
import type { PayingSigner } from '../src/signer/client.ts';
import { createFirstBlockAlarm } from './first-block.ts';
import { createAddressTable } from './follower/address-table.ts';
import { createWatch } from './follower/address-watch.ts';
import { createFallback, noFallback } from './follower/fallback.ts';
import { createFollower } from './follower/follower.ts';
import { createMatcher } from './follower/matcher.ts';
import { followerNodeOptions, REQUEST_TIMEOUT_MS } from './follower/node-options.ts';
import { createReporter } from './follower/reporter.ts';
import { awaitRetiredAddresses } from './follower/retired-addresses.ts';
import { createSecondNode } from './follower/second-node.ts';
import { createPayer } from './payouts/engine.ts';
import { createSecondOpinion, payoutNodeOptions } from './payouts/nodes.ts';
import { createSweepWatch } from './payouts/sweep-watch.ts';
import { createSweeper } from './payouts/sweeper.ts';

/** Short, because nothing else is read while the second node is asked. */
const SECOND_TIMEOUT_MS = 5_000;

export type IndexerOptions = Readonly<{
  network: NetworkConfig;
  database: Database;
  chain: Chain;
  /** The signer for payouts; null if this network only receives. */
  signer?: PayingSigner | null;
  clock: Clock;
  log: Log;
  pid: number;
  blocksPerIngestMax: number;
  /** Matcher threads; one less than there are cores if absent. */
  threadsMax?: number;
  /** Time to wait for the signer, if the database does not have its wallets; a minute if absent. */
  walletsMsMax?: number;
  /** A number from 0 to 1, for jitter. */
  random: () => number;
}>;

/**
 * Follows the network until the signal aborts. The database stays open.
 * @throws anything but operating faults, which are reported and waited out, or halt the network
 */
export async function indexNetwork(options: IndexerOptions, signal: AbortSignal): Promise<void> {
  const { network, database, chain, clock, log, pid } = options;
  const table = createAddressTable(chain.address.keyBytes);
  const own = new Set<string>();
  const watch = createWatch(database, network, table, own);
  const matcher = await createMatcher({ chain, tokens: network.tokens, table, own, threadsMax: options.threadsMax });
  const { openNode } = await chain.node();
  const node = openNode(followerNodeOptions(network));
  const before = await database.networks.find(network.key);
  const reporter = createReporter({ network: network.key, networks: database.networks, node, clock, log, pid, before });
  const { witnessUrl, fallbackUrl } = network;
  const openSecond = witnessUrl === undefined ? null : () => openNode(secondNodeOptions(network, witnessUrl));
  const secondNode = createSecondNode(network, openSecond, matcher, clock);
  const openFallback = (url: string) => () =>
    openNode({ ...secondNodeOptions(network, url), requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const fallback =
    fallbackUrl === undefined ? noFallback : createFallback({ network, open: openFallback(fallbackUrl), clock, log });
  const onFirst = createFirstBlockAlarm(options);
  const follower = createFollower({ ...options, node, matcher, watch, reporter, secondNode, fallback, onFirst });
  // At a stop, requests in flight fail at once, because their node is closed.
  const closeNode = () => void Promise.all([node.close(), secondNode.close(), fallback.close()]);
  signal.addEventListener('abort', closeNode, { once: true });
  // The work beside the follower ends with it, also after an error.
  const beside = new AbortController();
  await recordWallets(options, before !== null, signal);
  await database.addresses.retireAfterGap({ nowMs: clock.nowMs(), sinceMs: null, derivedFamilies });
  await awaitRetiredAddresses({ ...options, addresses: database.addresses }, signal);
  try {
    const following = follower.run(signal).finally(() => {
      reporter.stop();
      beside.abort();
    });
    await Promise.all([following, reporter.run(), pay(options, node, beside.signal)]);
  } finally {
    await Promise.all([node.close(), secondNode.close(), fallback.close(), matcher.close()]);
  }
}

/** Time for a person to unlock the signer, where unread blocks may have payments of ours. */
const WALLETS_MS_MAX = 60_000;
const WALLETS_RETRY_MS = 500;

/**
 * Asks the signer for its wallets if the database does not have them, because blocks are searched only for transfers
 * out of known wallets. Without an answer, money out is frozen, because the next blocks may have paid refunds.
 * @param wasFollowed whether the database has blocks of the network
 */
async function recordWallets(options: IndexerOptions, wasFollowed: boolean, signal: AbortSignal): Promise<void> {
  const { network, database, signer, clock, log, walletsMsMax = WALLETS_MS_MAX } = options;
  const { key } = network;
  if (!signer || (await database.wallets.listOwn(key)).length > 0) return;
  const untilMs = clock.nowMs() + (wasFollowed ? walletsMsMax : 0);
  for (;;) {
    try {
      return await database.wallets.recordOwn(key, await signer.wallets(key));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (clock.nowMs() < untilMs && !signal.aborted) {
        await clock.sleep(WALLETS_RETRY_MS, signal);
        continue;
      }
      log.info({ code: error.code, reason: error.message }, 'waiting for the signer to name our own wallets');
      if (wasFollowed && !signal.aborted) await freezeUnknown(options);
      return;
    }
  }
}

async function freezeUnknown({ network: { key }, database, clock }: IndexerOptions): Promise<void> {
  const nowMs = clock.nowMs();
  const reason = freezeTexts[CODE]();
  const act = { atMs: nowMs, operator: 'quayside', command: 'payout freeze', reason };
  await database.holds.freeze({ network: key, code: CODE, reason, frozenBy: 'quayside', sinceMs: nowMs }, act);
}

/** Makes the network's payouts and manages its sweeps, if there is a signer and the family supports payouts. */
async function pay(options: IndexerOptions, chainNode: Node, signal: AbortSignal): Promise<void> {
  const { network, database, chain, signer, clock, log } = options;
  const node = signer && (await openForPayouts(options));
  if (!node) return;
  // At a stop, requests in flight fail at once, because node and signer are closed.
  const close = () => void Promise.all([node.close(), signer.close()]);
  signal.addEventListener('abort', close, { once: true });
  try {
    const secondOpinion = createSecondOpinion(chain, network);
    const nodes = { node, chainNode };
    const parts = { network, rules: chain.spendRules, ...nodes, signer, secondOpinion, database, clock, log };
    const sweeper = createSweeper(parts);
    const watch = createSweepWatch({ network, sweeper, database, clock, log });
    await Promise.all([createPayer(parts).run(signal), watch.run(signal)]);
  } finally {
    await node.close();
  }
}

/**
 * Opens the nodes for payouts; null if the settings allow no payouts, which an alarm reports. Payments are still
 * followed.
 */
async function openForPayouts({ network, database, chain, clock, log }: IndexerOptions): Promise<PayoutNode | null> {
  const { openPayoutNode } = await chain.payouts();
  try {
    return openPayoutNode(payoutNodeOptions(network));
  } catch (error) {
    if (!(error instanceof Fault) || error.kind === 'transient') throw error;
    const { code, message } = error;
    log.error({ code }, message);
    const atMs = clock.nowMs();
    await database.engines.report(network.key, { code, message });
    await database.alarms.raise({ atMs, code, message, network: network.key, sessionId: null });
    return null;
  }
}

/** Returns the options of the second node, which has one URL and is never asked for final blocks. */
function secondNodeOptions({ rpcUrl: _firsts, ...network }: NetworkConfig, url: string): NodeOptions {
  return { ...followerNodeOptions({ ...network, url, finalityUrl: null }), requestTimeoutMs: SECOND_TIMEOUT_MS };
}
