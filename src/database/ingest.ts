/**
 * One step of a follower: dropped blocks, connected blocks, confirmations, the cursor, and the consequences for
 * sessions, events and alarms. It is saved whole or not at all.
 */

import { type BlockRef, isLinked } from '../core/block.ts';
import type { CreditPolicy, Received } from '../core/credit-policy.ts';
import { invariant, transient } from '../core/fault.ts';
import { type BlockGap, gapAt, gapsOutside } from '../core/gap.ts';
import { toPar } from '../core/money.ts';
import { earlierPhase, type Phase, phaseOf, receivedOn } from '../core/session.ts';
import { storeTiers } from '../core/store-credit.ts';
import {
  type ChainTransfer,
  type Currency,
  type IncomingTransfer,
  isIncoming,
  type Mode,
  modeOf,
  type NetworkKey,
  nameOf,
} from '../core/transfer.ts';
import { type Address, addressRowsOf } from './addresses.ts';
import { raiseAlarm } from './alarms.ts';
import { type BlockRow, makeCanonical, newestBlock, pruneBlocks } from './blocks.ts';
import { mapInOrder } from './engine/bodies.ts';
import { changeRows, findRow, findRows, perDatabase } from './engine/rows.ts';
import { ledgerOf } from './ledger.ts';
import { beginNetwork, idsAfter, type RowIds, tipColumns } from './networks.ts';
import { outgoingRowsOf } from './payouts/wallets.ts';
import type { SealedDb } from './sealing.ts';
import { findSession, type SessionRow, sessionOf, termsOf } from './session.ts';
import { transitionsOf } from './session-transitions.ts';
import { storeOf } from './stores.ts';
import { blocks, networks, transfers as transferTable } from './tables.ts';
import { shownIn, type TransferRow, transferRowsOf } from './transfers.ts';

/**
 * - `stale_watch`: an address or a wallet was added after the match. Load it and match the blocks again.
 * - `recovered`: an operator moved the network's position. Load it again.
 * - `moved`: another process moved the cursor, so it follows the network too.
 */
export type IngestOutcome = 'done' | 'stale_watch' | 'recovered' | 'moved';

/** A transfer that is not confirmed yet, with the facts that decide on its credit. */
export type WaitingTransfer = ChainTransfer &
  Readonly<{
    /** The sums that its session received, or the transfer alone if no session has its address. */
    received: Received;
    /** The store's own policy on this network, which applies besides the network's. */
    stricter: CreditPolicy;
  }>;

/** Blocks below the final height that are kept. Lower ones without transfers to our addresses are pruned. */
const BLOCKS_KEPT = 1_000;

export function ingestCommands(db: SealedDb) {
  const transfers = transferRowsOf(db);
  const facts = blockFactsOf(db);
  const outgoing = outgoingRowsOf(db);

  /** Adds a block on top of the canonical chain, with its transfers to our addresses. @returns its id */
  async function connect(
    step: Ingest & FactsContext,
    block: BlockRef,
    content: readonly ChainTransfer[],
  ): Promise<number> {
    const ours = await facts.recognise(step, content);
    await outgoing.add(step, block, content);
    const known = await findRow(db, blocks, { network: step.network, hash: block.hash });
    if (known) refuseContradiction(step, known, block, await findRows(db, transferTable, { blockId: known.id }), ours);
    const id = await makeCanonical(db, step, block, known, step.watchedThrough);
    // In a known block, only transfers to addresses that were not watched at its first reading are new.
    for (const found of ours) {
      if (found.address.seq > (known?.watchedThrough ?? 0)) await facts.add(step, id, block, found);
    }
    return id;
  }

  return {
    ...waitingQueries(db),
    async ingest(step: Ingest): Promise<IngestOutcome> {
      return db.write(async () => {
        const { network, nowMs } = step;
        const held = await findRow(db, networks, { key: network });
        const recoveries = held?.recoveries ?? 0;
        if (recoveries !== (step.recoveries ?? recoveries)) return 'recovered';
        if ((held?.tipHash ?? null) !== step.expectTip) return 'moved';
        if (step.watchedThrough < (await addressRowsOf(db).highestSeq(poolOf(step)))) return 'stale_watch';
        if (step.connect.length > 0 && (step.ownWallet ?? 0) < (await outgoing.newestWallet(network)))
          return 'stale_watch';

        const row = held ?? (await beginNetwork(db, network, nowMs));
        const ids = idsAfter(row, nowMs);
        const dropped = await drop(db, step, row.floor);
        const refs = step.connect.map(({ block }) => block);
        const kept = await newestBlock(db, network);
        const gaps = dropped.length > 0 ? gapsOutside(row.gaps, kept?.number ?? -1, row.tipNumber ?? 0) : row.gaps;
        refuseGap(network, kept, refs, gaps);
        const connected = await mapInOrder(step.connect, ({ block, transfers: content }) =>
          connect({ ...step, ids }, block, content),
        );
        const confirmed = await confirm(db, step);

        const tip = await newestBlock(db, network);
        const floor = Math.max(row.floor, step.floor ?? 0);
        await changeRows(
          db,
          networks,
          { key: network },
          {
            ...tipColumns(tip),
            floor,
            readThroughS: step.readThroughS,
            prunedThrough: await pruneBlocks(db, network, row.prunedThrough, floor - BLOCKS_KEPT),
            gaps,
            lastId: ids.last(),
            updatedAtMs: nowMs,
          },
        );
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
async function drop(db: SealedDb, { network, drop: hashes, nowMs }: Ingest, floor: number): Promise<number[]> {
  return mapInOrder(hashes, async (hash) => {
    const block = await findRow(db, blocks, { network, hash });
    invariant(block?.canonical, `the dropped block ${hash} is canonical on ${network}`);
    invariant(block.number > floor, `the dropped block ${hash} is above the final height ${floor} of ${network}`);
    await blockFactsOf(db).drop(block, nowMs);
    return block.id;
  });
}

/** Confirms transfers. @returns the ids of their blocks */
async function confirm(db: SealedDb, { network, confirm: confirmations, nowMs }: Ingest): Promise<number[]> {
  return (
    await mapInOrder(confirmations, async ({ hash, txs }) => {
      const block = await findRow(db, blocks, { network, hash });
      invariant(block, `the block ${hash} to confirm is known on ${network}`);
      // This step itself may have dropped the block.
      if (!block.canonical) return [];
      await ledgerOf(db).confirmed(block.id, true, nowMs, txs);
      await transferRowsOf(db).confirm(block.id, nowMs, txs);
      return block.id;
    })
  ).flat();
}

/** Checks that new blocks are linked to the remaining tip and to one another, or follow an operator's gap. */
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
 * Checks that a block has the same content as at its first reading, for the addresses watched then. One hash has one
 * content. The number may be corrected, because a hash does not cover numbers that are slots.
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
    `Block ${block.hash} of ${network} differs from its first reading: it had ${wasRead.length} transfers to our ` +
      `addresses then, and has ${isRead.size} now. Nothing was saved. Set the network's url to another node, or go on ` +
      `without the block: \`quayside network reread ${network} --from ${block.number} --skip --reason …\`.`,
  );
}

// ── Transfers of blocks ──────────────────────────────────────────────────────────────────────────────────────────────
/** A transfer to one of our addresses. */
export type Ours = Readonly<{ transfer: IncomingTransfer; address: Address; decimals: number; isDust: boolean }>;

/** The context in which transfers of a network are read. */
export type FactsContext = Pick<Ingest, 'network' | 'family' | 'decimals' | 'dustFloorPar' | 'nowMs'> &
  Readonly<{ ids: RowIds }>;

/** Returns the pool whose addresses a network can pay. */
export const poolOf = ({ network, family }: Pick<Ingest, 'network' | 'family'>): { family: string; mode: Mode } => ({
  family,
  mode: modeOf(network),
});

export const blockFactsOf = perDatabase((db: SealedDb) => {
  const [addresses, transfers] = [addressRowsOf(db), transferRowsOf(db)];
  const transitions = transitionsOf(db);
  const countPayment = db.client.prepare('UPDATE sessions SET payment_count = payment_count + 1 WHERE id = ?');

  /** @returns the transfer's phase in its session; null for dust, and if it pays no session */
  async function insert(
    { network, ids }: FactsContext,
    blockId: number,
    block: BlockRef,
    ours: Ours,
    session: SessionRow | undefined,
  ): Promise<Phase | null> {
    const { transfer, address, decimals, isDust } = ours;
    invariant(transfer.units > 0n, `transfer ${transfer.tx} #${transfer.index} on ${network} is above zero`);
    const came = { network, blockNumber: block.number, blockTimeS: block.timeS };
    const phase =
      !session || isDust
        ? null
        : earlierPhase(phaseOf(termsOf(session), came), await transfers.phaseOf(address.id, network, transfer.tx));
    if (session && !isDust) await countPayment.run(session.id);
    await transfers.insert({
      id: ids.next(),
      blockId,
      network,
      tx: transfer.tx,
      position: transfer.index,
      currency: transfer.currency,
      fromKey: transfer.from,
      addressId: address.id,
      units: transfer.units,
      decimals,
      confirmed: false,
      firstConfirmedAtMs: null,
      dust: isDust,
      phase,
      counted: 'none',
    });
    return phase;
  }

  /** Raises an alarm for money that belongs to no session, and spoils an address without a session. */
  async function disclaim(
    { network, nowMs }: FactsContext,
    { transfer, address }: Ours,
    session: SessionRow | undefined,
  ): Promise<void> {
    if (!session) await addresses.spoil(address.id);
    const { tx, units, currency, to } = transfer;
    const why = session
      ? `which session ${session.id} took later, because the database that had given it out was lost or restored from ` +
        'a backup. It does not count for that session'
      : 'which no session has taken. The address will not be given out';
    await raiseAlarm(db, {
      atMs: nowMs,
      code: session ? 'payment_before_session' : 'payment_without_session',
      message:
        `Transaction ${tx} on ${network} paid ${db.formatAmount(network, currency, units)} to our address ${to}, ${why}. ` +
        'Find the payer and return the money.',
      network,
      sessionId: session?.id ?? null,
    });
  }

  return {
    /** Returns the transfers of a block that pay our addresses. */
    async recognise(context: FactsContext, content: readonly ChainTransfer[]): Promise<Ours[]> {
      return (
        await mapInOrder(content, async (transfer) => {
          if (!isIncoming(transfer)) return [];
          const address = await addresses.find(poolOf(context), transfer.to);
          if (!address) return [];
          const decimals = context.decimals[transfer.currency];
          invariant(decimals !== undefined, `${context.network} knows the decimals of ${transfer.currency}`);
          return { transfer, address, decimals, isDust: toPar(transfer.units, decimals) < context.dustFloorPar };
        })
      ).flat();
    },
    /** Adds a transfer to a block that lacks it. */
    async add(context: FactsContext, blockId: number, block: BlockRef, ours: Ours): Promise<void> {
      const { sessionId } = ours.address;
      const session = sessionId === null ? undefined : await findSession(db, sessionId);
      const phase = await insert(context, blockId, block, ours, session);
      if (!ours.isDust && phase === null) await disclaim(context, ours, session);
    },
    /** Takes a block out of the canonical chain. */
    async drop({ id, network, hash }: BlockRow, nowMs: number): Promise<void> {
      await outgoingRowsOf(db).drop(network, hash);
      await changeRows(db, blocks, { id }, { canonical: false });
      await ledgerOf(db).confirmed(id, false, nowMs);
      // The times of first confirmations stay.
      await changeRows(db, transferTable, { blockId: id }, { confirmed: false });
    },
    /** Updates the sessions that blocks pay. @returns their ids */
    async settle(network: NetworkKey, blockIds: readonly number[], floor: number, nowMs: number): Promise<string[]> {
      const found = await transfers.recount(blockIds, floor);
      for (const [id, changed] of found) {
        await transitions.advance(await sessionOf(db, id), nowMs, network, changed);
      }
      return [...found.keys()];
    },
  };
});

/** One step of a follower, saved whole or not at all. */
export type Ingest = Readonly<{
  network: NetworkKey;
  /** The network's chain family. With the network's mode it identifies the pool of watched addresses. */
  family: string;
  /** Hash of the tip before the step, a guard against a second writer; null for a network's first step. */
  expectTip: string | null;
  /** The network's `recoveries` when the position was loaded, which is compared if present. */
  recoveries?: number;
  /** The `seq` of the newest address that was watched when the blocks to connect were read. */
  watchedThrough: number;
  /** The `seq` of the newest of our own wallets that was watched then; none was watched if absent. */
  ownWallet?: number;
  /** Decimals of the tokens on this network, by symbol. */
  decimals: Readonly<Partial<Record<Currency, number>>>;
  /** Least value at par. Transfers below it are dust, and touch no session. */
  dustFloorPar: bigint;
  drop: readonly string[];
  /** Blocks to add, oldest first. Each is the child of the one before, and the first of the tip after `drop`. */
  connect: readonly Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>[];
  /** Transactions to credit. They meet the policy, and were just re-checked with the node. */
  confirm: readonly Confirmation[];
  /** The height that is final from now on. It never falls. */
  floor: number | null;
  readThroughS: number;
  nowMs: number;
}>;

/** Transactions of one block; all of them if `txs` is absent. */
export type Confirmation = Readonly<{ hash: string; txs?: readonly string[] }>;

// ── Transfers that are not credited yet ──────────────────────────────────────────────────────────────────────────────
/** The money that a session received, and the policy of its store. */
type Judged = Pick<WaitingTransfer, 'received' | 'stricter'>;

function waitingQueries(db: SealedDb) {
  async function judged(sessionId: string, network: NetworkKey): Promise<Judged> {
    const session = await sessionOf(db, sessionId);
    const stricter = storeTiers((await storeOf(db, session.storeId)).settings.credit, nameOf(network));
    return { received: receivedOn(network, session.sums), stricter };
  }

  return {
    /** Returns the unconfirmed transfers of a canonical block that are not dust; none if it left the chain. */
    async waiting(network: NetworkKey, hash: string): Promise<readonly WaitingTransfer[]> {
      return db.read(async () => {
        const block = await findRow(db, blocks, { network, hash });
        if (!block?.canonical) return [];
        const known = new Map<string, Judged>();
        const waiting = (await shownIn(db, block.id)).filter(({ transfer }) => !transfer.confirmed);
        return mapInOrder(waiting, async ({ transfer, to, sessionId }) => {
          const { tx, position, currency, fromKey, units, decimals } = transfer;
          const own = toPar(units, decimals);
          const session = sessionId === null ? null : (known.get(sessionId) ?? (await judged(sessionId, network)));
          if (sessionId !== null && session) known.set(sessionId, session);
          const { openPar, allPar } = session?.received ?? { openPar: own, allPar: own };
          // Money that came before the session is in none of its sums.
          const received = openPar < own ? { openPar: own, allPar: allPar + own } : { openPar, allPar };
          const stricter = session?.stricter ?? [];
          return { tx, index: position, currency, from: fromKey, to, units, received, stricter };
        });
      });
    },
  };
}
