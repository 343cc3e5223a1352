/**
 * Helpers for the bodies of transactions: work on rows one after the other, pages, and dry runs.
 */
import type { Db } from './open.ts';

/** Runs `work` on one row after the other. @returns its results */
export async function mapInOrder<Row, Made>(
  rows: readonly Row[],
  work: (row: Row, at: number) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = [];
  for (const [at, row] of rows.entries()) made.push(await work(row, at));
  return made;
}

/** Returns the rows for which `work` returns true. */
export async function filterInOrder<Row>(rows: readonly Row[], work: (row: Row) => Promise<boolean>): Promise<Row[]> {
  const kept: Row[] = [];
  for (const row of rows) if (await work(row)) kept.push(row);
  return kept;
}

/** Runs `work` in one write transaction, which a dry run rolls back. @returns its result */
export async function writeOrTry<T>(db: Db, isDryRun: boolean, work: () => T | Promise<T>): Promise<T> {
  if (!isDryRun) return db.write(work);
  const undone: T[] = [];
  const undo = new Error('a dry run is rolled back');
  try {
    await db.write(async () => {
      undone.push(await work());
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  return undone[0] as T;
}

/**
 * Returns a page: the rows that fit among the first `lookMax`, in their order. The next page begins after `goOn`, which
 * is null at the end.
 * @param read at least `lookMax + 1` rows, if there are as many
 */
export function pageOf<Row>(
  read: readonly Row[],
  fits: (row: Row) => boolean,
  { limit, lookMax }: Readonly<{ limit: number; lookMax: number }>,
): Readonly<{ rows: readonly Row[]; goOn: Row | null }> {
  const looked = read.slice(0, lookMax);
  const found = looked.filter(fits);
  const rows = found.slice(0, limit);
  const rest = read.length > lookMax ? looked.at(-1) : null;
  return { rows, goOn: (found.length > limit ? rows.at(-1) : rest) ?? null };
}
