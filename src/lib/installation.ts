/**
 * Where the files of this installation are: programs run from `dist/` or, in development, from the sources by tsx.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** False in development, where tsx runs the sources. */
export const isBuilt = import.meta.url.endsWith('.js');

/** The folder that holds `package.json`, `config/` and, once built, `dist/`. */
export const installationFolder = fileURLToPath(new URL(isBuilt ? '../../../' : '../../', import.meta.url));

/** Returns the file to run for a module's source: the `.js` file if this code is built. */
export const runnable = (module: URL): URL => (isBuilt ? new URL(module.href.replace(/\.ts$/, '.js')) : module);

/** Reads a JSON file that comes with the program. @param path from the installation's folder, such as `package.json` */
export const readShipped = <T>(path: string): T =>
  JSON.parse(readFileSync(join(installationFolder, path), 'utf8')) as T;
