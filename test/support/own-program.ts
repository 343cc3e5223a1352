/**
 * Programs that belong to the tests. They run as the test that starts them does: built, or by tsx.
 */
import { fileURLToPath } from 'node:url';
import { isBuilt, runnable } from '../../src/lib/installation.ts';

/** Options of Node that such a program needs. */
export const loaderOptions: readonly string[] = isBuilt ? [] : ['--import', import.meta.resolve('tsx')];

/** Returns the file to run. @param module the program's source */
export const ownProgram = (module: URL): string => fileURLToPath(runnable(module));
