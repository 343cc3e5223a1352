/** Finds the payments that meet the network's policy and their store's. */
import type { NetworkConfig } from '../../src/config/network.ts';
import {
  type CreditPolicy,
  type Heights,
  judgedPar,
  type Lack,
  lacks,
  needsSecondNode,
} from '../../src/core/credit-policy.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { Unconfirmed } from '../../src/database/blocks.ts';
import type { Blocks } from '../../src/database/database.ts';
import type { WaitingTransfer } from '../../src/database/ingest.ts';

/** Blocks that are examined together. */
const PAGE_BLOCKS = 500;

/** A block with transactions that meet the policy. `secondNode` are their transfers that a second node must confirm. */
export type DueBlock = Unconfirmed & Readonly<{ secondNode: readonly ChainTransfer[] }>;

export type Due = Readonly<{
  blocks: readonly DueBlock[];
  /** Reasons why other payments are not due. */
  lacking: ReadonlySet<Lack>;
}>;

/**
 * Finds the transactions that are due, of at most `PAGE_BLOCKS` blocks, lowest block first. A transaction waits if one
 * of its recipients must. Others in its block do not wait for it.
 */
export async function findDue(
  { key, confirmations }: Pick<NetworkConfig, 'key' | 'confirmations'>,
  stored: Blocks,
  heights: Heights,
  floor: number,
): Promise<Due> {
  const blocks: DueBlock[] = [];
  const lacking = new Set<Lack>();
  const note = (missing: ReadonlySet<Lack>): boolean => {
    for (const lack of missing) lacking.add(lack);
    return missing.size > 0;
  };

  function judge(number: number, { received, stricter }: WaitingTransfer): { waits: boolean; asks: boolean } {
    const policy: CreditPolicy = [...confirmations, ...stricter];
    const par = judgedPar(policy, received, floor, heights.final);
    return { waits: note(lacks(policy, par, number, heights)), asks: needsSecondNode(policy, par) };
  }

  async function dueOf({ hash, number }: Unconfirmed): Promise<DueBlock | null> {
    const due = new Map<string, ChainTransfer[]>();
    const waiting = new Set<string>();
    for (const transfer of await stored.waiting(key, hash)) {
      const { tx, index, currency, from, to, units } = transfer;
      const { waits, asks } = judge(number, transfer);
      if (waits) waiting.add(tx);
      const found = due.get(tx) ?? [];
      due.set(tx, found);
      if (asks) found.push({ tx, index, currency, from, to, units });
    }
    for (const tx of waiting) due.delete(tx);
    return due.size > 0 ? { hash, number, txs: [...due.keys()], secondNode: [...due.values()].flat() } : null;
  }

  for (let above = -1; blocks.length < PAGE_BLOCKS; ) {
    const page = await stored.unconfirmed(key, above, PAGE_BLOCKS);
    for (const block of page) {
      above = block.number;
      // If no amount is due at this depth, none is due in a later block.
      if (note(lacks(confirmations, 0n, block.number, heights))) return { blocks, lacking };
      const due = await dueOf(block);
      if (due) blocks.push(due);
    }
    if (page.length < PAGE_BLOCKS) break;
  }
  return { blocks, lacking };
}
