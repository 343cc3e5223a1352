/**
 * Proves that a node serves everything that an indexer asks for, with the indexers' own clients. Each finding that is
 * not ok says what to change.
 */
import { createFreshness } from '../../indexers/follower/freshness.ts';
import { createIdentityProof } from '../../indexers/follower/identity.ts';
import { followerNodeOptions } from '../../indexers/follower/node-options.ts';
import type { Exchange, Node, NodeOptions, Wire } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { BATCH_CALLS_MAX } from '../../src/chains/transport/rpc-client.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { usualDepthMax } from '../../src/core/credit-policy.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import { readOldest, readTwice } from './history.ts';
import type { NetworkRecipe } from './recipe.ts';
import { releaseFindings } from './release-findings.ts';
import { readSoftware, type Software, takesTransactions } from './software.ts';

/** A newest block that is older than this, and than this many block times, is old. */
const HEAD_AGE_MS_MAX = 60_000;
const HEAD_AGE_BLOCKS = 20;
const REQUEST_TIMEOUT_MS = 10_000;
/** So many of the newest blocks are read twice. */
const RECENT_BLOCKS = 3;
/** A subscription is granted within this time, or not at all. */
const SUBSCRIBED_MS_MAX = 5_000;
const LOOK_MS = 50;
/** Faults that a reorg between two requests causes: the check is made once more. */
const REPLACED: readonly string[] = ['node_block_unknown', 'node_range_broken', 'node_inconsistent'];
const SEE_DOCS = 'docs/networks.md says what a node must serve';

export type CheckOptions = Readonly<{
  network: NetworkConfig;
  /** Knowledge about nodes of this network; null if there is none. */
  recipe: NetworkRecipe | null;
  /** Returns the number of the oldest block that must still be served. */
  oldestOf(head: BlockRef): number;
  /** How long a new block is waited for on the push connection; 0: a granted subscription is enough. */
  headWaitMs: number;
  clock: Clock;
}>;

type Bench = CheckOptions &
  Readonly<{
    node: Node;
    wire: Wire;
    /** Aborts when nothing more is waited for. */
    ended: AbortSignal;
    /** Traffic since the last call. */
    takeExchanges(): readonly Exchange[];
  }>;

/** Checks one node, at `network.url`. @throws Fault permanent if the URL is none */
export async function checkNode(options: CheckOptions): Promise<Finding[]> {
  const { network, clock } = options;
  const chain = chains[network.family];
  const [{ openNode }, wire] = await Promise.all([chain.node(), chain.wire()]);
  let exchanges: Exchange[] = [];
  const nodeOptions = { ...followerNodeOptions(network), requestTimeoutMs: REQUEST_TIMEOUT_MS };
  const node = openNode({ ...nodeOptions, observe: (one) => exchanges.push(one) });
  const takeExchanges = () => {
    const taken = exchanges;
    exchanges = [];
    return taken;
  };
  const ending = new AbortController();
  const bench: Bench = { ...options, node, wire, ended: ending.signal, takeExchanges };
  const found: Finding[] = [];
  /** Adds what a check finds. @returns whether nothing is wrong */
  const ask = async (area: string, work: () => Promise<readonly Finding[]>): Promise<boolean> => {
    const more = await attempt(area, work);
    found.push(...more);
    return more.every(({ severity }) => severity !== 'error');
  };
  const pushed = pushFinding(bench);
  try {
    if (!(await ask('identity', () => identityFindings(bench)))) return found;
    await ask('version', async () => {
      return softwareFindings(bench, await readSoftware(network.family, nodeOptions, clock));
    });
    if (network.family === 'evm') await ask('broadcast', () => broadcastFindings(nodeOptions, clock));
    if (!(await ask('head', () => headFindings(bench)))) return found;
    await ask('transfers', () => transferFindings(bench));
    await ask('history', () => historyFindings(bench));
    await ask('final', () => finalityFindings(bench));
    await ask('batches', () => batchFindings(bench));
    found.push(await pushed);
    return found;
  } finally {
    ending.abort();
    await node.close();
  }
}

async function attempt(
  area: string,
  work: () => Promise<readonly Finding[]>,
  isAgain = false,
): Promise<readonly Finding[]> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!isAgain && REPLACED.includes(error.code)) return attempt(area, work, true);
    return [failure(area, error.message, SEE_DOCS)];
  }
}

/** Proves what the follower proves at its start: chain id, tokens and their decimals; and the chain's first block. */
async function identityFindings({ network, recipe, node, clock }: Bench): Promise<Finding[]> {
  await createIdentityProof(network, node, clock).renew(0);
  const proven = ok(
    'identity',
    `of chain ${network.chainId}, with ${network.tokens.map(({ symbol }) => symbol).join(' and ')}`,
  );
  const genesis = recipe?.genesis;
  if (genesis === undefined) return [proven];
  try {
    const [first] = await node.range(0, 0);
    if (first?.hash === genesis) return [proven, ok('genesis', 'the first block is the right one')];
    return [
      failure('genesis', `the first block is ${first?.hash}, expected ${genesis}`, 'use a node of the right chain'),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [proven, ok('genesis', 'the node no longer has the first block; chain id and tokens have to do')];
  }
}

function softwareFindings({ recipe, clock }: Bench, software: Software): Finding[] {
  const { peers } = software;
  return [
    ...releaseFindings(software, recipe?.releases ?? [], clock.nowMs()),
    ...(peers === 0
      ? [
          warning(
            'peers',
            'the node has no peers',
            'look at its clock, at its version, and whether its peer-to-peer port is open',
          ),
        ]
      : peers === null
        ? []
        : [ok('peers', peers === 1 ? 'one peer' : `${peers} peers`)]),
  ];
}

async function broadcastFindings(nodeOptions: NodeOptions, clock: Clock): Promise<Finding[]> {
  if (await takesTransactions(nodeOptions, clock)) return [];
  const text = 'the node takes no transactions: refunds and sweeps need eth_sendRawTransaction';
  return [warning('broadcast', text, 'serve the eth namespace whole')];
}

async function headFindings({ node, network, clock }: Bench): Promise<Finding[]> {
  const head = await node.head();
  const staleMs = Math.max(HEAD_AGE_MS_MAX, HEAD_AGE_BLOCKS * network.blockTimeMs);
  const { whyStale } = await createFreshness(node, staleMs)(head, clock.nowMs());
  const aheadS = head.timeS - Math.floor(clock.nowMs() / 1000);
  if (whyStale) return [failure('head', whyStale, 'wait until it has caught up, or look at its log')];
  const at = ok('head', `at block ${head.number}, ${Math.max(0, -aheadS)} s old`);
  if (aheadS * 1000 <= HEAD_AGE_MS_MAX) return [at];
  const text = `has a block that is ${aheadS} s in the future`;
  return [warning('clock', text, 'look at the clocks of this machine and of the node')];
}

/** The newest blocks' transfers, as an indexer asks for them and in whole. */
async function transferFindings(bench: Bench): Promise<Finding[]> {
  const { node, takeExchanges } = bench;
  const head = await node.head();
  takeExchanges();
  const blocks = await node.range(Math.max(0, head.number - RECENT_BLOCKS + 1), head.number);
  const counts = [];
  for (const block of blocks) counts.push(await readTwice(reader(bench), block));
  const bytesMax = Math.max(0, ...takeExchanges().map(({ answer }) => answer?.byteLength ?? 0));
  const sum = counts.reduce((all, count) => all + count, 0);
  return [
    ok(
      'transfers',
      `serves transfers: ${sum} in the newest ${blocks.length} blocks, the same in both readings, up to ${bytesMax} bytes an answer`,
    ),
  ];
}

const reader = ({ node, wire, network: { tokens } }: Bench) => ({ node, wire, tokens });

/** Blocks that must be read after an outage, and those that a reorg may replace, must still be there. */
async function historyFindings(bench: Bench): Promise<Finding[]> {
  const { node, recipe, oldestOf } = bench;
  const head = await node.head();
  const wanted = oldestOf(head);
  const oldest = await readOldest(reader(bench), wanted);
  if (!(oldest instanceof Fault)) {
    const hours = ((head.timeS - oldest.timeS) / 3600).toFixed(1);
    return [ok('history', `has history back to block ${oldest.number}, ${hours} h ago`)];
  }
  const advice = recipe?.history_advice ?? 'give it more history';
  const text = `does not serve block ${wanted}, which is needed after a long outage: ${oldest.message}`;
  return [failure('history', text, `${advice}; or set fallback_url to a node that has it`)];
}

async function finalityFindings({ node, network }: Bench): Promise<Finding[]> {
  const final = await node.finalized();
  const asks = network.confirmations.some(({ finality }) => finality !== undefined);
  if (!final) {
    const { number } = await node.head();
    const usual = usualDepthMax(network.confirmations);
    if (number < usual) return [ok('final', `no final block yet: the chain has ${number}, and needs about ${usual}`)];
    return [
      asks
        ? failure(
            'final',
            'shows no final block, and the settings wait for one',
            'look at its consensus client, or at solid_url',
          )
        : ok('final', 'without finality'),
    ];
  }
  const nobody = '0'.repeat(chains[network.family].address.keyBytes * 2);
  try {
    await node.holdings([nobody], final);
    return [ok('final', `final up to ${final.number}, with balances`)];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // A contract that was made after that block answers nothing in its state.
    const isYoung =
      error.code === 'node_nonsense' && (await attempt('final', () => balancesAtHead(node, nobody))).length === 0;
    if (isYoung) return [ok('final', `final up to ${final.number}, where not every token is yet`)];
    const text = `final up to ${final.number}, but without balances in that state: ${error.message}`;
    return [warning('final', text, 'sweeps and the comparison of wallets with the ledger need them')];
  }
}

async function balancesAtHead(node: Node, key: string): Promise<readonly Finding[]> {
  await node.holdings([key], await node.head());
  return [];
}

/** Catching up sends calls in batches, where the family has any. */
async function batchFindings({ node, takeExchanges }: Bench): Promise<Finding[]> {
  const head = await node.head();
  takeExchanges();
  const blocks = await node.range(Math.max(0, head.number - BATCH_CALLS_MAX + 1), head.number);
  const batches = takeExchanges().filter(({ request }) => request.startsWith('['));
  if (batches.length === 0) return [ok('batches', 'this kind of node is asked without batches')];
  if (batches.length === 1) return [ok('batches', `takes ${blocks.length} calls in one batch`)];
  const text = `refuses a batch of ${blocks.length} calls: catching up takes ${batches.length} times as many requests`;
  return [warning('batches', text, 'raise its limit (geth: --rpc.batch-request-limit, --rpc.batch-response-max-size)')];
}

/** Waits for the subscription and, after it, for a new block. Must be called before anything else is asked. */
async function pushFinding({ node, network, headWaitMs, clock, ended }: Bench): Promise<Finding> {
  if (/^https?:/.test(network.url)) {
    return ok('push', `polled every ${network.pollMs} ms; a ws:// address would announce blocks at once`);
  }
  let wakeups = 0;
  node.onChange(() => {
    wakeups += 1;
  });
  const until = async (isDone: () => boolean, msMax: number): Promise<boolean> => {
    const endMs = clock.nowMs() + msMax;
    while (!isDone() && !ended.aborted && clock.nowMs() < endMs) await clock.sleep(LOOK_MS, ended);
    return isDone();
  };
  if (!(await until(() => node.health().connected, SUBSCRIBED_MS_MAX))) {
    const text = 'grants no subscription to new blocks: they are only polled';
    return warning('push', text, 'serve eth over the WebSocket (--ws.api eth,net,web3)');
  }
  if (headWaitMs === 0) return ok('push', 'announces new blocks');
  const before = wakeups;
  if (await until(() => wakeups > before, headWaitMs)) return ok('push', 'announced a new block');
  const text = `announced no block within ${Math.round(headWaitMs / 1000)} s`;
  return warning('push', text, 'look at the node’s log, and at proxies that hold WebSocket messages back');
}
