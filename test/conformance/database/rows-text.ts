/** All rows of a database as text, to compare databases whose histories were the same. */
import Sqlite from 'better-sqlite3';

/** Numbers of events and deliveries: those of one millisecond follow the order in which an engine finds rows. */
const numbered: Readonly<Record<string, readonly string[]>> = {
  events: ['id'],
  deliveries: ['id', 'event_id'],
  attempts: ['id', 'delivery_id'],
};

/** Returns all rows as text, without what is random: the ends of ids that only name, and sealed secrets. */
export function rowsOf(file: string): string[] {
  const client = new Sqlite(file, { readonly: true });
  try {
    const tables = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
    return (tables as string[])
      .filter((name) => !['meta', 'sqlite_sequence'].includes(name))
      .flatMap((name) => (client.prepare(`SELECT * FROM ${name}`).all() as object[]).map((row) => [name, row] as const))
      .map(([name, row]) => JSON.stringify([name, row], (key, value) => (numbered[name]?.includes(key) ? 0 : value)))
      .map((row) => row.replace(/\b(held|we)_\w+/g, '$1_'))
      .map((row) => row.replaceAll(/_secret":"[^"]*"/g, '_secret":""'))
      .sort();
  } finally {
    client.close();
  }
}
