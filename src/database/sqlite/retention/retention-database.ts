/**
 * The connection of the program that removes old data.
 * @module
 */
import type { RetentionDatabase } from '../../retention.ts';
import { refuseOtherSchema } from '../migrate.ts';
import { type OpenOptions, openDatabase } from '../open.ts';
import { createSessionArchive, LAST_RUN } from './archive.ts';
import { retentionSteps } from './steps.ts';

/**
 * Opens a file that `migrate` has brought to the current schema. Deleted content is overwritten with zeros. Foreign
 * keys are not checked: for each session that moves, a check would read whole tables, and what may refer to it is
 * looked at before.
 * @throws Fault: see `openSqliteDatabase`
 */
export function openRetentionDatabase(options: OpenOptions): RetentionDatabase {
  const db = openDatabase(options);
  try {
    refuseOtherSchema(db);
    db.client.pragma('foreign_keys = OFF');
    db.client.pragma('secure_delete = ON');
    const steps = retentionSteps(db, createSessionArchive(db));
    const readMark = db.client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
    const keepMark = db.client.prepare(
      'INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    );
    return {
      async retainSlice(slice) {
        const { find, change, remembersAs } = steps[slice.kind];
        const start = (): typeof slice => {
          if (slice.place !== null || remembersAs === undefined) return slice;
          const mark = readMark.get(remembersAs) as string | undefined;
          return mark === undefined ? slice : { ...slice, place: [0, mark] };
        };
        // The write lock is taken only when there is something to do.
        const seen = db.read(() => find(start()));
        if (slice.isDryRun || (seen.items.length === 0 && seen.mark === undefined))
          return { done: seen.items.length, next: seen.next };
        return db.write(() => {
          const { items, next, mark } = find(start());
          change(items, slice.nowMs);
          if (mark !== undefined && remembersAs !== undefined) keepMark.run({ name: remembersAs, value: mark });
          return { done: items.length, next };
        });
      },
      async rememberRun(run) {
        await db.write(() => keepMark.run({ name: LAST_RUN, value: JSON.stringify(run) }));
      },
      close: db.close,
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
