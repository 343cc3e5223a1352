/**
 * A follower's position on its chain: a mirror, in memory, of what the database holds, and the only way to move it.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Confirmation, IngestOutcome } from '../../src/database/ingest.ts';
import { placeFinal } from './confirmations.ts';
import type { Freshness } from './freshness.ts';

/**
 * What the node showed at one poll. `finalized` is its final block if that can be on its head's chain; `finalNumber` is
 * the height that it called final in any case. `safe` is what it called safe, if it was asked. `askedAtMs` is our clock
 * just before.
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

/** One change to save: blocks that are removed, blocks that are added, blocks whose transfers are confirmed. */
export type Step = Readonly<{
  drop: readonly BlockRef[];
  connect: readonly MatchedBlock[];
  confirm: readonly Confirmation[];
}>;

export interface Cursor {
  /** Reads the database's last commit. Must be called once before anything else. */
  load(): Promise<void>;
  /** Canonical blocks we hold, oldest first; empty before the first step. */
  blocks(): readonly BlockRef[];
  tip(): BlockRef | undefined;
  /** Blocks at or below are final for us. */
  floor(): number;
  /** Returns the chain time (Unix s) up to which everything has been read, given that the node was just polled. */
  readThroughS(look: Look): number;
  /** Saves a step that starts from the tip; does nothing if the step changes nothing. Only `done` moves the cursor. */
  save(step: Step, look: Look, watchedThroughId: number): Promise<IngestOutcome>;
}

export function createCursor(
  database: Pick<Database, 'tail' | 'ingest' | 'listNetworks'>,
  network: NetworkConfig,
  nowMs: () => number,
): Cursor {
  /** The block at the floor and everything above it. */
  const blocksMax = network.reorgDepthMax + 1;
  const decimals = Object.fromEntries(network.tokens.map((token) => [token.symbol, token.decimals]));
  let blocks: readonly BlockRef[] = [];
  let floor = 0;
  let readThroughS = 0;

  /**
   * Having reached the head proves that everything up to that moment was read, less the time that a block needs to be
   * made and to arrive. An old head proves nothing but its own time.
   */
  function readThrough(tip: BlockRef | undefined, { head, askedAtMs, isOld, whyStale }: Look): number {
    if (!tip) return readThroughS;
    const levelS = Math.floor((askedAtMs - 2 * network.blockTimeMs) / 1000);
    const isLevel = tip.hash === head.hash && !isOld && whyStale === null;
    return Math.max(readThroughS, tip.timeS, isLevel ? levelS : 0);
  }

  return {
    async load() {
      blocks = await database.tail(network.key, blocksMax);
      const known = (await database.listNetworks()).find((status) => status.network === network.key);
      floor = known?.floor ?? 0;
      readThroughS = known?.readThroughS ?? 0;
    },
    blocks: () => blocks,
    tip: () => blocks.at(-1),
    floor: () => floor,
    readThroughS: (look) => {
      readThroughS = readThrough(blocks.at(-1), look);
      return readThroughS;
    },
    async save({ drop, connect, confirm }, look, watchedThroughId) {
      const kept = blocks.slice(0, blocks.length - drop.length);
      const next = [...kept, ...connect.map(({ block }) => block)].slice(-blocksMax);
      const tip = next.at(-1);
      const final = look.finalized && placeFinal(next, look.finalized) === 'ours' ? look.finalized.number : 0;
      const nextFloor = Math.max(floor, final, (tip?.number ?? 0) - network.reorgDepthMax);
      if (drop.length + connect.length + confirm.length === 0 && nextFloor === floor) return 'done';
      const nextReadThroughS = readThrough(tip, look);
      const outcome = await database.ingest({
        network: network.key,
        family: network.family,
        expectTip: blocks.at(-1)?.hash ?? null,
        watchedThroughId,
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
        blocks = next;
        floor = nextFloor;
        readThroughS = nextReadThroughS;
      }
      return outcome;
    },
  };
}
