/**
 * The SQL files that make a database and bring it up to date, and how it remembers them. `schema.sql` makes a new
 * one, and a change after a release is a numbered file beside it. PostgreSQL gets a translation of each.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { permanent } from '../../core/fault.ts';

export type Script = Readonly<{ version: number; name: string; text: string; checksum: string }>;

/** The schema of a new database, and the migrations that bring an existing one to it. */
export type Scripts = Readonly<{ schema: Script; migrations: readonly Script[] }>;

/** The name in `meta` of the time at which the database was made, in Unix milliseconds. */
export const MADE_AT_MS = 'made_at_ms';

/** The scripts that a database was made with are in its `meta` under this word and their number. */
const APPLIED = 'migration';
type Applied = Readonly<{ version: number; name: string; checksum: string; appliedAtMs: number }>;

const ownDirectory = fileURLToPath(new URL('../', import.meta.url));

/** Reads `schema.sql` and `0001_name.sql`, `0002_name.sql`, …, which must be without gaps. */
export function readScripts(directory = ownDirectory): Scripts {
  const read = (name: string, version: number): Script => {
    const text = readFileSync(join(directory, name), 'utf8');
    return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') };
  };
  const names = readdirSync(directory)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort();
  const migrations = names.map((name, at) => {
    const version = Number(name.slice(0, 4));
    if (version === at + 1) return read(name, version);
    throw permanent('migration_missing', `Migration ${at + 1} is missing in ${directory}: ${name} follows a gap.`);
  });
  return { schema: read('schema.sql', 0), migrations };
}

/** Returns the version of the schema that this program uses. */
const currentVersion = (): number => readScripts().migrations.length;

/** Reads what a database was made with. */
export const appliedQuery = `SELECT value FROM meta WHERE name > '${APPLIED} ' AND name < '${APPLIED}!' ORDER BY name`;

/** A database with a schema: its name for messages, the schema's version, and the answer to `appliedQuery`. */
type Made = Readonly<{ name: string; version: number; applied: readonly string[] }>;

/** Returns the newest version in an answer to `appliedQuery`. */
export const newestOf = (applied: readonly string[]): number =>
  Math.max(...applied.map((text) => (JSON.parse(text) as Applied).version));

/**
 * Returns the migrations that a database lacks.
 * @throws Fault permanent `database_newer`, `migration_altered`
 */
export function scriptsAfter({ name, version, applied }: Made, { migrations }: Scripts): readonly Script[] {
  if (version > migrations.length) {
    throw permanent(
      'database_newer',
      `${name} has schema ${version}, but this program knows ${migrations.length}. Start the newer program, or ` +
        'restore the backup that was made before the upgrade.',
    );
  }
  for (const text of applied) {
    const { version: number, checksum } = JSON.parse(text) as Applied;
    if (number === 0) continue;
    const migration = migrations[number - 1];
    if (migration?.checksum === checksum) continue;
    throw permanent(
      'migration_altered',
      `${migration?.name ?? `Migration ${number}`} differs from the text that was applied to ${name}. Restore the ` +
        'released file; change the schema in a new migration.',
    );
  }
  return migrations.slice(version);
}

/** Returns the rows of `meta` about applied scripts. A new database has what its migrations would have done. */
export function recordsOf(scripts: readonly Script[], appliedAtMs: number): readonly (readonly [string, string])[] {
  const made = scripts[0]?.version === 0 ? [[MADE_AT_MS, String(appliedAtMs)] as const] : [];
  const rows = scripts.map(({ version, name, checksum }) => {
    const applied: Applied = { version, name, checksum, appliedAtMs };
    return [`${APPLIED} ${String(version).padStart(4, '0')}`, JSON.stringify(applied)] as const;
  });
  return [...made, ...rows];
}

/** @throws Fault permanent `schema_not_current` */
export function refuseOtherVersion(name: string, version: number): void {
  const current = currentVersion();
  if (version === current) return;
  throw permanent(
    'schema_not_current',
    `${name} has schema ${version}, but this program needs ${current}. ` +
      (version < current ? 'Run `npm start`, which brings the schema up to date.' : 'Start the newer program.'),
  );
}
