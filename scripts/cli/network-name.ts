/** Networks as people name them on the command line. */
import type { NetworkConfig } from '../../src/config/network.ts';
import { notFound } from './command.ts';

/**
 * Returns the network that is named by its key or, if only one mode has it, by its name.
 * @throws Fault permanent `not_found` if none or several are
 */
export function networkOf(networks: readonly NetworkConfig[], text: string): NetworkConfig {
  const [network, another] = networks.filter(({ key, name }) => key === text || name === text);
  if (network && !another) return network;
  const keys = networks.map(({ key }) => key).join(', ') || 'none';
  throw notFound(`there ${network ? 'are several networks' : 'is no network'} "${text}"; configured: ${keys}`);
}
