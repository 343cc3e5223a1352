/** Compares the blocks and transfers that the database holds with those of the node's chain. */
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { formatUnits } from '../../src/core/money.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { RecordedRange, RecordedTransfer } from '../../src/database/blocks.ts';
import type { MatchedBlock } from '../follower/cursor.ts';

/** Something that the database and the node's chain do not agree on, in one block. `message` names it for people. */
export type Difference = Readonly<{ number: number; message: string }>;

/**
 * Compares some consecutive blocks.
 * @param read what the node has there, oldest first
 * @param recorded what the database has of the same numbers
 * @param creditedThrough transfers up to this number must have been credited
 */
export function compareBlocks(
  network: NetworkConfig,
  read: readonly MatchedBlock[],
  recorded: RecordedRange,
  creditedThrough: number,
): readonly Difference[] {
  const differences: Difference[] = [];
  const hashes = new Map(read.map(({ block }) => [block.number, block.hash]));
  for (const { number, hash } of recorded.blocks) {
    const other = hashes.get(number);
    if (other === hash) continue;
    const message = `the database holds block ${number} as ${hash}, the node's chain has ${other ?? 'none'} there`;
    differences.push({ number, message });
  }
  const byBlock = new Map<string, RecordedTransfer[]>();
  for (const one of recorded.transfers) byBlock.set(one.block, [...(byBlock.get(one.block) ?? []), one]);
  for (const { block, transfers } of read) {
    const { number, hash } = block;
    const own = byBlock.get(hash) ?? [];
    byBlock.delete(hash);
    differences.push(...compareTransfers(network, number, transfers, own));
    for (const one of own) differences.push(...creditDifferences(network, one, creditedThrough));
  }
  // Their blocks differ, which was said above.
  for (const lost of [...byBlock.values()].flat()) {
    differences.push({ number: lost.number, message: `the node's chain does not have ${textOf(network, lost)}` });
  }
  return differences;
}

const keyOf = ({ tx, index, to }: Pick<ChainTransfer, 'tx' | 'index' | 'to'>): string => `${tx} ${index} ${to}`;

function compareTransfers(
  network: NetworkConfig,
  number: number,
  read: readonly ChainTransfer[],
  own: readonly RecordedTransfer[],
): Difference[] {
  const left = new Map(own.map((one) => [keyOf(one), one]));
  const found: Difference[] = [];
  for (const one of read) {
    const recorded = left.get(keyOf(one));
    left.delete(keyOf(one));
    const text = textOf(network, { ...one, number });
    if (!recorded) found.push({ number, message: `the database does not have ${text}` });
    else if (recorded.units !== one.units || recorded.currency !== one.currency || recorded.from !== one.from) {
      found.push({ number, message: `the database has ${textOf(network, recorded)}, the node ${text}` });
    }
  }
  for (const one of left.values()) {
    found.push({ number, message: `the node's block does not have ${textOf(network, one)}` });
  }
  return found;
}

/** Compares a transfer with the ledger, and with what should have become of it. */
function creditDifferences(network: NetworkConfig, one: RecordedTransfer, creditedThrough: number): Difference[] {
  const wanted = one.state === 'confirmed' ? one.units : 0n;
  const found: Difference[] = [];
  if (one.bookedUnits !== wanted) {
    const message = `the ledger has ${one.bookedUnits} base units of ${textOf(network, one)}, and should have ${wanted}`;
    found.push({ number: one.number, message });
  }
  if (one.state === 'unconfirmed' && one.number <= creditedThrough) {
    found.push({ number: one.number, message: `not credited, although it is final: ${textOf(network, one)}` });
  }
  return found;
}

function textOf({ family, tokens }: NetworkConfig, one: ChainTransfer & Readonly<{ number: number }>): string {
  const { tx, index, currency, units, to, number } = one;
  const decimals = tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
  const { format } = chains[family].address;
  return `${formatUnits(units, decimals)} ${currency} to ${format(to)} in block ${number}, transaction ${tx}, index ${index}`;
}
