/** All rows of a database as text, to compare databases whose histories were the same. */
import Sqlite from 'better-sqlite3';

/** Returns all rows as text, without what is random: the ends of ids that only name, and sealed secrets. */
export function rowsOf(file: string): string[] {
  const client = new Sqlite(file, { readonly: true });
  try {
    const tables = client.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all();
    return (tables as string[])
      .filter((name) => !['meta', 'sqlite_sequence'].includes(name))
      .flatMap((name) => (client.prepare(`SELECT * FROM ${name}`).all() as object[]).map((row) => [name, row]))
      .map((row) => JSON.stringify(row).replace(/\b(evt|held|dlv|we)_\w+/g, '$1_'))
      .map((row) => row.replaceAll(/_secret":"[^"]*"/g, '_secret":""'))
      .sort();
  } finally {
    client.close();
  }
}
