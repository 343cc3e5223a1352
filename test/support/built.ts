/**
 * Programs that tests start as processes run from `dist/`, as they do in production. The test command builds it; a test
 * file that is run alone builds here what is stale.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { installationFolder as root } from '../../src/lib/installation.ts';

execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), '--if-stale'], { stdio: 'inherit' });

/** Returns the file to run for a program that is named by its source, such as `src/main.ts`. */
export const built = (source: string): string => join(root, 'dist', source.replace(/\.ts$/, '.js'));

/** The operator's tool. */
export const quayside = join(root, 'scripts/quayside.mjs');

/** The signer's tool. */
export const quaysideSigner = join(root, 'scripts/quayside-signer.mjs');
