/** The connection of the program that removes old data. */
import type { RetentionDatabase } from '../../retention.ts';
import { refuseOtherSchema } from '../migrate.ts';
import { type OpenOptions, openDatabase } from '../open.ts';
import { createMarks, LAST_RUN } from './marks.ts';
import { walks } from './walks.ts';

/**
 * Opens a file that `migrate` has brought to the current schema. Deleted content is overwritten with zeros.
 * @throws Fault: see `openSqliteDatabase`
 */
export function openRetentionDatabase(options: OpenOptions): RetentionDatabase {
  const db = openDatabase(options);
  try {
    refuseOtherSchema(db);
    db.client.pragma('secure_delete = ON');
    const marks = createMarks(db);
    return {
      async *retain(kind, times) {
        const walk = walks[kind](db, marks, times);
        for (let isEnd = false; !isEnd; ) {
          const slice = await db.write(walk);
          isEnd = slice.isEnd;
          yield slice.done;
        }
      },
      async rememberRun(atMs) {
        await db.write(() => marks.write(LAST_RUN, String(atMs)));
      },
      close: db.close,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
