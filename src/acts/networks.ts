/** Networks and transactions as people name them, and advice about a network that is not followed. */
import { chains } from '../chains/index.ts';
import type { NetworkConfig } from '../config/network.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { NetworkRow } from '../database/networks.ts';
import { type Refusal, refuse, say } from './act.ts';

/** Returns the network that is named by its key or, if only one mode has it, by its name. */
export function networkNamed(networks: readonly NetworkConfig[], text: string): NetworkConfig | Refusal {
  const [network, another] = networks.filter(({ key, name }) => key === text || name === text);
  if (network && !another) return network;
  const keys = networks.map(({ key }) => key).join(', ') || 'none';
  const found = network ? 'are several networks' : 'is no network';
  return refuse('not_found', say('there {found} "{text}"; configured: {keys}', { found, text, keys }));
}

/** Returns the spellings in which a transaction may be stored that a text names, by its form; none if it names none. */
export const transactionsNamed = (text: string): readonly string[] => [
  ...new Set(Object.values(chains).flatMap(({ transactionId }) => transactionId(text) ?? [])),
];

const again = 'it is tried again, and goes on by itself';
const skip = '`quayside network reread {network} --from {next} --skip --reason …`';
const otherNode =
  `set the network’s url to a node that has the blocks from {next} on, and restart. If there is none: ${skip}, and ` +
  'later `quayside network reread {network} --from {next} --to N --url …`';

/** Advice by the code of the reason for which a network has stopped. */
const advice: Readonly<Record<string, string>> = {
  chain_id_mismatch: 'set the network’s url to a node of its chain, or correct its chain_id, and restart',
  decimals_mismatch: 'correct the token’s address or decimals, and restart',
  token_missing: 'correct the token’s address, or give the node its state back, and restart',
  reorg_below_floor:
    'find out which chain is right. If the node’s: `quayside network reread {network} --above N --reason …`, with the N of ' +
    'the reason above. If ours: set the network’s url to a node that is on it, and restart',
  node_block_missing: otherNode,
  node_history_pruned: otherNode,
  node_contradicts_itself: `set the network’s url to another node, or go on without the block: ${skip}`,
  node_inconsistent:
    `${again}. If it lasts, set the network’s url to another node, or read the newest blocks again: ` +
    '`quayside network reread {network} --above {before} --reason …`',
  confirmation_contradicted:
    `${again}. If it lasts, read again from before the block that the reason names: ` +
    '`quayside network reread {network} --above N --reason …`',
  storage_unavailable: `look for a full disk, or a process that keeps the database locked; ${again}`,
  finality_stalled: 'look at the node and at its consensus client',
};
const adviceByState: Readonly<Record<string, string>> = {
  fault: `look at the node; ${again}. If block {next} stays unreadable: ${skip}`,
  halted: 'correct the cause and restart',
};

/** Returns what an operator can do about the state of a network, with commands in backticks; null if nothing. */
export function adviceOn(network: NetworkKey, report: NetworkRow | null): string | null {
  if (!report) return null;
  const next = (report.tipNumber ?? -1) + 1;
  const text = advice[report.reason?.code ?? ''] ?? adviceByState[report.state];
  const values: Readonly<Record<string, string>> = { network, next: `${next}`, before: `${Math.max(0, next - 2)}` };
  return text?.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '') ?? null;
}
