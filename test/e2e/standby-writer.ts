/** Writes to a database as fast as it can, and prints the number and the time of each commit. Killed by its test. */
import { connectTo } from '../support/temp-database.ts';

const database = connectTo(process.argv[2] ?? '');
for (let number = 1; ; number++) {
  const atMs = Date.now();
  await database.alarms.raise({ atMs, code: 'written', message: `${number}`, network: null, sessionId: null });
  process.stdout.write(`${number} ${atMs}\n`);
}
