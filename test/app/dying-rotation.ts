/**
 * A program that rotates the secret key of the installation whose database its first argument names, and dies as by
 * `kill -9` at the step with the number in its second.
 */
import { rotateSecretKey } from '../../src/app/secret-key-rotation.ts';
import { rotationParts } from './rotation-bench.ts';

const [file = '', at = '0'] = process.argv.slice(2);
let steps = 0;

await rotateSecretKey(
  rotationParts(file, () => {
    if (steps++ === Number(at)) process.kill(process.pid, 'SIGKILL');
  }),
);
