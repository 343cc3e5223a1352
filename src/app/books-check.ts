/**
 * Adds up the ledger in a thread of its own, as `quayside ledger verify` does.
 * @module
 */
import type { BooksCheck } from '../database/money-out.ts';
import { openThreadPool } from '../lib/thread-pool.ts';

const IDLE_MS_MAX = 1_000;

/** Returns a check of a database's books; its thread starts with the first one. @param file the database's */
export function openBooksCheck(file: string) {
  const thread = openThreadPool<string, BooksCheck>({
    module: new URL('./books-worker.ts', import.meta.url),
    task: 'checkBooks',
    threadsMax: 1,
    idleMsMax: IDLE_MS_MAX,
  });
  return { run: (): Promise<BooksCheck> => thread.run(file), close: () => thread.close() };
}
