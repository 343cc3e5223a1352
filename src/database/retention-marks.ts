/** What retention remembers from night to night, by its name in `meta`. */
import type { Db } from './engine/open.ts';

/** The last session that was looked at for payer data: all up to it are done. */
export const ANONYMISED_THROUGH = 'anonymised_through';
/** The last attempt whose answer was removed. */
export const ATTEMPTS_THROUGH = 'attempts_aged_through';
/** The time of the last run, in Unix milliseconds. */
export const LAST_RUN = 'retention_run';

/** Returns the function that has a session looked at for payer data again, however long ago it ended. */
export function createPayerDataMark({ client }: Db): (sessionId: string) => void {
  const rewind = client.prepare(
    `UPDATE meta SET value = :before WHERE name = '${ANONYMISED_THROUGH}' AND value > :before`,
  );
  return (sessionId) => void rewind.run({ before: sessionId.slice(0, -1) });
}

/** To be used within a transaction. */
export function createMarks({ client }: Db) {
  const read = client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
  const write = client.prepare(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  return {
    read: (name: string) => (read.get(name) as string | undefined) ?? null,
    write: (name: string, value: string) => void write.run(name, value),
  };
}

export type Marks = ReturnType<typeof createMarks>;
