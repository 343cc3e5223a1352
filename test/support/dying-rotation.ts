/**
 * A program that rotates the secret key of the installation in its first argument and dies, as by `kill -9`, before or
 * after the effect with the number in its second: the key's file, each transaction, the note that it ended.
 *
 * @module
 */
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import type { Database } from '../../src/database/database.ts';
import { connectBeside, rotationParts } from './rotation-bench.ts';

const [file = '', at = '0', when = 'before'] = process.argv.slice(2);
const database = connectBeside({ file });
let effects = 0;

/** Dies at the chosen effect. */
async function counted<T>(work: () => Promise<T>): Promise<T> {
  const isIt = effects++ === Number(at);
  if (isIt && when === 'before') process.kill(process.pid, 'SIGKILL');
  const done = await work();
  if (isIt) process.kill(process.pid, 'SIGKILL');
  return done;
}

const dying: Database = {
  ...database,
  useSecretKey: (...args) => counted(() => database.useSecretKey(...args)),
  resealRows: (...args) => counted(() => database.resealRows(...args)),
  finishReseal: (...args) => counted(() => database.finishReseal(...args)),
};
await rotateSecretKey(rotationParts({ file }, dying));
