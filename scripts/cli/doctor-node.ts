/**
 * What `doctor` asks each node: whether it is of the right chain, keeps up, and serves what an indexer asks for.
 * @module
 */
import { createFreshness } from '../../indexers/follower/freshness.ts';
import { createIdentityProof } from '../../indexers/follower/identity.ts';
import { followerNodeOptions } from '../../indexers/indexer.ts';
import type { Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type Finding, failure, ok, warning } from './doctor-finding.ts';
import type { Place } from './explain-places.ts';

/** A newest block that is older than this, and than this many block times, is old. */
const HEAD_AGE_MS_MAX = 60_000;
const HEAD_AGE_BLOCKS = 20;
const REQUEST_TIMEOUT_MS = 10_000;

type Role = Readonly<{ name: string; network: NetworkConfig }>;

/** Checks the node of a network, its second node and its fallback. */
export async function nodeFindings(place: Place, clock: Clock): Promise<Finding[]> {
  const { finalityUrl: _, rpcUrl: __, ...rest } = place.network;
  const { witnessUrl, fallbackUrl } = rest;
  const roles: Role[] = [
    { name: 'its node', network: place.network },
    ...(witnessUrl ? [{ name: 'its second node (witness_url)', network: { ...rest, url: witnessUrl } }] : []),
    ...(fallbackUrl ? [{ name: 'its fallback (fallback_url)', network: { ...rest, url: fallbackUrl } }] : []),
  ];
  return (await Promise.all(roles.map((role) => checkNode(role, place, clock)))).flat();
}

async function checkNode({ name, network }: Role, place: Place, clock: Clock): Promise<Finding[]> {
  const { openNode } = await chains[network.family].node();
  const node = openNode({ ...followerNodeOptions(network), requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const found: Finding[] = [];
  const ask = async (work: () => Promise<Finding | null>): Promise<boolean> => {
    try {
      const one = await work();
      if (one) found.push(one);
      return one?.severity !== 'error';
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      found.push(
        failure(
          'node',
          `${network.key}: ${name}: ${error.message}`,
          `\`quayside networks show ${network.key}\`; docs/nodes.md says what a node must serve`,
        ),
      );
      return false;
    }
  };
  try {
    // What the follower proves at its start: chain id, tokens and their decimals.
    const isRight = await ask(async () => {
      await createIdentityProof(network, node, clock).renew(0, null);
      return null;
    });
    if (!isRight || !(await ask(() => headFinding(node, network, name, clock)))) return found;
    await ask(() => contentFinding(node));
    await ask(() => historyFinding(node, network, name, place));
    await ask(() => finalityFinding(node, network, name));
    const wrong = found.filter(({ severity }) => severity !== 'ok');
    const texts = found.map(({ text }) => text).join(', ');
    return wrong.length > 0 ? wrong : [ok('node', `${network.key}: ${name} is of chain ${network.chainId}, ${texts}`)];
  } finally {
    await node.close();
  }
}

async function headFinding(node: Node, network: NetworkConfig, name: string, clock: Clock): Promise<Finding> {
  const head = await node.head();
  const staleMs = Math.max(HEAD_AGE_MS_MAX, HEAD_AGE_BLOCKS * network.blockTimeMs);
  const { whyStale } = await createFreshness(node, staleMs)(head, clock.nowMs());
  const aheadS = head.timeS - Math.floor(clock.nowMs() / 1000);
  if (whyStale)
    return failure('node', `${network.key}: ${name}: ${whyStale}`, 'wait until it has caught up, or look at its log');
  return aheadS * 1000 > HEAD_AGE_MS_MAX
    ? warning(
        'clock',
        `${network.key}: ${name} has a block that is ${aheadS} s in the future`,
        'look at the clocks of this machine and of the node',
      )
    : ok('node', `at block ${head.number}, ${Math.max(0, -aheadS)} s old`);
}

/** The newest block's transfers, as the indexer asks for them. */
async function contentFinding(node: Node): Promise<Finding> {
  const head = await node.head();
  const content = await node.content(head, false);
  return ok('node', `serves transfers (${content.bytes.length} bytes)`);
}

/** What must be read next, and what a reorg may replace, must still be there. */
async function historyFinding(node: Node, network: NetworkConfig, name: string, { report }: Place): Promise<Finding> {
  const head = await node.head();
  const oldest = Math.max(0, Math.min(head.number, report?.cursor?.number ?? head.number) - network.reorgDepthMax);
  const [first] = await node.range(oldest, oldest);
  if (first) return ok('node', `has history back to block ${first.number}`);
  return failure(
    'node',
    `${network.key}: ${name} has no block ${oldest}`,
    'give it more history, or set fallback_url to a node that has it',
  );
}

async function finalityFinding(node: Node, network: NetworkConfig, name: string): Promise<Finding> {
  const final = await node.finalized();
  if (final) return ok('node', `final up to ${final.number}`);
  const asks = network.confirmations.some(({ finality }) => finality !== undefined);
  return asks
    ? failure(
        'node',
        `${network.key}: ${name} shows no final block, and the settings wait for one`,
        'look at its consensus client, or at solid_url',
      )
    : ok('node', 'without finality');
}
