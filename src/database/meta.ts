/** Single values by name: retention's marks, reports, proofs, and last results. */
import { readBigJson, writeBigJson } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';

/** The id up to which sessions were searched for old payer data. */
export const ANONYMISED_THROUGH = 'anonymised_through';
/** The id up to which attempts' answers were removed. */
export const ATTEMPTS_THROUGH = 'attempts_aged_through';
/** The time of retention's last run, in Unix milliseconds. */
export const LAST_RUN = 'retention_run';

type On = Pick<Db, 'client'>;

// Call these within a transaction.
export async function readMeta({ client }: On, name: string): Promise<string | null> {
  const read = client.values<string>('SELECT value FROM meta WHERE name = ?');
  return (await read.get(name)) ?? null;
}

export async function writeMeta({ client }: On, name: string, value: string): Promise<void> {
  const text = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  await client.prepare(text).run(name, value);
}

/** Writes plain data. Integers may have any size. */
export const writeData = (db: On, name: string, value: unknown): Promise<void> =>
  writeMeta(db, name, writeBigJson(value));

/** Returns the values under all names of one kind, such as `compared live:tron`, in their order. */
export async function listData<T>({ client }: On, kind: string): Promise<T[]> {
  const within = client.values<string>('SELECT value FROM meta WHERE name > ? AND name < ? ORDER BY name');
  // `!` follows the space in the order of characters.
  return (await within.all(`${kind} `, `${kind}!`)).map((text) => readBigJson<T>(text));
}

/** Moves the mark of payer data back before a session, so that retention searches it again. */
export async function lookAgainForPayerData({ client }: On, sessionId: string): Promise<void> {
  await client
    .prepare(`UPDATE meta SET value = :before WHERE name = '${ANONYMISED_THROUGH}' AND value > :before`)
    .run({ before: sessionId.slice(0, -1) });
}

// ── Counters ─────────────────────────────────────────────────────────────────────────────────────────────────────────
// Counters give rows an order, which ids do not. A transaction that takes a number holds the counter until its commit.
// A reader who has seen a number has therefore seen every lower one.

/**
 * Takes the owner's next number, within a transaction and as late in it as possible.
 * @param owner a kind and the owner's id, such as `events:sto_1`
 * @param least lower bound of the number
 */
export async function nextNumber({ client }: On, owner: string, least = 1): Promise<number> {
  const next = client.values<number>(
    `INSERT INTO counters (owner, last) VALUES (:owner, :least) ON CONFLICT (owner) DO UPDATE
     SET last = CASE WHEN excluded.last > counters.last THEN excluded.last ELSE counters.last + 1 END
     RETURNING last`,
  );
  return Number(await next.get({ owner, least }));
}
