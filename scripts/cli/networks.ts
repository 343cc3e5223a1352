/** Networks and their transactions as people name them; gets a network that has stopped going again. */
import { faultOf, isRefusal } from '../../src/acts/act.ts';
import { networkNamed } from '../../src/acts/networks.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type Fault, permanent } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { REWOUND_TRANSFERS_MAX, type Rewound } from '../../src/database/recovery.ts';
import {
  type Answer,
  type Command,
  type Input,
  type Installation,
  reasonOption,
  recordAnswer,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { nodeUrl } from './nodes.ts';
import { progressBar } from './output.ts';

/**
 * Returns the network that is named by its key or, if only one mode has it, by its name.
 * @throws Fault permanent `not_found` if none or several are
 */
export function networkOf(networks: readonly NetworkConfig[], text: string): NetworkConfig {
  const named = networkNamed(networks, text);
  if (isRefusal(named)) throw faultOf(named);
  return named;
}

/** Returns the transactions that an option names, with commas between. @throws Fault permanent `usage` */
export function transactionsOf(input: Input, option: string, { key, family }: NetworkConfig): string[] {
  const words = (textOption(input, option) ?? '').split(',').filter(Boolean);
  return words.map((word) => {
    const tx = chains[family].transactionId(word.trim());
    if (tx === null) throw usage(`--${option} has "${word}", which is no transaction id of ${key}`);
    return tx;
  });
}

const NUMBER_MAX = 999_999_999_999_999;

/** Takes blocks out of our chain, which are then read again. */
async function readAgainAbove(
  input: Input,
  { database }: Installation,
  { key: network }: NetworkConfig,
  above: number,
): Promise<Answer> {
  const isDryRun = input.options.dryRun === true;
  const outcome = await database.networks.rewind({ network, to: above, isDryRun, act: withReason(input) });
  if (outcome.kind !== 'done') throw refusalOf(network, outcome);
  const { kind: _, ...taken } = outcome;
  return recordAnswer({ network, above, dry_run: isDryRun, ...taken });
}

type Refused =
  | Exclude<Awaited<ReturnType<Database['networks']['rewind']>>, Rewound>
  | Exclude<Awaited<ReturnType<Database['networks']['skip']>>, { kind: 'done' }>;

const refusalOf = (key: string, outcome: Refused): Fault => permanent('refused', whyRefused(key, outcome));

/** Says why blocks are not taken back or skipped. */
function whyRefused(key: string, outcome: Refused): string {
  switch (outcome.kind) {
    case 'never_read':
      return `${key} has not been read yet; \`quayside show ${key}\` says why`;
    case 'not_above':
      return `block ${outcome.tip} is the newest of ${key} that was read; nothing is above --above`;
    case 'too_many':
      return `${outcome.transfers} transfers are above that block of ${key}, more than the ${REWOUND_TRANSFERS_MAX} that are taken back at once; name a higher block first, and then this one again`;
    case 'read_already':
      return `that block of ${key} was read already: the next one is ${outcome.tip + 1}`;
    case 'not_made_yet':
      return `the node of ${key} shows no block above ${outcome.head ?? 'none'}`;
  }
}

/** Goes on without blocks that no node can serve. */
async function skipBlocks(
  input: Input,
  { database }: Installation,
  { key: network }: NetworkConfig,
  { from, to }: Readonly<{ from: number; to: number }>,
): Promise<Answer> {
  const isDryRun = input.options.dryRun === true;
  const outcome = await database.networks.skip({ network, from, to, isDryRun, act: withReason(input) });
  if (outcome.kind !== 'done') throw refusalOf(network, outcome);
  const { holdsPayouts } = outcome.gap;
  return recordAnswer({ network, from, to, dry_run: isDryRun, freezes_money_out: holdsPayouts }, [
    `When a node has the blocks: \`quayside network reread ${network} --from ${from} --to ${to}\``,
    ...(holdsPayouts
      ? [
          `Until then refunds may have been paid in them. If no node ever has them: \`quayside payout reconcile ${network} --reason …\``,
        ]
      : []),
  ]);
}

export const networksReread: Command = {
  name: 'network reread',
  args: '<network>',
  summary: 'Read blocks again, and add the transfers that were missed.',
  options: {
    from: { value: 'BLOCK', help: 'the first block' },
    to: { value: 'BLOCK', help: 'the last block (default: the first)' },
    url: { value: 'URL', help: 'another node to read from (default: the configured one)' },
    skip: { help: 'go on without these blocks, which no node can serve; payments in them are not seen' },
    above: { value: 'BLOCK', help: 'take every block above this one out of our chain first, even final ones' },
    reason: reasonOption,
    dryRun: { help: 'only compare, and list the differences; exit code 1 if there are any' },
  },
  notes: [
    'For a payment that was missed, for blocks that were skipped, and for those before the ' +
      'network was added. The indexer credits them, as any payment.',
    'The answer counts transfers that were missing here, those that the node does not show (unknown), blocks that are ' +
      'others there, and transfers out of our wallets without a payout (outgoing).',
    '--skip: first try another node: set the network’s url. The skipped blocks are recorded as a gap, shown by `status` and ' +
      'reported by an alarm, until it is read from a node that has it. Where the wallets have no nonces (TRON, ' +
      'Solana), money out is frozen meanwhile: refunds may have been paid in those blocks.',
    '--above: for a chain that replaced blocks which counted as final, and for blocks that were read wrongly. Payments in ' +
      'them are reversed, with `payment.reversed` and an alarm if they were credited, and count again when their blocks are ' +
      'read again. The indexer goes on by itself.',
  ],
  async run(input, installation) {
    const { config, database } = installation;
    const network = networkOf(config.networks, input.args[0] ?? '');
    const isSkip = input.options.skip === true;
    const isAbove = textOption(input, 'above') !== undefined;
    if (isAbove !== (textOption(input, 'from') === undefined)) throw usage('name either --from or --above');
    if (isAbove) return readAgainAbove(input, installation, network, numberOption(input, 'above'));
    const from = numberOption(input, 'from');
    const to = textOption(input, 'to') === undefined ? from : numberOption(input, 'to');
    if (to < from) throw usage(`--to is ${to}, below --from ${from}`);
    if (isSkip) return skipBlocks(input, installation, network, { from, to });
    const tip = (await database.networks.find(network.key))?.tipNumber ?? null;
    if (tip === null) throw refusalOf(network.key, { kind: 'never_read' });
    if (to > tip) throw permanent('refused', `${network.key} has been read up to ${tip} only; name a lower --to`);
    const url = textOption(input, 'url');
    const { atUrl } = await import('../../indexers/reread.ts');
    return reread(input, installation, url === undefined ? network : atUrl(network, nodeUrl(url)), from, to);
  },
};

async function reread(
  input: Input,
  { database, clock }: Installation,
  network: NetworkConfig,
  from: number,
  to: number,
): Promise<Answer> {
  const { rereadBlocks } = await import('../../indexers/reread.ts');
  const { key, family } = network;
  const isCheck = input.options.dryRun === true;
  const { act, progress } = input;
  const onPart = ({ throughNumber }: { throughNumber: number }) =>
    progress.show(progressBar(`reading ${key}`, throughNumber + 1 - from, to - from + 1));
  const options = { network, database, chain: chains[family], from, to, isCheck, act, clock, onPart };
  const { differences, counts, closed } = await rereadBlocks(options);
  const listed = differences.map(({ kind, number, transfer }) => ({
    difference: kind,
    block: number,
    transaction: transfer?.tx ?? null,
    units: transfer?.units.toString() ?? null,
    currency: transfer?.currency ?? null,
    address: transfer ? chains[family].address.format(transfer.to) : null,
  }));
  const open = counts.unknown + counts.other_block;
  const isFrozen = counts.outgoing > 0 || closed.some(({ holdsPayouts }) => holdsPayouts);
  return recordAnswer(
    { network: key, from, to, dry_run: isCheck, ...counts, closed_gaps: closed.length, differences: listed },
    [
      ...(isFrozen && !isCheck ? [`\`quayside payout reconcile ${key} --reason …\` ends a freeze of money out`] : []),
      ...(open > 0 ? ['compare the node with another one (--url); nothing that is held was changed'] : []),
    ],
    open > 0 || (isCheck && counts.missing + counts.outgoing > 0),
  );
}

/** @throws Fault permanent `usage` without a reason */
function withReason({ act }: Input): Input['act'] {
  if (act.reason !== null) return act;
  throw usage('--reason is missing: say why, for the audit log');
}

const numberOption = (input: Input, name: string): number => wholeOption(input, name, 0, NUMBER_MAX, 0);
