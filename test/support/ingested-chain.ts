/**
 * A chain as a follower writes it to the database, block by block, for tests of its readers.
 */

import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { invariant } from '../../src/core/fault.ts';
import type { ChainTransfer, Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Ingest } from '../../src/database/ingest.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { networkReport } from './network-report.ts';

/** `from`: the key of the sender, who is always the same unless named. `isOutgoing`: it is a wallet of ours. */
export type Coin = Readonly<{ to: string; from?: string; currency: Currency; units: bigint; isOutgoing?: true }>;

export const txOf = (block: BlockRef, index: number): string =>
  `0x${block.hash.slice(8)}${String(index).padStart(6, '0')}`;

/** The step of a follower that knows every address and wallet of ours, of any amount; it changes nothing by itself. */
export const ingestStep = (more: Pick<Ingest, 'network' | 'nowMs'> & Partial<Ingest>): Ingest => ({
  family: 'evm',
  expectTip: null,
  decimals: { USDT: 6, USDC: 6 },
  dustFloorPar: 0n,
  watchedThrough: Number.MAX_SAFE_INTEGER,
  ownWallet: Number.MAX_SAFE_INTEGER,
  drop: [],
  connect: [],
  confirm: [],
  floor: null,
  readThroughS: Math.floor(more.nowMs / 1000),
  ...more,
});

let blocksMade = 0;

/** @param dustFloorPar transfers below it are dust */
export function ingestedChain(
  database: () => Database,
  clock: Pick<Clock, 'nowMs'>,
  { key, family, tokens }: Pick<NetworkConfig, 'key' | 'family' | 'tokens'>,
  dustFloorPar = 0n,
) {
  const path: BlockRef[] = [];
  const decimals = Object.fromEntries(tokens.map((token) => [token.symbol, token.decimals]));

  async function step(
    drop: readonly BlockRef[],
    connect: { block: BlockRef; transfers: ChainTransfer[] }[],
    confirm: BlockRef[],
    floor: number | null = null,
  ) {
    const nowMs = clock.nowMs();
    const at = { network: key, family, nowMs, expectTip: path.at(-1)?.hash ?? null };
    const terms = { decimals, dustFloorPar, drop: drop.map(({ hash }) => hash) };
    const outcome = await database().blocks.ingest(ingestStep({ ...at, ...terms, connect, confirm, floor }));
    invariant(outcome === 'done', `a lone follower's step is done, not ${outcome}`);
  }

  function nextBlock(parent: BlockRef | undefined): BlockRef {
    blocksMade++;
    return {
      hash: `0x${blocksMade.toString(16).padStart(64, '0')}`,
      parent: parent?.hash ?? `0x${'f'.repeat(64)}`,
      number: (parent?.number ?? 99) + 1,
      timeS: Math.floor(clock.nowMs() / 1000),
    };
  }

  return {
    /**
     * Adds a block on top, with the clock's time.
     * @param hash a hash that the chain really has, where that matters
     * @returns the block; its transfers have the hashes `txOf(block, index)`
     */
    async mine(coins: readonly Coin[] = [], hash?: string): Promise<BlockRef> {
      const next = nextBlock(path.at(-1));
      const block = hash === undefined ? next : { ...next, hash };
      const transfers = coins.map((coin, index) => ({ from: 'ab'.repeat(20), ...coin, tx: txOf(block, index), index }));
      await step([], [{ block, transfers }], []);
      path.push(block);
      return block;
    },
    /** Records that the block is deep enough and was checked again. */
    confirm: (block: BlockRef) => step([], [], [block]),
    /** Records that the chain itself calls everything up to this block final. */
    finalize: (block: BlockRef) => step([], [], [], block.number),
    /** Replaces the newest block with an empty one. */
    async orphanTip() {
      const tip = path.at(-1);
      invariant(tip, 'there is a block to orphan');
      const block = nextBlock(path.at(-2));
      await step([tip], [{ block, transfers: [] }], []);
      path.splice(-1, 1, block);
    },
    /** Reports that the network is followed, with this many blocks at the node. */
    report: (state: 'following' | 'fault' | 'halted') =>
      database().networks.report(
        networkReport(key, clock.nowMs(), {
          state,
          headNumber: path.at(-1)?.number ?? null,
          nodeConnected: state === 'following',
          reason: state === 'fault' ? { code: 'node_silent', message: 'the node does not answer' } : null,
          readThroughS: Math.floor(clock.nowMs() / 1000),
        }),
      ),
  };
}
