/**
 * Gaps: blocks that a follower passes over without having read them.
 */
import { and, desc, eq, gt, gte, isNull, lt, lte, sql } from 'drizzle-orm';
import type { NetworkKey } from '../core/transfer.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, preparedInsert } from './engine/prepared.ts';
import { blockGaps } from './tables.ts';

const LISTED_MAX = 1_000;

/** To be called within a transaction. */
export type Gaps = Readonly<{
  /** Returns the gap, open or closed, that contains a number and reaches highest; null if there is none. */
  at(network: NetworkKey, number: number): BlockGap | null;
  /** Returns the newest `LISTED_MAX`, highest first. */
  list(network: NetworkKey): BlockGap[];
  add(network: NetworkKey, gap: BlockGap): void;
  /** Removes the gaps between two numbers that the chain is read again between. */
  removeBetween(network: NetworkKey, above: number, below: number): void;
  /** Ends the gaps at a number: what is above is read again. */
  cut(network: NetworkKey, through: number): void;
  /** Closes the open gaps that lie within these numbers and contain none of `doubtful`. @returns them */
  close(network: NetworkKey, read: GapReading, nowMs: number): BlockGap[];
}>;

const shown = {
  from: blockGaps.fromNumber,
  to: blockGaps.toNumber,
  because: blockGaps.because,
  atMs: blockGaps.atMs,
  closedAtMs: blockGaps.closedAtMs,
  holdsPayouts: blockGaps.holdsPayouts,
};

export function createGaps({ orm, client }: Db): Gaps {
  const insert = preparedInsert({ orm, client } as Db, blockGaps, ['id']);
  const isOfNetwork = eq(blockGaps.network, sql.placeholder('network'));
  const at = atFirstUse(
    orm
      .select(shown)
      .from(blockGaps)
      .where(
        and(
          isOfNetwork,
          gte(blockGaps.toNumber, sql.placeholder('number')),
          lte(blockGaps.fromNumber, sql.placeholder('number')),
        ),
      )
      .orderBy(desc(blockGaps.toNumber))
      .limit(1),
  );
  const list = atFirstUse(
    orm
      .select(shown)
      .from(blockGaps)
      .where(isOfNetwork)
      .orderBy(desc(blockGaps.toNumber), desc(blockGaps.id))
      .limit(LISTED_MAX),
  );
  return {
    at: (network, number) => at.get({ network, number }) ?? null,
    list: (network) => list.all({ network }),
    add: (network, { from, to, ...gap }) => void insert({ network, fromNumber: from, toNumber: to, ...gap }),
    removeBetween(network, above, below) {
      const isBetween = and(gt(blockGaps.fromNumber, above), lt(blockGaps.toNumber, below));
      orm
        .delete(blockGaps)
        .where(and(eq(blockGaps.network, network), isBetween))
        .run();
    },
    cut(network, through) {
      const isAbove = and(eq(blockGaps.network, network), gt(blockGaps.toNumber, through));
      orm
        .delete(blockGaps)
        .where(and(isAbove, gt(blockGaps.fromNumber, through)))
        .run();
      orm.update(blockGaps).set({ toNumber: through }).where(isAbove).run();
    },
    close(network, { from, to, doubtful }, nowMs) {
      const isOpenWithin = and(
        eq(blockGaps.network, network),
        isNull(blockGaps.closedAtMs),
        gte(blockGaps.fromNumber, from),
        lte(blockGaps.toNumber, to),
      );
      const open = orm.select().from(blockGaps).where(isOpenWithin).orderBy(blockGaps.fromNumber).all();
      return open
        .filter(({ fromNumber, toNumber }) => !doubtful.some((number) => fromNumber <= number && number <= toNumber))
        .flatMap(({ id }) =>
          orm.update(blockGaps).set({ closedAtMs: nowMs }).where(eq(blockGaps.id, id)).returning(shown).all(),
        );
    },
  };
}

/**
 * Blocks that a follower passes over without reading them; open until they were read. `holdsPayouts`: money out is
 * frozen on the network while it is open, because an earlier run may have paid something there that is not known here.
 */
export type BlockGap = Readonly<{
  from: number;
  to: number;
  because: string;
  atMs: number;
  closedAtMs: number | null;
  holdsPayouts: boolean;
}>;

/**
 * Blocks, inclusive, that were all read again. `doubtful` are the numbers at which the node does not show what is held,
 * so that what it lacks was not all added.
 */
export type GapReading = Readonly<{ from: number; to: number; doubtful: readonly number[] }>;
