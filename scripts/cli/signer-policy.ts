/**
 * Adds a network to the policy of an existing signer, with the caps that the network's file suggests. What the policy
 * already has stays as it is.
 */
import { chains } from '../../src/chains/index.ts';
import { loadPolicy } from '../../src/signer/policy.ts';
import { addToPolicy, draftNetwork, findInPolicy, type PaidNetwork } from '../../src/signer/policy-draft.ts';
import { type Answer, notFound, type OfflineCommand, textOption, usage } from './command.ts';
import { dirOption, filesOf, withTerminal } from './signer.ts';
import { askTreasury, capLines, readPaidNetworks } from './signer-draft.ts';

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
    const given = textOption(input, 'treasury') ?? null;
    if (given !== null && chains[network.family].address.parse(given) === null) {
      throw usage(`--treasury is "${given}", expected an address of the family ${network.family}`);
    }
    if (findInPolicy(file, network, given)) {
      return {
        json: { policy: file, network: network.key, added: false },
        lines: [`${file} already has ${network.key}; nothing was changed. To change its caps, edit the file.`],
      };
    }
    const treasury =
      given ?? (await withTerminal((terminal) => askTreasury(network, earlierIn(file, network), terminal)));
    return add(file, network, treasury);
  },
};

/** Returns the treasury of another network of the family, in text form. */
function earlierIn(file: string, { family }: PaidNetwork): string | undefined {
  const other = loadPolicy(file).networks.findLast((one) => one.family === family);
  return other && chains[family].address.format(other.spend.treasury);
}

function add(file: string, network: PaidNetwork, treasury: string): Answer {
  const draft = draftNetwork(network, treasury);
  addToPolicy(file, network.key, draft);
  return {
    json: { policy: file, network: network.key, added: true, ...draft },
    lines: [
      `added ${network.key} to ${file}`,
      ...capLines(loadPolicy(file), network.key),
      'Review these values, edit the file if needed, then restart the signer, which reads its policy at the start.',
    ],
  };
}
