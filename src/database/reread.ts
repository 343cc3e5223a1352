/**
 * Blocks that were read again: what differs from the facts, and what was missed in them.
 */

import { and, asc, between, eq, gte, sql } from 'drizzle-orm';
import type { BlockRef } from '../core/block.ts';
import type { ChainTransfer, NetworkKey } from '../core/transfer.ts';
import type { RecordAct } from './audit-log.ts';
import type { BlockFacts, FactsContext, Ours } from './block-facts.ts';
import type { BlockRow, BlockRows } from './blocks.ts';
import { writeOrTry } from './engine/dry-run.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, findBy, given } from './engine/prepared.ts';
import type { NetworkRows } from './networks.ts';
import type { Outgoing } from './payouts/outgoing.ts';
import type { Reread, RereadDifference, RereadOutcome } from './recovery.ts';
import { addresses as addressTable, blocks as blockTable, transfers as transferTable } from './tables.ts';
import type { TransferRow, Transfers } from './transfers.ts';

type Matched = Reread['blocks'][number];
type Parts = Readonly<{
  blocks: BlockRows;
  transfers: Transfers;
  networks: NetworkRows;
  facts: BlockFacts;
  outgoing: Outgoing;
  recordAct: RecordAct;
}>;

export function rereadCommands(db: Db, parts: Parts) {
  const { blocks, networks, facts, outgoing, recordAct } = parts;
  const queries = createQueries(db);
  const compare = createComparison(parts, queries);

  async function save(input: Reread): Promise<RereadOutcome> {
    const { network, from, to, act } = input;
    const anchor = await blocks.find(network, input.anchor);
    if (!anchor?.canonical || anchor.number < to) return { kind: 'moved' };
    const context = { ...input, nowMs: act.atMs };
    const results = await mapInOrder(input.blocks, async (matched) => ({
      matched,
      ...(await compare(context, matched)),
    }));
    const ids: number[] = [];
    for (const { matched, isAdded, unsaved, leaving, known } of results) {
      if (!isAdded) continue;
      const id = await keep(input, matched.block, known);
      for (const found of unsaved) await facts.add(context, id, matched.block, found);
      await outgoing.add(network, matched.block, leaving, act.atMs);
      ids.push(id);
    }
    await facts.settle(network, ids, (await networks.find(network))?.floor ?? 0, act.atMs);
    // A follower holds the newest blocks in memory: it must learn about one that was put between them.
    if (results.some(({ isAdded, held }) => isAdded && !held)) await networks.recover(network, {});
    const added = results.filter(({ isAdded }) => isAdded);
    const after = {
      transfers: added.reduce((sum, { missing }) => sum + missing.length, 0),
      outgoing: added.reduce((sum, { leaving }) => sum + leaving.length, 0),
    };
    if (added.length > 0) await recordAct(act, { target: network, before: null, after: { from, to, ...after } });
    return { kind: 'done', differences: [...results.flatMap((one) => one.differences), ...(await replaced(input))] };
  }

  /** Makes a block canonical, in which something was missed. @returns its id */
  async function keep(
    { network, watchedThrough }: Reread,
    block: BlockRef,
    known: BlockRow | undefined,
  ): Promise<number> {
    if (!known) return blocks.insert({ ...block, network, canonical: true, watchedThrough });
    const through = Math.max(known.watchedThrough, watchedThrough);
    await blocks.mark(known.id, { canonical: true, watchedThrough: through, number: block.number });
    return known.id;
  }

  /** Returns the held blocks with transfers at heights where the node has no block at all. */
  async function replaced({ network, from, to, blocks: read }: Reread): Promise<RereadDifference[]> {
    const numbers = new Set(read.map(({ block }) => block.number));
    return (await queries.paying(network, from, to))
      .filter(({ number }) => !numbers.has(number))
      .map(({ number, hash }) => ({ kind: 'other_block', number, block: hash, transfer: null }));
  }

  return {
    /** Returns the lowest canonical block with at least this number; null if there is none. */
    async rereadAnchor(network: NetworkKey, number: number): Promise<Pick<BlockRef, 'hash' | 'number'> | null> {
      return db.read(() => queries.anchor(network, number));
    },
    /** Compares blocks that were read again with what is held, and adds the transfers that were missed. */
    async saveReread(input: Reread): Promise<RereadOutcome> {
      return writeOrTry(db, input.isCheck, () => save(input));
    },
  };
}

type Compared = Readonly<{
  differences: RereadDifference[];
  /** Transfers that our chain lacks. */
  missing: Ours[];
  /** True if the block is to be canonical with all of them. */
  isAdded: boolean;
  /** Those that are not saved; a block that a rewind or a reorg took out has kept its transfers. */
  unsaved: Ours[];
  /** Unknown transfers out of our own wallets. */
  leaving: ChainTransfer[];
  /** The canonical block at this height, if it is this one. */
  held: BlockRow | undefined;
  /** This block, canonical or not. */
  known: BlockRow | undefined;
}>;

function createComparison({ blocks, transfers, facts, outgoing }: Parts, queries: ReturnType<typeof createQueries>) {
  return async (context: FactsContext, { block, transfers: content }: Matched): Promise<Compared> => {
    const { hash, number } = block;
    const { network } = context;
    const held = await queries.canonicalAt(network, number);
    if (held && held.hash !== hash) {
      const other: RereadDifference = { kind: 'other_block', number, block: hash, transfer: null };
      const none = { missing: [], isAdded: false, unsaved: [], leaving: [] };
      return { differences: [other], ...none, held: undefined, known: undefined };
    }
    const known = held ?? (await blocks.find(network, hash));
    const before = known ? await transfers.ofBlock(known.id) : [];
    const ours = await facts.recognise(context, content);
    const keyOf = (tx: string, index: number) => `${tx} ${index}`;
    const wasRead = new Set(before.map(({ tx, position }) => keyOf(tx, position)));
    const isRead = new Set(ours.map(({ transfer }) => keyOf(transfer.tx, transfer.index)));
    const unsaved = ours.filter(({ transfer }) => !wasRead.has(keyOf(transfer.tx, transfer.index)));
    const missing = held ? unsaved : ours;
    const leaving = await outgoing.unsaved(network, block, content);
    const unknown = before.filter(({ tx, position }) => !isRead.has(keyOf(tx, position)));
    return {
      differences: [
        ...missing.map(({ transfer }): RereadDifference => ({ kind: 'missing', number, block: hash, transfer })),
        ...leaving.map((transfer): RereadDifference => ({ kind: 'outgoing', number, block: hash, transfer })),
        ...(await mapInOrder(
          unknown,
          async (row): Promise<RereadDifference> => ({
            kind: 'unknown',
            number,
            block: hash,
            transfer: await shown(row),
          }),
        )),
      ],
      missing,
      // A block that is not ours now must not bring back what the node does not show in it.
      isAdded: missing.length + leaving.length > 0 && (held !== undefined || unknown.length === 0),
      unsaved,
      leaving,
      held,
      known,
    };
  };

  async function shown({ tx, position, currency, addressId, units }: TransferRow) {
    return { tx, index: position, currency, to: await queries.keyOf(addressId), units };
  }
}

const isCanonical = eq(blockTable.canonical, sql`1`);

function createQueries({ orm }: Db) {
  const place = { hash: blockTable.hash, number: blockTable.number };
  const isOurs = and(given(blockTable, 'network'), isCanonical);
  const isHere = and(given(blockTable, 'network', 'number'), isCanonical);
  const at = atFirstUse(orm.select().from(blockTable).where(isHere));
  const above = and(isOurs, gte(blockTable.number, sql.placeholder('number')));
  const from = atFirstUse(orm.select(place).from(blockTable).where(above).orderBy(asc(blockTable.number)).limit(1));
  const within = between(blockTable.number, sql.placeholder('lowest'), sql.placeholder('highest'));
  const paying = atFirstUse(
    orm
      .selectDistinct(place)
      .from(blockTable)
      .innerJoin(transferTable, eq(transferTable.blockId, blockTable.id))
      .where(and(isOurs, within)),
  );
  const key = findBy({ orm }, addressTable, 'id');
  return {
    canonicalAt: (network: NetworkKey, number: number): Promise<BlockRow | undefined> => at.get({ network, number }),
    anchor: async (network: NetworkKey, number: number) => (await from.get({ network, number })) ?? null,
    paying: (network: NetworkKey, lowest: number, highest: number) => paying.all({ network, lowest, highest }),
    keyOf: async (id: number): Promise<string> => (await key.get({ id }))?.key ?? '',
  };
}
