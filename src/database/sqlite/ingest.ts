/**
 * One step of a follower: dropped blocks, connected blocks, confirmations, the cursor, and everything that follows for
 * sessions, events and alarms. Saved whole or not at all.
 * @module
 */
import { type BlockRef, isLinked } from '../../core/block.ts';
import { invariant, transient } from '../../core/fault.ts';
import { toPar } from '../../core/money.ts';
import { earlierPhase, type Phase, phaseOf } from '../../core/session.ts';
import type { ChainTransfer, Mode } from '../../core/transfer.ts';
import type { Database } from '../database.ts';
import type { Ingest } from '../ingest.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { BlockRow, Blocks } from './blocks.ts';
import type { Ledger } from './ledger.ts';
import type { Networks } from './networks.ts';
import type { Db } from './open.ts';
import type { Address, Addresses } from './pool.ts';
import { type SessionRow, termsOf } from './session-row.ts';
import type { SessionTransitions } from './session-transitions.ts';
import type { FindSessionRow } from './sessions.ts';
import type { TransferRow, Transfers } from './transfers.ts';

type IngestCommands = Pick<Database, 'ingest'>;
type Parts = Readonly<{
  addresses: Addresses;
  blocks: Blocks;
  transfers: Transfers;
  networks: Networks;
  transitions: SessionTransitions;
  findSession: FindSessionRow;
  raiseAlarm: RaiseAlarm;
  ledger: Ledger;
}>;

/** A transfer to one of our addresses. */
type Ours = Readonly<{ transfer: ChainTransfer; address: Address; decimals: number; isDust: boolean }>;

/** Blocks this far below the final height are pruned if they hold no transfer to our addresses. */
const BLOCKS_KEPT = 1_000;

export function ingestCommands(db: Db, parts: Parts): IngestCommands {
  const { addresses, blocks, transfers, networks, transitions, findSession, raiseAlarm, ledger } = parts;

  /** Takes blocks out of the canonical chain. @returns their ids */
  function drop({ network, drop: hashes, nowMs }: Ingest, floor: number): number[] {
    return hashes.map((hash) => {
      const block = blocks.find(network, hash);
      invariant(block?.canonical, `the dropped block ${hash} is canonical on ${network}`);
      invariant(block.number > floor, `the dropped block ${hash} is above the final height ${floor} of ${network}`);
      blocks.mark(block.id, { canonical: false, watchedThroughId: block.watchedThroughId });
      ledger.confirmed(block.id, false, nowMs);
      transfers.unconfirm(block.id);
      return block.id;
    });
  }

  /** Adds a block on top of the canonical chain, with its transfers to our addresses. @returns its id */
  function connect(step: Ingest, block: BlockRef, content: readonly ChainTransfer[]): number {
    const ours = content.flatMap((transfer) => recognise(step, transfer) ?? []);
    const known = blocks.find(step.network, block.hash);
    const { watchedThroughId } = step;
    if (known) refuseContradiction(step, known, block, transfers.ofBlock(known.id), ours);
    const id = known?.id ?? blocks.insert({ ...block, network: step.network, canonical: true, watchedThroughId });
    if (known) blocks.mark(id, { canonical: true, watchedThroughId });
    // Of a known block, only transfers to addresses that were not watched when it was first read are new.
    for (const found of ours) {
      if (found.address.id <= (known?.watchedThroughId ?? 0)) continue;
      const { sessionId } = found.address;
      const session = sessionId === null ? undefined : findSession(sessionId);
      const phase = insert(step, id, block, found, session);
      if (!found.isDust && phase === null) disclaim(step, found, session);
    }
    return id;
  }

  function recognise(step: Ingest, transfer: ChainTransfer): Ours | null {
    const address = addresses.find(poolOf(step), transfer.to);
    if (!address) return null;
    const decimals = step.decimals[transfer.currency];
    invariant(decimals !== undefined, `${step.network} knows the decimals of ${transfer.currency}`);
    return { transfer, address, decimals, isDust: toPar(transfer.units, decimals) < step.dustFloorPar };
  }

  /** @returns the phase of what pays its session; null for what does not, and for dust */
  function insert(
    step: Ingest,
    blockId: number,
    block: BlockRef,
    ours: Ours,
    session: SessionRow | undefined,
  ): Phase | null {
    const { transfer, address, decimals, isDust } = ours;
    invariant(transfer.units > 0n, `transfer ${transfer.tx} #${transfer.index} on ${step.network} is above zero`);
    const came = { network: step.network, blockNumber: block.number, blockTimeS: block.timeS };
    const phase =
      !session || isDust
        ? null
        : earlierPhase(phaseOf(termsOf(session), came), transfers.phaseOf(address.id, step.network, transfer.tx));
    if (session && !isDust) transitions.countPayment(session.id);
    transfers.insert({
      blockId,
      network: step.network,
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

  /** Raises an alarm for money that belongs to no session; an address without a session is spoiled. */
  function disclaim(step: Ingest, { transfer, address }: Ours, session: SessionRow | undefined): void {
    if (!session) addresses.spoil(address.id);
    const { tx, units, currency, to } = transfer;
    const why = session
      ? `which session ${session.id} took later: the database that had given it out was lost or restored from a ` +
        'backup. It does not count for that session'
      : 'which no session has taken. The address will not be given out';
    raiseAlarm({
      atMs: step.nowMs,
      code: session ? 'payment_before_session' : 'payment_without_session',
      message:
        `Transaction ${tx} on ${step.network} paid ${units} base units of ${currency} to our address ${to}, ${why}. ` +
        'Find the payer and return the money.',
      network: step.network,
      sessionId: session?.id ?? null,
    });
  }

  function confirm({ network, confirm: confirmations, nowMs }: Ingest): number[] {
    return confirmations.flatMap(({ hash, txs }) => {
      const block = blocks.find(network, hash);
      invariant(block, `the block ${hash} to confirm is known on ${network}`);
      // A block that this step itself drops is not confirmed.
      if (!block.canonical) return [];
      ledger.confirmed(block.id, true, nowMs, txs);
      transfers.confirm(block.id, nowMs, txs);
      return block.id;
    });
  }

  return {
    async ingest(step) {
      return db.write(() => {
        const { network, nowMs } = step;
        const held = networks.find(network);
        if ((held?.tipHash ?? null) !== step.expectTip) return 'moved';
        if (step.watchedThroughId < addresses.highestId(poolOf(step))) return 'stale_watch';

        const row = held ?? networks.begin(network, nowMs);
        const dropped = drop(step, row.floor);
        const refs = step.connect.map(({ block }) => block);
        refuseGap(network, blocks.tip(network), refs);
        const connected = step.connect.map(({ block, transfers: content }) => connect(step, block, content));
        const confirmed = confirm(step);

        const tip = blocks.tip(network);
        const floor = Math.max(row.floor, step.floor ?? 0);
        networks.progress(network, {
          tipHash: tip?.hash ?? null,
          tipNumber: tip?.number ?? null,
          tipTimeS: tip?.timeS ?? null,
          floor,
          readThroughS: step.readThroughS,
          prunedThrough: blocks.prune(network, row.prunedThrough, floor - BLOCKS_KEPT),
          updatedAtMs: nowMs,
        });

        const touched = [...dropped, ...connected, ...confirmed, ...transfers.blocksBetween(network, row.floor, floor)];
        for (const [id, changed] of transfers.recount(touched, floor)) {
          const session = findSession(id);
          invariant(session, `session ${id} of a taken address exists`);
          transitions.advance(session, nowMs, network, changed);
        }
        return 'done';
      });
    },
  };
}

/** The pool whose addresses a network can pay. */
const poolOf = ({ network, family }: Ingest): { family: string; mode: Mode } => ({
  family,
  mode: network.startsWith('live:') ? 'live' : 'test',
});

/** Checks that new blocks follow the remaining tip and one another. */
function refuseGap(network: string, tip: BlockRow | undefined, refs: readonly BlockRef[]): void {
  invariant(isLinked(refs), `blocks to connect on ${network} are linked by parent hashes`);
  const first = refs[0];
  if (!first || !tip) return;
  invariant(first.parent === tip.hash, `block ${first.hash} is the child of the tip ${tip.hash} of ${network}`);
}

/**
 * Checks that a block has the content that it had when it was read before, for the addresses watched then: one hash has
 * one content.
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
      .filter(({ address }) => address.id <= known.watchedThroughId)
      .map(({ transfer: t, address, decimals }) =>
        line([t.tx, t.index, t.currency, t.from, address.id, t.units, decimals]),
      ),
  );
  const agrees =
    block.parent === known.parent &&
    block.number === known.number &&
    block.timeS === known.timeS &&
    wasRead.length === isRead.size &&
    wasRead.every((text) => isRead.has(text));
  if (agrees) return;
  throw transient(
    'node_contradicts_itself',
    `Block ${block.hash} of ${network} differs from what was read before: ${wasRead.length} transfers to our ` +
      `addresses then, ${isRead.size} now. Nothing was saved. Compare the node with another one; the earlier content ` +
      'is in the tables blocks and transfers.',
  );
}
