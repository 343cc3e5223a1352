/**
 * Whether `dist/` was built from the sources next to it. A build writes the digest of its sources to `build.json`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installationFolder } from './installation.ts';

const PROJECT = 'tsconfig.build.json';
const EXTENSIONS = /\.(ts|sql|css|js|json|txt|mjs|php|py|go|sh)$/;

const at = (path: string): string => join(installationFolder, path);

/** Returns the sources of a build, relative to the installation's folder: what is compiled, and what is copied. */
export function listSources(): string[] {
  const { include, exclude } = JSON.parse(readFileSync(at(PROJECT), 'utf8')) as Record<string, string[]>;
  const isLeftOut = (path: string) =>
    path.endsWith('/tsconfig.json') || exclude?.some((one) => path === one || path.startsWith(`${one}/`));
  return (include ?? [])
    .flatMap((folder) =>
      readdirSync(at(folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    .filter((path) => EXTENSIONS.test(path) && !isLeftOut(path))
    .sort();
}

const inputs = (): string[] => [...listSources(), PROJECT, 'tsconfig.json'];

/** Returns the digest of names and contents. */
function digestOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths)
    hash
      .update(`${path}\0`)
      .update(readFileSync(at(path)))
      .update('\0');
  return hash.digest('hex');
}

/**
 * Marks a folder as built from the current sources.
 * @param sinceMs Unix ms when the compiler started; if a source has changed since, the build is not marked and is stale
 */
export function stampBuild(folder: string, sinceMs: number): void {
  const paths = inputs();
  if (paths.some((path) => statSync(at(path)).mtimeMs >= sinceMs)) return;
  writeFileSync(join(folder, 'build.json'), `${JSON.stringify({ sources: digestOf(paths) })}\n`);
}

/** Returns whether `dist/` was built from the sources next to it; also true if there are none. */
export function isBuildFresh(): boolean {
  if (!existsSync(at(PROJECT)) || !existsSync(at('src'))) return true;
  const file = at('dist/build.json');
  if (!existsSync(file)) return false;
  const stamp = JSON.parse(readFileSync(file, 'utf8')) as { sources?: string };
  return stamp.sources === digestOf(inputs());
}
