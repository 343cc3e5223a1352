/**
 * One step of a follower: dropped blocks, connected blocks, confirmations, the cursor, and everything that follows for
 * sessions, events and alarms. Saved whole or not at all.
 */

import { type BlockRef, isLinked } from '../core/block.ts';
import type { CreditPolicy, Received } from '../core/credit-policy.ts';
import { invariant, transient } from '../core/fault.ts';
import { type BlockGap, gapAt, gapsOutside } from '../core/gap.ts';
import type { ChainTransfer, NetworkKey } from '../core/transfer.ts';
import type { AddressRows } from './addresses.ts';
import type { Ingest } from './block-facts.ts';
import { type BlockFacts, type Ours, poolOf } from './block-facts.ts';
import type { BlockRow, BlockRows } from './blocks.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import type { Ledger } from './ledger.ts';
import { type NetworkRows, tipColumns } from './networks.ts';
import type { Outgoing } from './payouts/outgoing.ts';
import type { TransferRow, Transfers } from './transfers.ts';

/**
 * - `stale_watch`: an address or a wallet was added after the matcher looked; load it and match the blocks again.
 * - `recovered`: an operator moved the network's position; load it again.
 * - `moved`: another writer moved the cursor, so this process is not the only follower of the network.
 */
export type IngestOutcome = 'done' | 'stale_watch' | 'recovered' | 'moved';

/** A transfer that is not confirmed yet, with what decides on its credit. */
export type WaitingTransfer = ChainTransfer &
  Readonly<{
    /** The sums that its session received; the transfer alone if its address has none. */
    received: Received;
    /** The store's own policy on this network, besides the network's. */
    stricter: CreditPolicy;
  }>;
type Parts = Readonly<{
  addresses: AddressRows;
  blocks: BlockRows;
  transfers: Transfers;
  networks: NetworkRows;
  facts: BlockFacts;
  ledger: Ledger;
  outgoing: Outgoing;
}>;

/** Blocks this far below the final height are pruned if they hold no transfer to our addresses. */
const BLOCKS_KEPT = 1_000;

export function ingestCommands(db: Db, parts: Parts) {
  const { addresses, blocks, transfers, networks, facts, outgoing } = parts;

  /** Adds a block on top of the canonical chain, with its transfers to our addresses. @returns its id */
  async function connect(step: Ingest, block: BlockRef, content: readonly ChainTransfer[]): Promise<number> {
    const ours = await facts.recognise(step, content);
    await outgoing.add(step.network, block, content, step.nowMs);
    const known = await blocks.find(step.network, block.hash);
    const { watchedThrough } = step;
    if (known) refuseContradiction(step, known, block, await transfers.ofBlock(known.id), ours);
    const id = known?.id ?? (await blocks.insert({ ...block, network: step.network, canonical: true, watchedThrough }));
    if (known) await blocks.mark(id, { canonical: true, watchedThrough, number: block.number });
    // Of a known block, only transfers to addresses that were not watched when it was first read are new.
    for (const found of ours) {
      if (found.address.seq > (known?.watchedThrough ?? 0)) await facts.add(step, id, block, found);
    }
    return id;
  }

  return {
    async ingest(step: Ingest): Promise<IngestOutcome> {
      return db.write(async () => {
        const { network, nowMs } = step;
        const held = await networks.find(network);
        const recoveries = held?.recoveries ?? 0;
        if (recoveries !== (step.recoveries ?? recoveries)) return 'recovered';
        if ((held?.tipHash ?? null) !== step.expectTip) return 'moved';
        if (step.watchedThrough < (await addresses.highestSeq(poolOf(step)))) return 'stale_watch';
        if (step.connect.length > 0 && (step.ownWallet ?? 0) < (await outgoing.newestWallet(network)))
          return 'stale_watch';

        const row = held ?? (await networks.begin(network, nowMs));
        const dropped = await drop(parts, step, row.floor);
        const refs = step.connect.map(({ block }) => block);
        const kept = await blocks.tip(network);
        const gaps = dropped.length > 0 ? gapsOutside(row.gaps, kept?.number ?? -1, row.tipNumber ?? 0) : row.gaps;
        refuseGap(network, kept, refs, gaps);
        const connected = await mapInOrder(step.connect, ({ block, transfers: content }) =>
          connect(step, block, content),
        );
        const confirmed = await confirm(parts, step);

        const tip = await blocks.tip(network);
        const floor = Math.max(row.floor, step.floor ?? 0);
        await networks.progress({
          key: network,
          ...tipColumns(tip),
          floor,
          readThroughS: step.readThroughS,
          prunedThrough: await blocks.prune(network, row.prunedThrough, floor - BLOCKS_KEPT),
          gaps,
          updatedAtMs: nowMs,
        });
        const touched = [
          ...dropped,
          ...connected,
          ...confirmed,
          ...(await transfers.blocksBetween(network, row.floor, floor)),
        ];
        await facts.settle(network, touched, floor, nowMs);
        return 'done';
      });
    },
  };
}

/** Takes blocks out of the canonical chain. @returns their ids */
async function drop(
  { blocks, facts }: Parts,
  { network, drop: hashes, nowMs }: Ingest,
  floor: number,
): Promise<number[]> {
  return mapInOrder(hashes, async (hash) => {
    const block = await blocks.find(network, hash);
    invariant(block?.canonical, `the dropped block ${hash} is canonical on ${network}`);
    invariant(block.number > floor, `the dropped block ${hash} is above the final height ${floor} of ${network}`);
    await facts.drop(block, nowMs);
    return block.id;
  });
}

/** Confirms transfers. @returns the ids of their blocks */
async function confirm(
  { blocks, ledger, transfers }: Parts,
  { network, confirm: confirmations, nowMs }: Ingest,
): Promise<number[]> {
  return (
    await mapInOrder(confirmations, async ({ hash, txs }) => {
      const block = await blocks.find(network, hash);
      invariant(block, `the block ${hash} to confirm is known on ${network}`);
      // A block that this step itself drops is not confirmed.
      if (!block.canonical) return [];
      await ledger.confirmed(block.id, true, nowMs, txs);
      await transfers.confirm(block.id, nowMs, txs);
      return block.id;
    })
  ).flat();
}

/** Checks that new blocks follow the remaining tip and one another, or come after a gap that an operator made. */
function refuseGap(
  network: NetworkKey,
  tip: BlockRow | undefined,
  refs: readonly BlockRef[],
  gaps: readonly BlockGap[],
): void {
  invariant(isLinked(refs), `blocks to connect on ${network} are linked by parent hashes`);
  const first = refs[0];
  if (!first || !tip || first.parent === tip.hash) return;
  const gap = gapAt(gaps, tip.number + 1);
  const isAfterGap = gap !== null && gap.to < first.number;
  invariant(isAfterGap, `block ${first.hash} is the child of the tip ${tip.hash} of ${network}`);
}

/**
 * Checks that a block has the content that it had when it was read before, for the addresses watched then: one hash has
 * one content. Its number may be corrected: where numbers are slots, no hash contains them.
 * @throws Fault transient `node_contradicts_itself`
 */
function refuseContradiction(
  { network }: Ingest,
  known: BlockRow,
  block: BlockRef,
  before: readonly TransferRow[],
  now: readonly Ours[],
): void {
  invariant(!known.canonical, `block ${block.hash} is not connected twice on ${network}`);
  const line = (parts: readonly unknown[]): string => parts.join(' ');
  const wasRead = before.map((t) => line([t.tx, t.position, t.currency, t.fromKey, t.addressId, t.units, t.decimals]));
  const isRead = new Set(
    now
      .filter(({ address }) => address.seq <= known.watchedThrough)
      .map(({ transfer: t, address, decimals }) =>
        line([t.tx, t.index, t.currency, t.from, address.id, t.units, decimals]),
      ),
  );
  const agrees =
    block.parent === known.parent &&
    block.timeS === known.timeS &&
    wasRead.length === isRead.size &&
    wasRead.every((text) => isRead.has(text));
  if (agrees) return;
  throw transient(
    'node_contradicts_itself',
    `Block ${block.hash} of ${network} differs from what was read before: ${wasRead.length} transfers to our ` +
      `addresses then, ${isRead.size} now. Nothing was saved. Set the network's url to another node, or go on ` +
      `without the block: \`quayside network reread ${network} --from ${block.number} --skip --reason …\`.`,
  );
}
