/**
 * The thread that adds up the books: reading every entry takes too long for a thread that follows a network.
 * @module
 */
import { type BooksCheck, ledgerProblems } from '../database/money-out.ts';
import { ledgerAudit } from '../database/sqlite/ledger-audit.ts';
import { openDatabase } from '../database/sqlite/open.ts';
import { answer, type ThreadAnswer } from '../lib/thread-pool.ts';

/** It only reads. */
const BUSY_TIMEOUT_MS = 10_000;

/** The task of the thread, found by name. @param file the database's */
export const checkBooks = (file: string): Promise<ThreadAnswer<BooksCheck>> =>
  answer(async () => {
    const db = openDatabase({ file, busyTimeoutMs: BUSY_TIMEOUT_MS, bytesMax: null });
    try {
      const report = await ledgerAudit(db).verifyLedger();
      return { entries: report.entries, problems: ledgerProblems(report) };
    } finally {
      db.close();
    }
  });
