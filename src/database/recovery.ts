/**
 * Recovery by an operator, who moves a network's position back, makes its follower skip blocks, or adds missed
 * transfers from blocks that were read again.
 */

import { eq, sql } from 'drizzle-orm';
import type { BlockRef } from '../core/block.ts';
import { invariant } from '../core/fault.ts';
import { type BlockGap, closesGap, type GapReading, gapsThrough } from '../core/gap.ts';
import { freezeTexts } from '../core/reasons.ts';
import type { Currency, NetworkKey } from '../core/transfer.ts';
import { raiseAlarm } from './alarms.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { type BlockRow, makeCanonical, newestBlock } from './blocks.ts';
import { mapInOrder, writeOrTry } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows } from './engine/rows.ts';
import { blockFactsOf, type FactsContext, type Ingest } from './ingest.ts';
import { idsAfter, type NetworkRow, numbersText, tipColumns } from './networks.ts';
import { BLOCKS_UNSEARCHED, freezeAgain } from './payouts/holds.ts';
import { outgoingRowsOf } from './payouts/wallets.ts';
import type { SealedDb } from './sealing.ts';
import { addresses as addressTable, blocks as blockTable, networks, sessions, transfers } from './tables.ts';
import type { TransferRow } from './transfers.ts';

/** Most transfers in the blocks of one rewind, because it is one transaction. */
export const REWOUND_TRANSFERS_MAX = 10_000;

export type Rewind = Readonly<{
  network: NetworkKey;
  /** The newest block to keep. */
  to: number;
  /** Whether to return the outcome without changing anything. */
  isDryRun: boolean;
  act: OperatorAct;
}>;

/** The result of a rewind. `sessions` had money in the blocks that it removed. */
export type Rewound = Readonly<{
  kind: 'done';
  blocks: number;
  transfers: number;
  /** The number of transfers that had been credited. */
  credited: number;
  sessions: readonly string[];
  /** The number of the newest block now; null if none is left. */
  tip: number | null;
}>;

export type RewindOutcome =
  | Rewound
  | Readonly<{ kind: 'never_read' }>
  /** No block is above `to`. */
  | Readonly<{ kind: 'not_above'; tip: number }>
  /** More than `REWOUND_TRANSFERS_MAX` transfers are above. */
  | Readonly<{ kind: 'too_many'; transfers: number }>;

/** The numbers of the first and the last block that are skipped. */
type Skip = Omit<Rewind, 'to'> & Readonly<{ from: number; to: number }>;

export type SkipOutcome =
  | Readonly<{ kind: 'done'; gap: BlockGap }>
  | Readonly<{ kind: 'never_read' }>
  /** Blocks up to `tip` were read before. */
  | Readonly<{ kind: 'read_already'; tip: number }>
  /** The node showed no block above `head`. Payments in blocks that do not exist yet would be lost. */
  | Readonly<{ kind: 'not_made_yet'; head: number | null }>;

/** Blocks of a node's chain that were read again, oldest first. */
export type Reread = Pick<Ingest, 'network' | 'family' | 'decimals' | 'dustFloorPar' | 'watchedThrough'> &
  Readonly<{
    /** The first number that was read. Numbers without a block were skipped by the chain. */
    from: number;
    /** The last one. */
    to: number;
    blocks: Ingest['connect'];
    /** Hash of the block of `rereadAnchor`, which is on the node's chain too. */
    anchor: string;
    /** Whether to compare without changing anything. */
    isCheck: boolean;
    act: OperatorAct;
  }>;

/**
 * A difference between the database and the blocks that were read again.
 * - `missing`: a transfer that the database lacked. It is added, except by a check.
 * - `outgoing`: an unknown transfer out of the refund or gas wallet that no attempt explains. It is added in the same
 *   way, and judged like any other.
 * - `unknown`: a transfer in the database that the node does not show.
 * - `other_block`: at this height the database has another block. Neither is changed.
 */
export type RereadDifference = Readonly<{
  kind: 'missing' | 'outgoing' | 'unknown' | 'other_block';
  number: number;
  block: string;
  /** Null for `other_block`. */
  transfer: Readonly<{ tx: string; index: number; currency: Currency; to: string; units: bigint }> | null;
}>;

export type RereadOutcome =
  | Readonly<{ kind: 'done'; differences: readonly RereadDifference[] }>
  /** Our chain has changed meanwhile. Ask for the anchor again. */
  | Readonly<{ kind: 'moved' }>;

export function recoveryCommands(db: SealedDb) {
  return {
    /**
     * Removes the blocks above `to` from our chain, even final ones, and lowers the floor. As in a reorg, credited
     * payments in them are reversed until their blocks come back.
     */
    async rewind(input: Rewind): Promise<RewindOutcome> {
      return writeOrTry(db, input.isDryRun, () => rewind(db, input));
    },
    /**
     * Makes the follower skip blocks that no node serves, and raises the alarm `block_skipped`. If we have wallets on
     * the network, money out is frozen there, because an earlier run may have paid something in these blocks.
     */
    async skip({ network, from, to, isDryRun, act }: Skip): Promise<SkipOutcome> {
      return writeOrTry(db, isDryRun, async () => {
        const row = await findRow(db, networks, { key: network });
        if (!row) return { kind: 'never_read' };
        if (row.tipNumber !== null && from <= row.tipNumber) return { kind: 'read_already', tip: row.tipNumber };
        if (row.headNumber === null || to > row.headNumber) return { kind: 'not_made_yet', head: row.headNumber };
        const holdsPayouts = (await outgoingRowsOf(db).newestWallet(network)) > 0;
        const gap = { from, to, because: act.reason ?? '', atMs: act.atMs, closedAtMs: null, holdsPayouts };
        const reason = freezeTexts[BLOCKS_UNSEARCHED]({ network, blocks: numbersText(from, to), from, to });
        if (holdsPayouts) await freezeAgain(db, { network, code: BLOCKS_UNSEARCHED, reason, nowMs: act.atMs });
        await recover(db, network, { gaps: [gap, ...row.gaps] });
        await raiseAlarm(db, { ...skipped(network, gap, act), network, sessionId: null });
        await recordAct(db, act, {
          target: network,
          before: null,
          after: { from, to, money_out: holdsPayouts ? 'frozen' : 'unchanged' },
        });
        return { kind: 'done', gap };
      });
    },
    /** Closes the gaps within blocks that were all read again without a doubt. @returns the closed gaps */
    async closeGaps(network: NetworkKey, read: GapReading, act: OperatorAct): Promise<readonly BlockGap[]> {
      return db.write(async () => {
        const gaps = (await findRow(db, networks, { key: network }))?.gaps ?? [];
        const closed = gaps.filter((gap) => closesGap(read, gap)).map((gap) => ({ ...gap, closedAtMs: act.atMs }));
        const others = gaps.filter((gap) => !closesGap(read, gap));
        if (closed.length > 0) await changeRows(db, networks, { key: network }, { gaps: [...closed, ...others] });
        for (const { from, to } of closed) {
          const range = { from, to };
          await recordAct(db, act, {
            target: network,
            before: { ...range, gap: 'open' },
            after: { ...range, gap: 'closed' },
          });
        }
        return closed;
      });
    },
  };
}

function skipped(network: NetworkKey, { from, to, holdsPayouts }: BlockGap, { atMs, operator, reason }: OperatorAct) {
  const blocks = numbersText(from, to);
  const message =
    `${operator} skipped ${blocks} of ${network}: ${reason}. Payments in them are not seen${holdsPayouts ? ', and money out is frozen there' : ''}. ` +
    `When a node has them: \`quayside network reread ${network} --from ${from} --to ${to}\``;
  return { atMs, code: 'block_skipped', message };
}

/** Changes a network's position, so that its follower loads it again. */
async function recover(
  db: Db,
  key: NetworkKey,
  change: Partial<Omit<NetworkRow, 'key' | 'recoveries'>>,
): Promise<void> {
  const changes = { ...change, recoveries: sql`${networks.recoveries} + 1` };
  await db.orm.update(networks).set(changes).where(eq(networks.key, key)).run();
}

/** Does the rewind within the current transaction. */
async function rewind(db: SealedDb, { network, to, act }: Rewind): Promise<RewindOutcome> {
  const row = await findRow(db, networks, { key: network });
  if (!row || row.tipNumber === null) return { kind: 'never_read' };
  if (row.tipNumber <= to) return { kind: 'not_above', tip: row.tipNumber };
  const blocksAbove = 'WHERE network = :network AND canonical = 1 AND number > :to ORDER BY number';
  const above = await findRows(db, blockTable, blocksAbove, { network, to });
  const held = await transfersAbove(db, network, to);
  if (held.transfers > REWOUND_TRANSFERS_MAX) return { kind: 'too_many', transfers: held.transfers };
  await dropAll(db, above, act.atMs);
  await forgetBefore(db, network, to);
  const tip = await moveTo(db, row, to, act);
  const after = await findRow(db, networks, { key: network });
  // The position comes last, because blocks that will be read again must not end a session.
  const ids = above.map(({ id }) => id);
  const sessions = await blockFactsOf(db).settle(network, ids, after?.floor ?? 0, act.atMs);
  await recordAct(db, act, {
    target: network,
    before: { tip: row.tipNumber, floor: row.floor, state: row.state, reason: row.reason?.code ?? null },
    after: {
      tip,
      floor: after?.floor ?? 0,
      state: after?.state ?? null,
      blocks: above.length,
      transfers: held.transfers,
      credited: held.credited,
    },
  });
  return { kind: 'done', blocks: above.length, ...held, sessions, tip } satisfies Rewound;
}

/** Counts the transfers in canonical blocks above a number. */
async function transfersAbove({ client }: Db, network: NetworkKey, to: number) {
  const counted = client.prepare<{ transfers: number; credited: number }>(
    `SELECT count(*) AS transfers, count(*) FILTER (WHERE t.confirmed = 1) AS credited
       FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id
       WHERE b.network = ? AND b.canonical = 1 AND b.number > ?`,
  );
  return (await counted.get(network, to)) ?? { transfers: 0, credited: 0 };
}

/** Lowers the blocks that came before open sessions. After the rewind, blocks above `to` may be younger than they. */
async function forgetBefore(db: Db, network: NetworkKey, to: number): Promise<void> {
  const { id, beforeNumbers } = sessions;
  const open = await db.orm.select({ id, beforeNumbers }).from(sessions).where(eq(sessions.status, 'pending')).all();
  for (const one of open) {
    if ((one.beforeNumbers[network] ?? to) <= to) continue;
    const set = { beforeNumbers: { ...one.beforeNumbers, [network]: to } };
    await changeRows(db, sessions, { id: one.id }, set);
  }
}

/** Removes blocks from the chain. Blocks without transfers hold no fact of ours, and are deleted. */
async function dropAll(db: SealedDb, above: readonly BlockRow[], nowMs: number): Promise<void> {
  for (const block of above) await blockFactsOf(db).drop(block, nowMs);
  const remove = db.client.prepare(
    'DELETE FROM blocks WHERE id = ? AND NOT EXISTS (SELECT 1 FROM transfers WHERE block_id = blocks.id)',
  );
  for (const { id } of above) await remove.run(id);
}

/** Makes the newest remaining block the tip. @returns its number; null if none remains */
async function moveTo(db: SealedDb, row: NetworkRow, to: number, act: OperatorAct) {
  const tip = await newestBlock(db, row.key);
  const gaps = gapsThrough(row.gaps, to);
  const next = (tip?.number ?? -1) + 1;
  // Blocks that were pruned, or came before the first, are not read again. The follower goes on after them.
  if (next <= to && (!tip || to <= row.prunedThrough)) {
    const below = { because: 'below a rewind', atMs: act.atMs, closedAtMs: act.atMs, holdsPayouts: false };
    gaps.unshift({ from: next, to, ...below });
  }
  await recover(db, row.key, {
    state: 'behind',
    reason: {
      code: 'rewound',
      message: `${act.operator} took the blocks above ${to} out: ${act.reason}. They are read again`,
    },
    ...tipColumns(tip),
    floor: Math.min(row.floor, to),
    readThroughS: Math.min(row.readThroughS, tip?.timeS ?? 0),
    prunedThrough: Math.min(row.prunedThrough, to),
    rewoundAtMs: act.atMs,
    gaps,
  });
  return tip?.number ?? null;
}

// ── Blocks that are read again ───────────────────────────────────────────────────────────────────────────────────────
type Matched = Reread['blocks'][number];
type Place = Pick<BlockRef, 'hash' | 'number'>;

export function rereadCommands(db: SealedDb) {
  const facts = blockFactsOf(db);
  const lowest = db.client.prepare<Place>(
    `SELECT hash, number FROM blocks WHERE network = :network AND canonical = 1 AND number >= :number
     ORDER BY number LIMIT 1`,
  );
  const paying = db.client.prepare<Place>(
    `SELECT DISTINCT b.hash, b.number FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id
     WHERE b.network = :network AND b.canonical = 1 AND b.number BETWEEN :from AND :to`,
  );

  async function save(input: Reread): Promise<RereadOutcome> {
    const { network, from, to, act } = input;
    const anchor = await findRow(db, blockTable, { network, hash: input.anchor });
    if (!anchor?.canonical || anchor.number < to) return { kind: 'moved' };
    const row = await findRow(db, networks, { key: network });
    invariant(row, `network ${network} of a block is known`);
    const ids = idsAfter(row, act.atMs);
    const context = { ...input, ids, nowMs: act.atMs };
    const results = await mapInOrder(input.blocks, async (matched) => ({
      matched,
      ...(await compare(db, context, matched)),
    }));
    const changed: number[] = [];
    for (const { matched, isAdded, unsaved, leaving, known } of results) {
      if (!isAdded) continue;
      const through = Math.max(known?.watchedThrough ?? 0, input.watchedThrough);
      const id = await makeCanonical(db, context, matched.block, known, through);
      for (const found of unsaved) await facts.add(context, id, matched.block, found);
      await outgoingRowsOf(db).add(context, matched.block, leaving);
      changed.push(id);
    }
    await changeRows(db, networks, { key: network }, { lastId: ids.last() });
    await facts.settle(network, changed, row.floor, act.atMs);
    // A follower keeps the newest blocks in memory, and must reload them when one was inserted.
    if (results.some(({ isAdded, held }) => isAdded && !held)) await recover(db, network, {});
    const added = results.filter(({ isAdded }) => isAdded);
    const after = {
      transfers: added.reduce((sum, { missing }) => sum + missing.length, 0),
      outgoing: added.reduce((sum, { leaving }) => sum + leaving.length, 0),
    };
    if (added.length > 0) await recordAct(db, act, { target: network, before: null, after: { from, to, ...after } });
    return { kind: 'done', differences: [...results.flatMap((one) => one.differences), ...(await replaced(input))] };
  }

  /** Returns our blocks with transfers at heights where the node has no block. */
  async function replaced({ network, from, to, blocks: read }: Reread): Promise<RereadDifference[]> {
    const numbers = new Set(read.map(({ block }) => block.number));
    return (await paying.all({ network, from, to }))
      .filter(({ number }) => !numbers.has(number))
      .map(({ number, hash }) => ({ kind: 'other_block', number, block: hash, transfer: null }));
  }

  return {
    /** Returns the lowest canonical block at or above this number; null if there is none. */
    async rereadAnchor(network: NetworkKey, number: number): Promise<Place | null> {
      return (await db.read(() => lowest.get({ network, number }))) ?? null;
    },
    /** Compares blocks that were read again with the database, and adds the transfers that were missed. */
    async saveReread(input: Reread): Promise<RereadOutcome> {
      return writeOrTry(db, input.isCheck, () => save(input));
    },
  };
}

/**
 * Compares a block that was read again with the database. `held`: this block, if it is canonical. `known`: this block,
 * canonical or not. `missing`: transfers that our chain lacks. `unsaved`: missing transfers that are not saved with the
 * block, as they are after a rewind or a reorg. `leaving`: unknown transfers out of our own wallets. `isAdded`: the
 * block becomes canonical with all of them.
 */
async function compare(db: SealedDb, context: FactsContext, { block, transfers: content }: Matched) {
  const { hash, number } = block;
  const { network } = context;
  const held = await findRow(db, blockTable, { network, number, canonical: true });
  if (held && held.hash !== hash) {
    const other: RereadDifference = { kind: 'other_block', number, block: hash, transfer: null };
    const none = { missing: [], isAdded: false, unsaved: [], leaving: [] };
    return { differences: [other], ...none, held: undefined, known: undefined };
  }
  const known = held ?? (await findRow(db, blockTable, { network, hash }));
  const before = known ? await findRows(db, transfers, { blockId: known.id }) : [];
  const ours = await blockFactsOf(db).recognise(context, content);
  const keyOf = (tx: string, index: number) => `${tx} ${index}`;
  const wasRead = new Set(before.map(({ tx, position }) => keyOf(tx, position)));
  const read = new Map(ours.map(({ transfer }) => [keyOf(transfer.tx, transfer.index), transfer]));
  const isShown = ({ tx, position, units, currency }: TransferRow) => {
    const transfer = read.get(keyOf(tx, position));
    return transfer?.units === units && transfer.currency === currency;
  };
  const unsaved = ours.filter(({ transfer }) => !wasRead.has(keyOf(transfer.tx, transfer.index)));
  const missing = held ? unsaved : ours;
  const leaving = await outgoingRowsOf(db).unsaved(network, block, content);
  const unknown = before.filter((row) => !isShown(row));
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
          transfer: await shown(db, row),
        }),
      )),
    ],
    missing,
    // A block that is not canonical must not become so with transfers that the node does not show.
    isAdded: missing.length + leaving.length > 0 && (held !== undefined || unknown.length === 0),
    unsaved,
    leaving,
    held,
    known,
  };
}

async function shown(db: Db, { tx, position, currency, addressId, units }: TransferRow) {
  const address = await findRow(db, addressTable, { id: addressId });
  return { tx, index: position, currency, to: address?.key ?? '', units };
}
