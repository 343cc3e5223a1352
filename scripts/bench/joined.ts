/**
 * Programs of a benchmark as JavaScript, joined into one file each, as `npm start` runs the real ones: what compiles
 * TypeScript while it is loaded also makes functions slower.
 * @module
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

export type Joined = Readonly<{ path(program: URL): string; remove(): void }>;

/** Lets a module find its files as before, whichever file it ends up in. */
const places: Plugin = {
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)), loader: 'ts' };
    });
  },
};

/** Joins programs of one folder into files that `fork` can run; their packages stay in `node_modules`. */
export async function joinScripts(programs: readonly URL[]): Promise<Joined> {
  mkdirSync('.tmp', { recursive: true });
  const folder = mkdtempSync(resolve('.tmp/joined-'));
  await build({
    entryPoints: programs.map((program) => fileURLToPath(program)),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    packages: 'external',
    logLevel: 'warning',
    plugins: [places],
  });
  return {
    path: ({ pathname }) => join(folder, `${basename(pathname, '.ts')}.mjs`),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
