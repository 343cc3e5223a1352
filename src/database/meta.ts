/** Single values of the file, by name: marks that retention leaves, reports, proofs, and what was found last. */
import { readBigJson, writeBigJson } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';

/** The last session that was looked at for payer data: all up to it are done. */
export const ANONYMISED_THROUGH = 'anonymised_through';
/** The last attempt whose answer was removed. */
export const ATTEMPTS_THROUGH = 'attempts_aged_through';
/** The time of retention's last run, in Unix milliseconds. */
export const LAST_RUN = 'retention_run';

type On = Pick<Db, 'client'>;

// To be used within a transaction.
export async function readMeta({ client }: On, name: string): Promise<string | null> {
  const read = client.values<string>('SELECT value FROM meta WHERE name = ?');
  return (await read.get(name)) ?? null;
}

export async function writeMeta({ client }: On, name: string, value: string): Promise<void> {
  const text = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  await client.prepare(text).run(name, value);
}

/** Writes plain data, with integers of any size. */
export const writeData = (db: On, name: string, value: unknown): Promise<void> =>
  writeMeta(db, name, writeBigJson(value));

/** Returns the values that were written under names of one kind, such as `compared live:tron`, by name. */
export async function listData<T>({ client }: On, kind: string): Promise<T[]> {
  const within = client.values<string>('SELECT value FROM meta WHERE name > ? AND name < ? ORDER BY name');
  // `!` follows the space in the order of characters.
  return (await within.all(`${kind} `, `${kind}!`)).map((text) => readBigJson<T>(text));
}

/** Has a session looked at for payer data again, however long ago it ended. */
export async function lookAgainForPayerData({ client }: On, sessionId: string): Promise<void> {
  await client
    .prepare(`UPDATE meta SET value = :before WHERE name = '${ANONYMISED_THROUGH}' AND value > :before`)
    .run({ before: sessionId.slice(0, -1) });
}

// ── Counters ─────────────────────────────────────────────────────────────────────────────────────────────────────────
// Numbers that give an order: ids give none. A transaction that takes one holds the counter until its commit, so that a
// reader who has seen a number has seen every lower one.

/**
 * Takes the owner's next number, within a transaction and as late in it as possible.
 * @param owner a kind and the owner's id, such as `events:sto_1`
 * @param least the number is not below it
 */
export async function nextNumber({ client }: On, owner: string, least = 1): Promise<number> {
  const next = client.values<number>(
    `INSERT INTO counters (owner, last) VALUES (:owner, :least) ON CONFLICT (owner) DO UPDATE
     SET last = CASE WHEN excluded.last > counters.last THEN excluded.last ELSE counters.last + 1 END
     RETURNING last`,
  );
  return Number(await next.get({ owner, least }));
}
