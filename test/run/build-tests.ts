/**
 * Compiles the tests, and the sources that they import, to `dist.test/`: that loads in less processor time than tsx
 * takes, and the tests start hundreds of processes. Types are not checked.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';

const PROJECT = 'tsconfig.test.json';
/** Where the working directory's tests are compiled to. */
const TESTS_FOLDER = 'dist.test';
const STAMP = join(TESTS_FOLDER, 'build.txt');

/** Returns the path of a test's JavaScript. */
export const builtTest = (file: string): string => join(TESTS_FOLDER, file.replace(/\.ts$/, '.js'));

/** Returns a digest of the names, sizes and times of all files that a build reads. */
function stampOf(folders: readonly string[]): string {
  const hash = createHash('sha256');
  const paths = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  for (const path of [PROJECT, ...paths.sort()]) {
    const { size, mtimeMs } = statSync(path);
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

/**
 * Compiles the tests of the working directory, unless that was done since they changed.
 * @throws Error by tsc
 */
export function buildTests(): void {
  const { include } = JSON.parse(readFileSync(PROJECT, 'utf8')) as { include: string[] };
  const folders = include.filter((folder) => existsSync(folder));
  const stamp = stampOf(folders);
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return;
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const compiler = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  const made = `${TESTS_FOLDER}.${process.pid}`;
  try {
    execFileSync(process.execPath, [compiler, '-p', PROJECT, '--outDir', made], { stdio: ['ignore', 2, 2] });
    // Files that sources read at run time. Tests read theirs from test/.
    const isWanted = (path: string) => !/\.(ts|md)$/.test(path) && !path.startsWith(`test${sep}`);
    for (const folder of folders) cpSync(folder, join(made, folder), { recursive: true, filter: isWanted });
    rmSync(TESTS_FOLDER, { recursive: true, force: true });
    renameSync(made, TESTS_FOLDER);
    writeFileSync(STAMP, stamp);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
