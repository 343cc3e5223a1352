/**
 * Networks as people name them on the command line.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { notFound } from './command.ts';

/** Returns the network that is named by its key or, if only one mode has it, its name; null if none or several are. */
export function findNetwork(networks: readonly NetworkConfig[], text: string): NetworkConfig | null {
  const [network, another] = networks.filter(({ key, name }) => key === text || name === text);
  return network && !another ? network : null;
}

/**
 * Returns the network that `findNetwork` finds.
 * @throws Fault permanent `not_found`
 */
export function networkOf(networks: readonly NetworkConfig[], text: string): NetworkConfig {
  const network = findNetwork(networks, text);
  if (network) return network;
  const keys = networks.map(({ key }) => key).join(', ') || 'none';
  const why = networks.some(({ name }) => name === text) ? 'there are several networks' : 'there is no network';
  throw notFound(`${why} "${text}"; configured: ${keys}`);
}
