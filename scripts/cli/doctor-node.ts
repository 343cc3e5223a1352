/**
 * What `doctor` asks each node: whether it is of the right chain, keeps up, and serves what an indexer asks for.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { checkNode } from '../nodes/check.ts';
import { ownAddresses } from '../nodes/exposure.ts';
import { type Finding, ok } from '../nodes/finding.ts';
import { readRecipes, recipeOf } from '../nodes/recipe.ts';
import type { Place } from './show-network.ts';

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
  return (await Promise.all(roles.map((role) => examineNode(role, place, clock)))).flat();
}

/** One line if nothing is wrong. History is asked for as far as the indexer has yet to read, or a reorg may reach. */
async function examineNode({ name, network }: Role, { report }: Place, clock: Clock): Promise<Finding[]> {
  const found = await checkNode({
    network,
    recipe: recipeOf(readRecipes(), network),
    oldestOf: (head) =>
      Math.max(0, Math.min(head.number, report?.cursor?.number ?? head.number) - network.reorgDepthMax),
    headWaitMs: 0,
    addresses: ownAddresses(),
    clock,
  });
  const wrong = found.filter(({ severity }) => severity !== 'ok');
  if (wrong.length === 0) return [ok('node', `${network.key}: ${name} is ${found.map(({ text }) => text).join(', ')}`)];
  return wrong.map((one) => ({
    ...one,
    area: one.area === 'clock' ? one.area : 'node',
    text: `${network.key}: ${name}: ${one.text}`,
    ...(one.severity === 'error' && { next: `${one.next}; \`quayside show ${network.key}\` has its state` }),
  }));
}
