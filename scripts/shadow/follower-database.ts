/**
 * The part of the database port that a follower uses, in memory: a shadow creates nothing and remembers nothing.
 * @module
 */
import type { FollowerOptions } from '../../indexers/follower/follower.ts';
import { invariant } from '../../src/core/fault.ts';
import { toPar } from '../../src/core/money.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { NewAlarm } from '../../src/database/alarms.ts';
import type { Database } from '../../src/database/database.ts';

/** Blocks with transfers that wait for their confirmation; the oldest are forgotten if finality stalls. */
const OPEN_BLOCKS_MAX = 5_000;
const DROPPED_MAX = 10_000;
/**
 * Transactions of a block that the follower checks again before it confirms them. A shop is paid rarely; here every
 * payee of a busy network may be watched.
 */
const ATTESTED_MAX = 8;

/** One step of the follower, to be saved. */
export type Ingest = Parameters<Database['ingest']>[0];

type OpenBlock = { readonly number: number; readonly transfers: readonly ChainTransfer[]; isConfirmed: boolean };

export type FollowerDatabase = FollowerOptions['database'] &
  Pick<Database, 'watchList' | 'changeCount'> &
  Readonly<{
    /** Watches address keys from now on. */
    watch(keys: readonly string[]): void;
    /** How many addresses are watched. */
    watchedCount(): number;
    /** How many transfers to watched addresses were confirmed by the network's policy. */
    confirmedCount(): number;
    /** Whether a key was among the first `throughId` watched ones. */
    isWatched(key: string, throughId: number): boolean;
    /** Whether a reorg removed the block. */
    isDropped(hash: string): boolean;
  }>;

/** The watched address keys, numbered from 1 in the order in which they were added. */
function createWatchList() {
  const ids = new Map<string, number>();
  const keys: string[] = [];
  return {
    add(key: string): void {
      if (ids.has(key)) return;
      keys.push(key);
      ids.set(key, keys.length);
    },
    idOf: (key: string): number | undefined => ids.get(key),
    count: () => keys.length,
    after: (id: number, limit: number) => keys.slice(id, id + limit).map((key, at) => ({ id: id + at + 1, key })),
  };
}

/**
 * @param onStep called with each step of the follower after it was taken in; the follower waits for it
 * @param onHalt called when the follower halts
 */
export function createFollowerDatabase(
  onStep: (step: Ingest) => Promise<void>,
  onHalt: (alarm: NewAlarm) => void,
): FollowerDatabase {
  const watched = createWatchList();
  /** By hash, oldest first. */
  const open = new Map<string, OpenBlock>();
  const dropped = new Set<string>();
  let decimals: Ingest['decimals'] = {};
  let confirmed = 0;

  function drop(hash: string): void {
    open.delete(hash);
    dropped.add(hash);
    const [oldest] = dropped;
    if (oldest !== undefined && dropped.size > DROPPED_MAX) dropped.delete(oldest);
  }

  function takeIn({ drop: removed, connect, confirm, floor }: Ingest): void {
    for (const hash of removed) drop(hash);
    for (const { block, transfers } of connect) {
      dropped.delete(block.hash);
      if (transfers.length > 0) open.set(block.hash, { number: block.number, transfers, isConfirmed: false });
    }
    for (const { hash } of confirm) {
      const block = open.get(hash);
      if (!block || block.isConfirmed) continue;
      block.isConfirmed = true;
      confirmed += block.transfers.length;
    }
    for (const [hash, { number, isConfirmed }] of open) {
      if (open.size > OPEN_BLOCKS_MAX || (isConfirmed && number <= (floor ?? 0))) open.delete(hash);
    }
  }

  const parOf = ({ currency, units }: ChainTransfer): bigint => {
    const places = currency === 'native' ? undefined : decimals[currency];
    invariant(places !== undefined, 'a transfer is of a configured token');
    return toPar(units, places);
  };

  /** Adds up what each address received and is not final: the rest is forgotten. */
  function openSums(): ReadonlyMap<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const { transfers } of open.values()) {
      for (const transfer of transfers) sums.set(transfer.to, (sums.get(transfer.to) ?? 0n) + parOf(transfer));
    }
    return sums;
  }

  return {
    watch(keys) {
      for (const key of keys) watched.add(key);
    },
    watchedCount: watched.count,
    confirmedCount: () => confirmed,
    isWatched: (key, throughId) => (watched.idOf(key) ?? Number.POSITIVE_INFINITY) <= throughId,
    isDropped: (hash) => dropped.has(hash),
    changeCount: watched.count,
    watchList: async (_pool, afterId, limit) => watched.after(afterId, limit),
    tail: async () => [],
    listNetworks: async () => [],
    recoveryCount: async () => 0,
    listGaps: async () => [],
    unconfirmed: async (_network, above, limit) =>
      [...open]
        .filter(([, { number, isConfirmed }]) => number > above && !isConfirmed)
        .slice(0, limit)
        .map(([hash, { number, transfers }]) => {
          return { hash, number, txs: [...new Set(transfers.map(({ tx }) => tx))] };
        }),
    waiting: async (_network, hash) => {
      const { transfers = [] } = open.get(hash) ?? {};
      const sums = openSums();
      const attested = [...new Set(transfers.map(({ tx }) => tx))].slice(0, ATTESTED_MAX);
      return transfers
        .filter(({ tx }) => attested.includes(tx))
        .map((transfer) => {
          const par = sums.get(transfer.to) ?? 0n;
          return { ...transfer, received: { openPar: par, allPar: par }, stricter: [] };
        });
    },
    async ingest(step) {
      decimals = step.decimals;
      takeIn(step);
      await onStep(step);
      return 'done';
    },
    async keepAlarm(alarm) {
      onHalt(alarm);
      return true;
    },
  };
}
