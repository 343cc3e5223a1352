/** Files that are written slice by slice with pauses: payers' pages are served by the same thread and database. */
import type { Clock } from '../lib/clock.ts';
import { type Cells, rowWriter } from '../lib/export-text.ts';
import type { Rows } from './filters.ts';

/** The pause after a slice, as often as long as it took to read: files take a third of the thread at most. */
const PAUSE_FACTOR = 2;
/** Shorter pauses would not let others begin. */
const PAUSE_MS_MIN = 4;

/** Yields a file slice by slice; memory does not grow with its length. @param read returns the rows after a place */
export async function* writeSlices(
  clock: Pick<Clock, 'sleep'>,
  columns: readonly string[],
  read: (after: string | null) => Promise<Rows<Cells>>,
): AsyncGenerator<string> {
  const writer = rowWriter('csv', columns);
  yield writer.begin;
  for (let after: string | null = null; ; ) {
    const startedAtMs = performance.now();
    const { rows, goOn }: Rows<Cells> = await read(after);
    await clock.sleep(Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * (performance.now() - startedAtMs)));
    if (rows.length > 0) yield rows.map((cells) => writer.row(cells, false)).join('');
    if (goOn === null) return;
    after = goOn;
  }
}
