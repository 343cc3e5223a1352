/** Transfers of blocks to our addresses, and what they change. */

import type { BlockRef } from '../core/block.ts';
import { invariant } from '../core/fault.ts';
import { toPar } from '../core/money.ts';
import { earlierPhase, type Phase, phaseOf } from '../core/session.ts';
import type { ChainTransfer, Currency, NetworkKey } from '../core/transfer.ts';
import { type IncomingTransfer, isIncoming, type Mode, modeOf } from '../core/transfer.ts';
import type { Address, AddressRows } from './addresses.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { BlockRow, BlockRows } from './blocks.ts';
import { mapInOrder } from './engine/each.ts';
import type { Ledger } from './ledger.ts';
import type { Outgoing } from './payouts/outgoing.ts';
import { type SessionRow, termsOf } from './session.ts';
import type { SessionTransitions } from './session-transitions.ts';
import type { FindSessionRow } from './sessions.ts';
import type { FormatAmount } from './text-formats.ts';
import type { Transfers } from './transfers.ts';

/** A transfer to one of our addresses. */
export type Ours = Readonly<{ transfer: IncomingTransfer; address: Address; decimals: number; isDust: boolean }>;

/** How the transfers of a network are read. */
export type FactsContext = Pick<Ingest, 'network' | 'family' | 'decimals' | 'dustFloorPar' | 'nowMs'>;

type Parts = Readonly<{
  addresses: AddressRows;
  blocks: BlockRows;
  transfers: Transfers;
  transitions: SessionTransitions;
  findSession: FindSessionRow;
  raiseAlarm: RaiseAlarm;
  ledger: Ledger;
  outgoing: Outgoing;
  formatAmount: FormatAmount;
}>;

/** The pool whose addresses a network can pay. */
export const poolOf = ({ network, family }: Pick<Ingest, 'network' | 'family'>): { family: string; mode: Mode } => ({
  family,
  mode: modeOf(network),
});

/** Returns functions that are called within a transaction. */
export function createBlockFacts(parts: Parts) {
  const { addresses, blocks, transfers, transitions, findSession, raiseAlarm, ledger, outgoing, formatAmount } = parts;

  /** @returns the phase of what pays its session; null for what does not, and for dust */
  async function insert(
    { network, nowMs }: FactsContext,
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
    if (session && !isDust) await transitions.countPayment(session.id);
    await transfers.insert({
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
      seenAtMs: nowMs,
    });
    return phase;
  }

  /** Raises an alarm for money that belongs to no session; an address without a session is spoiled. */
  async function disclaim(
    { network, nowMs }: FactsContext,
    { transfer, address }: Ours,
    session: SessionRow | undefined,
  ): Promise<void> {
    if (!session) await addresses.spoil(address.id);
    const { tx, units, currency, to } = transfer;
    const why = session
      ? `which session ${session.id} took later: the database that had given it out was lost or restored from a ` +
        'backup. It does not count for that session'
      : 'which no session has taken. The address will not be given out';
    await raiseAlarm({
      atMs: nowMs,
      code: session ? 'payment_before_session' : 'payment_without_session',
      message:
        `Transaction ${tx} on ${network} paid ${formatAmount(network, currency, units)} to our address ${to}, ${why}. ` +
        'Find the payer and return the money.',
      network,
      sessionId: session?.id ?? null,
    });
  }

  return {
    /** Returns those of a block's transfers that pay our addresses. */
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
    /** Adds a transfer to a block that holds it not yet. */
    async add(context: FactsContext, blockId: number, block: BlockRef, ours: Ours): Promise<void> {
      const { sessionId } = ours.address;
      const session = sessionId === null ? undefined : await findSession(sessionId);
      const phase = await insert(context, blockId, block, ours, session);
      if (!ours.isDust && phase === null) await disclaim(context, ours, session);
    },
    /** Takes a block out of the canonical chain. */
    async drop({ id, watchedThrough, number, network, hash }: BlockRow, nowMs: number): Promise<void> {
      await outgoing.drop(network, hash);
      await blocks.mark(id, { canonical: false, watchedThrough, number });
      await ledger.confirmed(id, false, nowMs);
      await transfers.unconfirm(id);
    },
    /** Brings the sessions that blocks pay up to date. @returns their ids */
    async settle(network: NetworkKey, blockIds: readonly number[], floor: number, nowMs: number): Promise<string[]> {
      const found = await transfers.recount(blockIds, floor);
      for (const [id, changed] of found) {
        const session = await findSession(id);
        invariant(session, `session ${id} of a taken address exists`);
        await transitions.advance(session, nowMs, network, changed);
      }
      return [...found.keys()];
    },
  };
}

export type BlockFacts = ReturnType<typeof createBlockFacts>;

/** One step of a follower, saved whole or not at all. */
export type Ingest = Readonly<{
  network: NetworkKey;
  /** The network's chain family. With the network's mode it names the pool whose addresses the matcher watched. */
  family: string;
  /** Hash of the tip that the step starts from, a guard against a second writer; null for a network's first step. */
  expectTip: string | null;
  /** The network's `recoveryCount` when the position was loaded; compared if it is present. */
  recoveries?: number;
  /** The `seq` of the newest address that the matcher knew when it read the blocks to connect. */
  watchedThrough: number;
  /** The `seq` of the newest of our own wallets that the matcher knew then; it knew none if absent. */
  ownWallet?: number;
  /** Tokens by symbol with their decimals on this network. */
  decimals: Readonly<Partial<Record<Currency, number>>>;
  /** Transfers of less than this value at par are dust: facts that touch no session. */
  dustFloorPar: bigint;
  drop: readonly string[];
  /** Oldest first, each the child of the one before (the first: of the tip that remains after `drop`). */
  connect: readonly Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>[];
  /** Transactions whose transfers are credited: they meet the policy and were just re-checked with the node. */
  confirm: readonly Confirmation[];
  /** The height that is final from now on; never falls. */
  floor: number | null;
  readThroughS: number;
  nowMs: number;
}>;

/** Transactions in one block; all of the block's if `txs` is absent. */
export type Confirmation = Readonly<{ hash: string; txs?: readonly string[] }>;
