/** A follower's position on its chain. It mirrors the database in memory and is the only way to move the position. */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { BlockGap } from '../../src/core/gap.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Confirmation, IngestOutcome } from '../../src/database/ingest.ts';
import { placeFinal } from './confirmations.ts';
import type { Freshness } from './freshness.ts';

/**
 * Answer of the node at one poll. `finalNumber` is the height of its final block. `finalized` is that block, unless it
 * is above the head. `safe` is its safe block, if it was requested. `askedAtMs` is our clock just before the request.
 */
export type Look = Freshness &
  Readonly<{
    head: BlockRef;
    finalized: BlockRef | null;
    finalNumber: number | null;
    safe: BlockRef | null;
    askedAtMs: number;
  }>;

export type MatchedBlock = Readonly<{ block: BlockRef; transfers: readonly ChainTransfer[] }>;

/** One change to save: blocks to remove, blocks to add, and blocks whose transfers are confirmed. */
export type Step = Readonly<{
  drop: readonly BlockRef[];
  connect: readonly MatchedBlock[];
  confirm: readonly Confirmation[];
}>;

/** State of the matcher: the newest `seq` of the watched addresses and of our own wallets. */
type Known = Readonly<{ watchedThrough: number; ownWallet: number }>;

/** `recoveries`: the network's `recoveries` when the position was loaded. */
type Position = Readonly<{ recoveries: number; readThroughS: number }>;

/** Blocks and transfers, or transactions to confirm, in one database transaction. Other writers wait for it. */
const PART_MAX = 150;

export function createCursor(database: Database, network: NetworkConfig, nowMs: () => number) {
  /** The block at the floor and everything above it. */
  const blocksMax = network.reorgDepthMax + 1;
  const decimals = Object.fromEntries(network.tokens.map((token) => [token.symbol, token.decimals]));
  let blocks: readonly BlockRef[] = [];
  let floor = 0;
  let readThroughS = 0;
  /**
   * The network's `recoveries` when the position was loaded, and whether to load it again although no operator acted.
   * Null before the first load.
   */
  let loaded: Readonly<{ recoveries: number; isOutdated: boolean }> | null = null;
  let gaps: readonly BlockGap[] = [];

  /**
   * Returns the chain time up to which everything was read. If our tip is the node's head, that is the time of the
   * request less the time that a block needs to be made and to arrive. An old head proves only its own time.
   */
  function readThrough(tip: BlockRef | undefined, { head, askedAtMs, isOld, whyStale }: Look): number {
    if (!tip) return readThroughS;
    const levelS = Math.floor((askedAtMs - 2 * network.blockTimeMs) / 1000);
    const isLevel = tip.hash === head.hash && !isOld && whyStale === null;
    return Math.max(readThroughS, tip.timeS, isLevel ? levelS : 0);
  }

  async function load(): Promise<Position> {
    // Read first, so that the next save notices an operator's act during the load.
    const known = await database.networks.find(network.key);
    blocks = await database.blocks.tail(network.key, blocksMax);
    const recoveries = known?.recoveries ?? 0;
    gaps = [...(known?.gaps ?? [])].sort((one, other) => one.from - other.from);
    floor = known?.floor ?? 0;
    readThroughS = known?.readThroughS ?? 0;
    loaded = { recoveries, isOutdated: false };
    return { recoveries, readThroughS };
  }

  async function savePart({ drop, connect, confirm }: Step, look: Look, known: Known) {
    const kept = blocks.slice(0, blocks.length - drop.length);
    const next = [...kept, ...connect.map(({ block }) => block)].slice(-blocksMax);
    const tip = next.at(-1);
    const final = look.finalized && placeFinal(next, look.finalized) === 'ours' ? look.finalized.number : 0;
    const nextFloor = Math.max(floor, final, (tip?.number ?? 0) - network.reorgDepthMax);
    if (drop.length + connect.length + confirm.length === 0 && nextFloor === floor) return 'done';
    const nextReadThroughS = readThrough(tip, look);
    const outcome = await database.blocks.ingest({
      network: network.key,
      family: network.family,
      expectTip: blocks.at(-1)?.hash ?? null,
      ...(loaded && { recoveries: loaded.recoveries }),
      ...known,
      decimals,
      dustFloorPar: network.dustFloorPar,
      drop: drop.map((block) => block.hash),
      connect,
      confirm,
      floor: nextFloor,
      readThroughS: nextReadThroughS,
      nowMs: nowMs(),
    });
    if (outcome === 'done') {
      // A reorg that removes blocks below a gap ends the gap, so the gaps are loaded again.
      if (drop.length > 0 && gaps.length > 0 && loaded) loaded = { ...loaded, isOutdated: true };
      blocks = next;
      floor = nextFloor;
      readThroughS = nextReadThroughS;
    }
    // The lease excludes another follower. Our own commit succeeded although the database reported a failure.
    if (outcome === 'moved' && loaded) loaded = { ...loaded, isOutdated: true };
    return outcome;
  }

  return {
    /**
     * Loads the position, the first time and whenever an operator has moved it. To be called before anything else.
     * @returns the position for a report; null if it was not loaded
     */
    async refresh(): Promise<Position | null> {
      if (loaded?.isOutdated !== false) return load();
      const { recoveries = 0 } = (await database.networks.find(network.key)) ?? {};
      return recoveries === loaded.recoveries ? null : load();
    },
    /** Returns the number after a gap, from which to continue without a link to our tip; null if there is no gap. */
    afterGap(number = (blocks.at(-1)?.number ?? -1) + 1): number | null {
      let next = number;
      // Another gap may follow directly.
      for (const { from, to } of gaps) if (from <= next && next <= to) next = to + 1;
      return next === number ? null : next;
    },
    /** Our canonical blocks, oldest first; empty before the first step. */
    blocks: () => blocks,
    tip: () => blocks.at(-1),
    /** Blocks at or below it are final for us. */
    floor: () => floor,
    /** Returns the chain time (Unix s) up to which everything was read, after a poll of the node. */
    readThroughS(look: Look): number {
      readThroughS = readThrough(blocks.at(-1), look);
      return readThroughS;
    },
    /**
     * Saves a step that starts from the tip, a large one in parts. Does nothing if the step changes nothing. Each saved
     * part moves the cursor. Any outcome but `done` ends the step.
     */
    async save(step: Step, look: Look, known: Known): Promise<IngestOutcome> {
      for (const part of partsOf(step)) {
        const outcome = await savePart(part, look, known);
        if (outcome !== 'done') return outcome;
      }
      return 'done';
    },
  };
}

/**
 * Cuts a step into parts that are saved quickly. Blocks that replace removed ones stay together, or payments would seem
 * to vanish for a moment. One block, or one transaction to confirm, is never cut.
 */
function partsOf(step: Step): Step[] {
  const { drop, connect, confirm } = step;
  if (drop.length > 0) return [step];
  const empty: Step = { drop: [], connect: [], confirm: [] };
  const short = confirm.flatMap(({ hash, txs }) =>
    txs ? slices(txs, () => 1).map((part) => ({ hash, txs: part })) : [{ hash }],
  );
  const parts = [
    ...slices(connect, ({ transfers }) => 1 + transfers.length).map((part) => ({ ...empty, connect: part })),
    ...slices<Confirmation>(short, ({ txs }) => txs?.length ?? 1).map((part) => ({ ...empty, confirm: part })),
  ];
  return parts.length > 0 ? parts : [empty];
}

/** Cuts a list into slices of at most `PART_MAX` in weight. A heavier item is a slice of its own. */
function slices<T>(items: readonly T[], weigh: (item: T) => number): T[][] {
  const found: T[][] = [];
  let left = 0;
  for (const item of items) {
    const weight = weigh(item);
    if (weight > left) {
      found.push([]);
      left = PART_MAX;
    }
    found.at(-1)?.push(item);
    left -= weight;
  }
  return found;
}
