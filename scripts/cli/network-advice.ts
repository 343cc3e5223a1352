/**
 * What an operator can do about the state of a network.
 */
import type { NetworkStatus } from '../../src/database/network-health.ts';

/** What is known about a network besides its report. `next` is the number of the next block to be read. */
type Place = Readonly<{ network: string; next: number }>;

const again = 'it is tried again, and goes on by itself';
const skipFrom = ({ network, next }: Place) =>
  `\`quayside network reread ${network} --from ${next} --skip --reason …\``;

const advice: Readonly<Record<string, (place: Place) => string>> = {
  chain_id_mismatch: () =>
    'set the network’s url to a node of its chain, or correct its chain_id, and restart; it goes on by itself once its node is the right one again',
  decimals_mismatch: () => 'correct the token’s address or decimals, and restart',
  token_not_a_contract: () => 'correct the token’s address, or give the node its state back, and restart',
  reorg_below_floor: ({ network }) =>
    `find out which chain is right. If the node’s: \`quayside network rewind ${network} --to N --reason …\`, with ` +
    'the N of the reason above. If ours: set the network’s url to a node that is on it, and restart',
  node_block_missing: lost,
  node_history_pruned: lost,
  node_contradicts_itself: (place) =>
    `set the network’s url to another node, or go on without the block: ${skipFrom(place)}`,
  node_inconsistent: ({ network, next }) =>
    `${again}. If it lasts, set the network’s url to another node, or read the newest blocks again: ` +
    `\`quayside network rewind ${network} --to ${Math.max(0, next - 2)} --reason …\``,
  confirmation_contradicted: ({ network }) =>
    `${again}. If it lasts, read again from before the block that the reason names: ` +
    `\`quayside network rewind ${network} --to N --reason …\``,
  storage_unavailable: () => `look for a full disk, or a process that keeps the database locked; ${again}`,
  finality_stalled: () => 'look at the node and at its consensus client',
};

function lost({ network, next }: Place): string {
  return (
    `set the network’s url to a node that has the blocks from ${next} on, and restart. If there is none: ` +
    `\`quayside network reread ${network} --from ${next} --to N --skip --reason …\`, and later \`quayside network reread ` +
    `${network} --from ${next} --to N --url …\``
  );
}

/** Returns what to do next; null if nothing. */
export function nextStep({ state, reason }: Pick<NetworkStatus, 'state' | 'reason'>, place: Place): string | null {
  const known = reason && advice[reason.code]?.(place);
  if (known) return known;
  if (state === 'fault') {
    return `look at the node; ${again}. If block ${place.next} stays unreadable: ${skipFrom(place)}`;
  }
  return state === 'halted' ? 'correct the cause and restart' : null;
}
