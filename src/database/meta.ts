/** Single values of the file, by name: marks that retention leaves, reports, proofs, and what was found last. */
import { readBigJson, writeBigJson } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';

/** The last session that was looked at for payer data: all up to it are done. */
export const ANONYMISED_THROUGH = 'anonymised_through';
/** The last attempt whose answer was removed. */
export const ATTEMPTS_THROUGH = 'attempts_aged_through';
/** The time of retention's last run, in Unix milliseconds. */
export const LAST_RUN = 'retention_run';

/** To be used within a transaction. */
export function createMeta({ client }: Pick<Db, 'client'>) {
  const read = client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
  const write = client.prepare(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const within = client.prepare('SELECT value FROM meta WHERE name > ? AND name < ? ORDER BY name').pluck();
  const readText = async (name: string): Promise<string | null> =>
    ((await read.get(name)) as string | undefined) ?? null;
  return {
    read: readText,
    write: async (name: string, value: string) => {
      await write.run(name, value);
    },
    /** Returns plain data and integers of any size; null before it is first written. */
    async readData<T>(name: string): Promise<T | null> {
      const text = await readText(name);
      return text === null ? null : readBigJson<T>(text);
    },
    writeData: async (name: string, value: unknown) => {
      await write.run(name, writeBigJson(value));
    },
    /** Returns the values that were written under names of one kind, such as `compared live:tron`, by name. */
    listData: async <T>(kind: string): Promise<T[]> =>
      // `!` follows the space in the order of characters.
      ((await within.all(`${kind} `, `${kind}!`)) as string[]).map((text) => readBigJson<T>(text)),
  };
}

export type Meta = ReturnType<typeof createMeta>;

/** Returns the function that has a session looked at for payer data again, however long ago it ended. */
export function createPayerDataMark({ client }: Db): (sessionId: string) => Promise<void> {
  const rewind = client.prepare(
    `UPDATE meta SET value = :before WHERE name = '${ANONYMISED_THROUGH}' AND value > :before`,
  );
  return async (sessionId) => {
    await rewind.run({ before: sessionId.slice(0, -1) });
  };
}

// ── Counters ─────────────────────────────────────────────────────────────────────────────────────────────────────────
// Numbers that give an order: ids give none. A transaction that takes one holds the counter until its commit, so that a
// reader who has seen a number has seen every lower one.

/**
 * Takes the owner's next number, within a transaction and as late in it as possible.
 * @param owner a kind and the owner's id, such as `events:sto_1`
 * @param least the number is not below it
 */
export type NextNumber = (owner: string, least?: number) => Promise<number>;

export function createCounters({ client }: Db): NextNumber {
  const next = client
    .prepare(
      `INSERT INTO counters (owner, last) VALUES (:owner, :least) ON CONFLICT (owner) DO UPDATE
       SET last = CASE WHEN excluded.last > counters.last THEN excluded.last ELSE counters.last + 1 END
       RETURNING last`,
    )
    .pluck();
  return async (owner, least = 1) => (await next.get({ owner, least })) as number;
}
