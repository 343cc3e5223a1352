/**
 * Ends a process that cannot run Quayside: its Node is too old, or SQLite has no binary for this machine.
 *
 * Each program imports this module before any other. better-sqlite3 loads its binary when the first database is opened,
 * and on a Node that is too old that ends in a crash instead of an error.
 */
import { createRequire } from 'node:module';

/** The oldest major version of Node with all that better-sqlite3 13 needs (its package.json, "engines"). */
const NODE_MAJOR_MIN = 22;
const EXIT_CANNOT_START = 2;

/** Returns why this version of Node is refused, as one sentence; null if it is new enough. */
export function nodeRefusal(version: string): string | null {
  if (Number.parseInt(version, 10) >= NODE_MAJOR_MIN) return null;
  return (
    `quayside: this is Node ${version}, and Quayside needs Node ${NODE_MAJOR_MIN} or later: ` +
    'install Node 24 from https://nodejs.org and start again.'
  );
}

/**
 * Returns why SQLite cannot be loaded, as one sentence; null if it can.
 * @param load opens a database in memory
 */
export function sqliteRefusal(machine: string, load: () => void): string | null {
  try {
    load();
    return null;
  } catch (error) {
    const reason = String(error instanceof Error ? error.message : error).split('\n', 1)[0];
    return (
      `quayside: SQLite has no binary that runs on this machine (${machine}: ${reason}): use Linux with glibc 2.34 or ` +
      'later or with musl, macOS or Windows, on x64 or arm64, and run `npm ci` on the machine that runs Quayside.'
    );
  }
}

function openInMemory(): void {
  const Sqlite = createRequire(import.meta.url)('better-sqlite3');
  new Sqlite(':memory:').close();
}

// A child's parent has opened SQLite already.
const refusal =
  nodeRefusal(process.versions.node) ??
  (process.send ? null : sqliteRefusal(`${process.platform}-${process.arch}`, openInMemory));
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`);
  process.exit(EXIT_CANNOT_START);
}
