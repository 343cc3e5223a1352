/**
 * A shipped network, read as the programs read it, with nobody behind its URL.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chains } from '../../src/chains/index.ts';
import type { SpendNetwork } from '../../src/chains/spend.ts';
import { type NetworkConfig, readNetworks } from '../../src/config/network.ts';
import { installationFolder } from '../../src/lib/installation.ts';

const fileOf = (name: string): string => join(installationFolder, `config/networks/${name}.json`);

/** Returns the network of `config/networks/<name>.json`. */
export function preset(name: string): NetworkConfig {
  const settings = JSON.parse(readFileSync(fileOf(name), 'utf8'));
  const { checkXpub } = chains[settings.family as keyof typeof chains].address;
  const entry = { ...settings, url: 'ws://127.0.0.1:1', ...(checkXpub && { xpub: 'nobody’s' }) };
  const [network] = readNetworks([], { [name]: entry }, [name], {});
  if (!network) throw new Error(`${fileOf(name)} is not a network`);
  return network.config;
}

/** Returns what the signer knows of a shipped network. */
export function spendOn(name: string, treasury: string, feeUnitsMax: bigint): SpendNetwork {
  const { chainId, tokens } = preset(name);
  return { chainId, tokens, treasury, feeUnitsMax };
}

const shown = ['title', 'feeHint', 'mark', 'tokenMarks'] as const;

/** Returns what payers see of a network of this name: the shipped network's settings, or the defaults. */
export function pageSettings(
  name: string,
): Pick<NetworkConfig, 'title'> & Partial<Pick<NetworkConfig, (typeof shown)[number]>> {
  if (!existsSync(fileOf(name))) return { title: name };
  const config = preset(name);
  const chosen = Object.fromEntries(shown.flatMap((key) => (key in config ? [[key, config[key]]] : [])));
  return { title: config.title, ...chosen };
}
