/**
 * Tells whether `dist/` was built from the sources beside it. A build keeps two digests of its sources in `build.json`: of sizes and
 * times, which takes milliseconds to compare, and of contents, which settles it where a copy of the folder has other times.
 * @module
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';
import { installationFolder, isBuilt } from './installation.ts';

const PROJECT = 'tsconfig.build.json';
const EXTENSIONS = /\.(ts|sql|css|js|json)$/;

type Stamp = Readonly<{ times: string; contents: string }>;

const at = (path: string): string => join(installationFolder, path);

/** Returns the files that a build is made of, from the installation's folder: what the compiler reads, and what is copied. */
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

const digest = (parts: readonly (string | Buffer)[]): string =>
  parts.reduce((hash, part) => hash.update(part).update('\0'), createHash('sha256')).digest('hex');

const inputs = (): string[] => [...listSources(), PROJECT, 'tsconfig.json'];

const timesOf = (paths: readonly string[]): string =>
  digest(
    paths.flatMap((path) => {
      const { size, mtimeMs } = statSync(at(path));
      return [path, String(size), String(mtimeMs)];
    }),
  );

const contentsOf = (paths: readonly string[]): string =>
  digest(paths.flatMap((path) => [path, readFileSync(at(path))]));

/**
 * Marks a folder as built from the sources as they are.
 * @param sinceMs Unix ms when the compiler started; when a source has changed since, nothing is marked and the build counts as stale
 */
export function stampBuild(folder: string, sinceMs: number): void {
  const paths = inputs();
  if (paths.some((path) => statSync(at(path)).mtimeMs >= sinceMs)) return;
  const stamp: Stamp = { times: timesOf(paths), contents: contentsOf(paths) };
  writeFileSync(join(folder, 'build.json'), `${JSON.stringify(stamp, null, 2)}\n`);
}

/** Whether `dist/` was made from the sources beside it; also true where there are no sources. */
export function isBuildFresh(): boolean {
  if (!existsSync(at(PROJECT)) || !existsSync(at('src'))) return true;
  const file = at('dist/build.json');
  if (!existsSync(file)) return false;
  const stamp = JSON.parse(readFileSync(file, 'utf8')) as Stamp;
  const paths = inputs();
  return timesOf(paths) === stamp.times || contentsOf(paths) === stamp.contents;
}

/**
 * For programs that people start: refuses to run a build that is not of the sources beside it.
 * @throws Fault permanent `build_stale`
 */
export function refuseStaleBuild(): void {
  // The supervisor has looked on behalf of its children.
  if (!isBuilt || process.send || isBuildFresh()) return;
  throw permanent(
    'build_stale',
    `${at('dist')} was not built from the sources beside it: run \`npm run build\`, then start again`,
  );
}
