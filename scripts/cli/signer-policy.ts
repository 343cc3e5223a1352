/**
 * Drafts the policy of a signer: networks from the configuration or from presets, the caps in their files, and the
 * treasuries, which only a person can name. Entries of an existing policy stay as they are.
 */
import { resolve } from 'node:path';
import { configInvalid, type Problem } from '../../src/config/check.ts';
import { readLayers } from '../../src/config/layers.ts';
import { readNetworks } from '../../src/config/network.ts';
import { isFields } from '../../src/core/fields.ts';
import { type SignerFiles, signerFiles } from '../../src/signer/files.ts';
import { loadPolicy, type PolicySettings } from '../../src/signer/policy.ts';
import { addToPolicy, draftNetwork, type PaidNetwork } from '../../src/signer/policy-draft.ts';
import { findSettings } from '../nodes/network.ts';
import { type Input, notFound, type OfflineCommand, type Option, recordAnswer, textOption, usage } from './command.ts';

/** A network for payouts, and its name in the configuration. */
type NamedNetwork = PaidNetwork & Readonly<{ name: string }>;

export const dirOption: Option = {
  value: 'DIR',
  help: 'the signer’s folder (default: as configured, or data/signer)',
};

/** Returns the files in the folder that `--dir` or the configuration names. */
export function filesOf(input: Input): SignerFiles {
  const given = textOption(input, 'dir');
  if (given !== undefined) return signerFiles(resolve(input.cwd, given));
  const { tree } = readLayers(input.env, input.cwd);
  const configured = isFields(tree.signer) ? tree.signer.dir : undefined;
  return signerFiles(resolve(String(tree.data_dir), typeof configured === 'string' ? configured : 'signer'));
}

export const signerPolicy: OfflineCommand = {
  name: 'policy',
  args: '<network>',
  summary: 'Add a network to the signer’s policy, with the tokens and caps in its file.',
  options: {
    dir: dirOption,
    treasury: { value: 'ADDRESS', help: 'where sweeps on the network go', isRequired: true },
  },
  async runOffline(input) {
    const { policy: file } = filesOf(input);
    const [network] = readPaidNetworks(input, [String(input.args[0])]);
    if (!network) throw notFound(`there is no network ${input.args[0]}`);
    const { key } = network;
    if (loadPolicy(file).networks.some((one) => one.key === key)) {
      const known = 'The policy has the network already; nothing was changed. To change it, edit the file.';
      return recordAnswer({ policy: file, network: key, added: false }, [known]);
    }
    const draft = draftNetwork(network, textOption(input, 'treasury') ?? '');
    addToPolicy(file, key, draft);
    const next = 'Review its caps there, then restart the signer, which reads its policy at the start.';
    return recordAnswer({ policy: file, network: key, added: true, ...draft }, [next]);
  },
};

/**
 * Reads configured networks or presets. The node and the xpub may be missing.
 * @throws Fault permanent `config_invalid`, and `not_found` for a name that is neither
 */
export function readPaidNetworks(
  { env, cwd }: Pick<Input, 'env' | 'cwd'>,
  names: readonly string[],
): readonly NamedNetwork[] {
  const layers = readLayers(env, cwd);
  const wanted = names.map((name) => findSettings(layers, name));
  const problems: Problem[] = [];
  const networks = readNetworks(problems, Object.fromEntries(wanted), layers.presets, {}, true);
  const paid = networks.flatMap(({ path, config: { signer, ...network } }) => {
    if (signer) return { ...network, signer };
    problems.push({ path: `${path}.signer`, text: `missing, expected the caps to start with: ${CAPS}` });
    return [];
  });
  if (problems.length === 0) return paid;
  throw configInvalid(problems, layers.origins);
}

const CAPS =
  '{"fee_max": "…", "caps": {"transaction": "…", "hour": "…", "day": "…"}, "gas_caps": {"transaction": "…", "day": "…"}}';

/**
 * Drafts the policy.
 * @param given comma-separated `network=address` pairs; the network is a key, a name or a family
 * @throws Fault permanent `usage` unless they name the treasury of each network
 */
export function draftPolicy(networks: readonly NamedNetwork[], given: string): PolicySettings {
  const pairs = given.split(',').map((pair) => pair.split('='));
  const treasuries = new Map(pairs.map(([network = '', address = '']) => [network.trim(), address.trim()]));
  const drafted = networks.map((network) => {
    const { key, name, family } = network;
    const treasury = treasuries.get(key) ?? treasuries.get(name) ?? treasuries.get(family);
    if (!treasury) throw usage(`--treasury has no address for ${key}, expected network=address pairs with commas`);
    return [key, draftNetwork(network, treasury)] as const;
  });
  return { version: 1, approvers: [], networks: Object.fromEntries(drafted) };
}
