/**
 * A separate process that disturbs the writers of a database file. Argument: the file. It does what each message says
 * and then sends `done`: `hold` takes SQLite's write lock, `release` gives it back, `turn` takes the turn to write
 * next, `write` writes back to back until it is killed.
 */
import Sqlite from 'better-sqlite3';
import { openSqlite } from '../../src/database/engine/open.ts';
import { openWriteTurn } from '../../src/database/engine/write-queue.ts';
import { nextNumber } from '../../src/database/meta.ts';

/** How long each write holds the lock. */
const WRITE_MS = 20;

const [file = ''] = process.argv.slice(2);
const client = new Sqlite(file, { timeout: 5000 });
const done = () => process.send?.('done');

async function writeOn(): Promise<void> {
  const db = openSqlite({ file, busyTimeoutMs: 60_000 });
  const insert = db.client.prepare("INSERT INTO alarms (id, at_ms, code, message) VALUES (?, 1, 'back_to_back', '')");
  for (let n = 0; ; n++) {
    await db.write(async () => {
      await insert.run(await nextNumber(db, 'alarms'));
      const untilMs = performance.now() + WRITE_MS;
      while (performance.now() < untilMs);
    });
    if (n === 0) done();
  }
}

process.on('message', (message) => {
  if (message === 'write') return void writeOn();
  if (message === 'hold') client.exec('BEGIN IMMEDIATE');
  else if (message === 'release') client.exec('ROLLBACK');
  else if (message === 'turn') openWriteTurn(file, 5000).take();
  done();
});
done();
