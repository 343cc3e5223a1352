/**
 * A program that applies the migrations of the folder in its third argument to the database in its first, with copies
 * in the folder in its second. Prints `copied` after the copy, and at the end the names of the migrations that it has
 * applied, or the code of the fault.
 */
import { writeSync } from 'node:fs';
import { Fault } from '../../../src/core/fault.ts';
import { migrate } from '../../../src/database/engine/migrate.ts';
import type { Log } from '../../../src/lib/log.ts';

const [file = '', backupDir = '', directory = ''] = process.argv.slice(2);
// Not buffered: what was printed before a kill has been read.
const say = (line: string): void => void writeSync(1, `${line}\n`);
const log = { info: ({ backup, migration }: Record<string, string>) => say(backup ? 'copied' : (migration ?? '')) };
try {
  migrate({ file, backupDir, directory, log: log as unknown as Log });
  say('done');
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  say(error.code);
  process.exitCode = 1;
}
