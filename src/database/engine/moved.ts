/**
 * The mark of a move: where the rows of a database went, or where those come from that it does not have yet. A
 * database with a mark is not opened.
 */
import { type Fault, permanent } from '../../core/fault.ts';
import type { Db } from './open.ts';

/** The mark's name in `meta`. */
export const MOVE = 'move';

/** `to`: everything is at `place` now. `from`: what comes from `place` is not all here. `isServer`: of PostgreSQL. */
export type Mark = Readonly<{ kind: 'to' | 'from'; place: string; isServer: boolean; atMs: number }>;

const markQuery = `SELECT value FROM meta WHERE name = '${MOVE}'`;

/**
 * Reads the mark of a database.
 * @param all returns rows as lists
 */
export async function readMark(all: (text: string) => Promise<readonly unknown[]>): Promise<Mark | null> {
  const [row] = (await all(markQuery)) as readonly (readonly [string])[];
  return row ? (JSON.parse(row[0]) as Mark) : null;
}

/** @throws Fault permanent `database_moved`, `move_unfinished` */
export async function refuseMoved(db: Db): Promise<void> {
  const mark = await db.read(() => readMark((text) => db.client.prepare(text).raw().all()));
  if (mark) throw movedFault(db.name, mark);
}

/** Returns the refusal of a database that has a mark: where the data is, and the way back. */
export function movedFault(name: string, { kind, place, isServer, atMs }: Mark): Fault {
  if (kind === 'from') {
    return permanent(
      'move_unfinished',
      `The move from ${place} to ${name} has not ended: run the same \`quayside database move\` again, or go on with ` +
        `${place}, which has everything.`,
    );
  }
  const [where, back] = isServer
    ? ['set QUAYSIDE_DATABASE_URL to it', 'sqlite` brings everything back']
    : ['unset QUAYSIDE_DATABASE_URL', 'URL` moves it to an empty database again'];
  return permanent(
    'database_moved',
    `${name} was moved to ${place} on ${new Date(atMs).toISOString().slice(0, 10)}: ${where}, or change your mind: ` +
      `\`quayside database move --to ${back}.`,
  );
}
