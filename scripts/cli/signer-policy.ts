/**
 * Drafts the policy of a signer: networks from the configuration or from presets, the caps in their files, and the
 * treasuries, which only a person can name. What an existing policy has stays as it is.
 */
import { resolve } from 'node:path';
import { chains } from '../../src/chains/index.ts';
import { configInvalid, type Problem } from '../../src/config/check.ts';
import { readLayers } from '../../src/config/layers.ts';
import { readPaidNetwork } from '../../src/config/network.ts';
import type { Fault } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';
import { formatUnits } from '../../src/core/money.ts';
import type { Currency, NetworkKey } from '../../src/core/transfer.ts';
import { type SignerFiles, signerFiles } from '../../src/signer/files.ts';
import { loadPolicy, type Policy, type PolicySettings } from '../../src/signer/policy.ts';
import { addToPolicy, draftNetwork, type PaidNetwork } from '../../src/signer/policy-draft.ts';
import type { Terminal } from '../../src/signer/terminal.ts';
import { type Input, notFound, type OfflineCommand, type Option, textOption, usage } from './command.ts';
import { withTerminal } from './terminal.ts';

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
  args: ['network'],
  summary: 'Add a network to the signer’s policy, with the tokens and caps in its file.',
  options: {
    dir: dirOption,
    treasury: { value: 'ADDRESS', help: 'where sweeps on the network go; if left out, you are asked' },
  },
  async runOffline(input) {
    const { policy: file } = filesOf(input);
    const [network] = readPaidNetworks(input, [String(input.args[0])], notFound);
    if (!network) throw notFound(`there is no network ${input.args[0]}`);
    const { key, family } = network;
    const { address } = chains[family];
    const given = textOption(input, 'treasury') ?? null;
    if (given !== null && address.parse(given) === null)
      throw usage(`--treasury is "${given}", expected an address of the family ${family}`);
    if (loadPolicy(file).networks.some((one) => one.key === key)) {
      return {
        json: { policy: file, network: key, added: false },
        lines: [`${file} already has ${key}; nothing was changed. To change it, edit the file.`],
      };
    }
    const other = loadPolicy(file).networks.findLast((one) => one.family === family);
    const earlier = other && address.format(other.spend.treasury);
    const treasury = given ?? (await withTerminal((terminal) => askTreasury(network, earlier, terminal)));
    const draft = draftNetwork(network, treasury);
    addToPolicy(file, key, draft);
    return {
      json: { policy: file, network: key, added: true, ...draft },
      lines: [
        `added ${key} to ${file}`,
        ...capLines(loadPolicy(file), key),
        'Review these values, edit the file if needed, then restart the signer, which reads its policy at the start.',
      ],
    };
  },
};

/**
 * Reads configured networks or presets. Settings that are not needed here (a node, an xpub) may be missing.
 * @param names undefined for all configured networks
 * @param refuse returns the error for a name that is neither
 * @throws Fault permanent `config_invalid`, and what `refuse` makes
 */
export function readPaidNetworks(
  { env, cwd }: Pick<Input, 'env' | 'cwd'>,
  names: readonly string[] | undefined,
  refuse: (message: string) => Fault,
): readonly NamedNetwork[] {
  const { tree, origins, presets, preset, problems: unread } = readLayers(env, cwd);
  const configured = isFields(tree.networks) ? tree.networks : {};
  const problems: Problem[] = unread.map((text) => ({ path: '', text }));
  const networks = (names ?? Object.keys(configured)).map((name) => {
    const own = configured[name];
    if (!isFields(own) && !presets.includes(name)) {
      throw refuse(`"${name}" is neither a configured network nor a preset (${presets.join(', ')})`);
    }
    return readPaidNetwork(problems, name, isFields(own) ? own : preset(name));
  });
  if (problems.length === 0) return networks.filter((network) => network !== null);
  throw configInvalid(problems, origins);
}

/**
 * Drafts the policy; asks for each treasury that `given` does not name.
 * @param given comma-separated `network=address` pairs; the network is a key, a name or a family
 * @throws Fault permanent `usage`
 */
export async function draftPolicy(
  networks: readonly NamedNetwork[],
  given: string | undefined,
  terminal: Pick<Terminal, 'ask' | 'say'>,
): Promise<PolicySettings> {
  const pairs = given === undefined ? [] : given.split(',').map((pair) => pair.split('='));
  if (pairs.some((pair) => pair.length !== 2 || pair.includes('')))
    throw usage('--treasury expects comma-separated network=address pairs');
  const treasuries = new Map(pairs.map(([network = '', address = '']) => [network.trim(), address.trim()]));
  const drafted: PolicySettings['networks'] = {};
  for (const network of networks) {
    const { key, name, family } = network;
    const earlier = Object.values(drafted).findLast((one) => one.family === family)?.treasury;
    const named = treasuries.get(key) ?? treasuries.get(name) ?? treasuries.get(family);
    drafted[key] = draftNetwork(network, named ?? (await askTreasury(network, earlier, terminal)));
  }
  return { version: 1, approvers: [], networks: drafted };
}

/** Shows what a policy allows on a network, with the defaults that apply. */
export function capLines({ networks }: Policy, key: NetworkKey): readonly string[] {
  const network = networks.find((one) => one.key === key);
  if (!network) return [];
  const { family, spend, caps, gasCaps, feeCaps, countCaps } = network;
  const { address, spendRules } = chains[family];
  const native = (units: bigint) => formatUnits(units, spendRules.nativeDecimals);
  const refunds = spend.tokens.flatMap(({ symbol, decimals }) => {
    const cap = caps[symbol as Currency];
    if (!cap) return [];
    const [transaction, hour, day] = [cap.transactionUnits, cap.hourUnits, cap.dayUnits].map((units) =>
      formatUnits(units, decimals),
    );
    return [`  refunds in ${symbol}: at most ${transaction} per transaction, ${hour} per hour, ${day} per day`];
  });
  return [
    `  treasury: ${address.format(spend.treasury)}`,
    ...refunds,
    `  gas: at most ${native(gasCaps.transactionUnits)} per transaction, ${native(gasCaps.dayUnits)} per day`,
    `  fees: at most ${native(spend.feeUnitsMax)} per transaction, ${native(feeCaps.hourUnits)} per hour, ${native(feeCaps.dayUnits)} per day`,
    `  signatures: at most ${countCaps.hour} per hour, ${countCaps.day} per day`,
  ];
}

/** Asks until the answer is a valid address. @param earlier the default */
async function askTreasury(
  { key, family }: PaidNetwork,
  earlier: string | undefined,
  terminal: Pick<Terminal, 'ask' | 'say'>,
): Promise<string> {
  for (;;) {
    const answer = await terminal.ask(`Treasury on ${key}, where sweeps go${earlier ? ` (${earlier})` : ''}: `);
    const address = answer || earlier;
    if (address && chains[family].address.parse(address) !== null) return address;
    terminal.say(`That is not an address of the family ${family}. Use a wallet whose key is not on this machine.`);
  }
}
