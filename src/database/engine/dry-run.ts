/**
 * A command that can be tried: it does everything, and then takes it back.
 */
import type { Db } from './open.ts';

/** Runs `work` in one write transaction; with `isDryRun` that transaction is rolled back. @returns what it returns */
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
