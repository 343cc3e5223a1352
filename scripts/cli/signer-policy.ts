/**
 * A first policy for a new signer: the networks of the configuration or of presets, shipped caps, and a treasury that only a person can name.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { isTree, type Tree } from '../../src/config/layers.ts';
import { currencies } from '../../src/core/transfer.ts';
import { installationFolder, readShipped } from '../../src/lib/installation.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import type { Terminal } from '../../src/signer/terminal.ts';
import { usage } from './command.ts';

/** Shipped caps and fee limits. */
const defaults = readShipped<typeof import('../../config/signer.json')>('config/signer.json');

const networkSchema = z.object({
  name: z.string(),
  family: z.enum(Object.keys(chains) as [Family, ...Family[]]),
  mode: z.enum(['live', 'test']),
  chain_id: z.coerce.string(),
  tokens: z.array(z.object({ symbol: z.enum(currencies), address: z.string(), decimals: z.int() })),
});

/** A network that is to be paid on: what a preset and the operator's file say of it. */
export type PaidNetwork = z.infer<typeof networkSchema> & Readonly<{ key: string }>;

/**
 * The networks that `names` lists, or all that are configured. What a configuration still lacks (a node, an xpub) does not matter here.
 * @param names presets of config/networks or names in the configuration, with commas
 * @throws Fault permanent `usage`
 */
export function readNetworks(configured: Tree, names: string | undefined): PaidNetwork[] {
  const wanted = names === undefined ? Object.keys(configured) : names.split(',').map((name) => name.trim());
  if (wanted.length === 0) throw usage('no network is configured: name presets with --networks');
  return wanted.map((name) => {
    const entry = configured[name] ?? readPreset(name);
    const { data, error } = networkSchema.safeParse(isTree(entry) ? { name, ...entry } : entry);
    if (data) return { ...data, key: `${data.mode}:${data.name}` };
    throw usage(`the network "${name}" cannot be used: ${z.prettifyError(error)}`);
  });
}

function readPreset(name: string): unknown {
  const file = join(installationFolder, 'config/networks', `${name}.json`);
  if (/^[a-z0-9-]+$/.test(name) && existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  throw usage(`"${name}" is neither a preset of config/networks nor in the configuration`);
}

/**
 * Puts the policy together; asks for each treasury that `given` does not name.
 * @param given `network=address` pairs with commas; the network's key, name or family
 * @throws Fault permanent `usage`
 */
export async function draftPolicy(
  networks: readonly PaidNetwork[],
  given: string | undefined,
  terminal: Pick<Terminal, 'ask' | 'say'>,
): Promise<PolicySettings> {
  const treasuries = readTreasuries(given);
  const drafted: PolicySettings['networks'] = {};
  for (const network of networks) {
    const { key, name, family, chain_id, tokens } = network;
    const treasury =
      treasuries.get(key) ??
      treasuries.get(name) ??
      treasuries.get(family) ??
      (await askTreasury(network, drafted, terminal));
    const { fee_max, gas_caps } = defaults.families[family];
    const caps = Object.fromEntries(tokens.map(({ symbol }) => [symbol, defaults.caps]));
    drafted[key as keyof typeof drafted] = { family, chain_id, tokens, treasury, fee_max, caps, gas_caps };
  }
  return { version: 1, approvers: [], networks: drafted };
}

function readTreasuries(given: string | undefined): ReadonlyMap<string, string> {
  const pairs = given === undefined ? [] : given.split(',').map((pair) => pair.split('='));
  for (const [network, address, ...rest] of pairs) {
    if (!network || !address || rest.length > 0) throw usage('--treasury expects network=address pairs with commas');
  }
  return new Map(pairs.map(([network = '', address = '']) => [network.trim(), address.trim()]));
}

/** Asks until an address is well-formed; nothing typed takes that of an earlier network of the family. */
async function askTreasury(
  { key, family }: PaidNetwork,
  drafted: PolicySettings['networks'],
  terminal: Pick<Terminal, 'ask' | 'say'>,
): Promise<string> {
  const earlier = Object.values(drafted).findLast((one) => one.family === family)?.treasury;
  for (;;) {
    const answer = await terminal.ask(`Treasury on ${key}, where sweeps go${earlier ? ` (${earlier})` : ''}: `);
    const address = answer || earlier;
    if (address && chains[family].address.parse(address) !== null) return address;
    terminal.say(`That is no address of the family ${family}. Take one of a wallet whose key is not here.`);
  }
}
