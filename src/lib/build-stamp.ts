/**
 * Whether `dist/` was built from the sources next to it. A build writes two digests of its sources to `build.json`: of
 * sizes and times, which takes milliseconds to compare, and of contents, for copies of the folder with other times.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';
import { installationFolder, isBuilt } from './installation.ts';

const PROJECT = 'tsconfig.build.json';
const EXTENSIONS = /\.(ts|sql|css|js|json|txt|mjs|php|py|go|sh)$/;

type Stamp = Readonly<{ times: string; contents: string }>;

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
 * Marks a folder as built from the current sources.
 * @param sinceMs Unix ms when the compiler started; if a source has changed since, the build is not marked and is stale
 */
export function stampBuild(folder: string, sinceMs: number): void {
  const paths = inputs();
  if (paths.some((path) => statSync(at(path)).mtimeMs >= sinceMs)) return;
  const stamp: Stamp = { times: timesOf(paths), contents: contentsOf(paths) };
  writeFileSync(join(folder, 'build.json'), `${JSON.stringify(stamp, null, 2)}\n`);
}

/** Returns whether `dist/` was built from the sources next to it; also true if there are none. */
export function isBuildFresh(): boolean {
  if (!existsSync(at(PROJECT)) || !existsSync(at('src'))) return true;
  const file = at('dist/build.json');
  if (!existsSync(file)) return false;
  const stamp = JSON.parse(readFileSync(file, 'utf8')) as Stamp;
  const paths = inputs();
  return timesOf(paths) === stamp.times || contentsOf(paths) === stamp.contents;
}

/** The build of this process was fresh when it looked. */
let wasFresh = false;

/**
 * Refuses to run a stale build. For programs that people start.
 * @throws Fault permanent `build_stale`
 */
export function refuseStaleBuild(): void {
  // The supervisor has checked it for its children.
  if (!isBuilt || process.send || wasFresh) return;
  wasFresh = isBuildFresh();
  if (wasFresh) return;
  throw permanent(
    'build_stale',
    `${at('dist')} was not built from the sources next to it: run \`npm run build\`, then start again`,
  );
}
