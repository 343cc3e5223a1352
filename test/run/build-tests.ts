/**
 * Compiles the tests, and the sources that they import, to `dist.test/`, and joins the modules of each test file and of
 * each program that tests start into few files. That loads in a fifth of the processor time that tsx takes, and the
 * tests start hundreds of processes. Types are not checked.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';

const PROJECT = 'tsconfig.test.json';
/** JavaScript without types, because the build runs it when nothing is built. */
const joiner = new URL('../../scripts/join-programs.mjs', import.meta.url).href;
/** Where the working directory's tests are compiled to. */
const TESTS_FOLDER = 'dist.test';
const STAMP = 'build.txt';
/** Stands behind the digest in a build whose modules are joined. */
const JOINED = ' joined';
/** Joining takes as long as it saves with so many files. */
const JOINED_FILES_MIN = 15;
/** The test library is the one that `batch.mjs` runs; the others look for files of their own. */
const PACKAGES_LEFT_ALONE = ['uvu', 'litesvm', 'playwright-core', 'solc', 'typescript', '@sparticuz/chromium'];

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

/** Returns what no other module of the tests imports: test files, and the programs that they start. */
function findPrograms(made: string): string[] {
  const modules = readdirSync(join(made, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => join('test', name));
  const imported = new Set(
    modules.flatMap((path) =>
      [...readFileSync(join(made, path), 'utf8').matchAll(/(?:from|^import) '(\.{1,2}\/[^']+)'/gm)].map(
        ([, specifier = '']) => join(dirname(path), specifier),
      ),
    ),
  );
  return modules.filter((path) => !imported.has(path)).map((path) => path.replace(/\.js$/, ''));
}

async function joinModules(made: string): Promise<void> {
  const { joinPrograms } = await import(joiner);
  await joinPrograms(resolve(made), {
    runsAs: TESTS_FOLDER,
    programs: findPrograms(made),
    leftAlone: PACKAGES_LEFT_ALONE,
  });
}

/**
 * Compiles the tests of the working directory, unless that was done since they changed.
 * @param filesToRun how many test files will run: for a few, their modules are not joined
 * @throws Error by tsc or esbuild
 */
export async function buildTests(filesToRun: number): Promise<void> {
  const { include } = JSON.parse(readFileSync(PROJECT, 'utf8')) as { include: string[] };
  const folders = include.filter((folder) => existsSync(folder));
  const stamp = stampOf(folders);
  const stampFile = join(TESTS_FOLDER, STAMP);
  const isJoined = filesToRun >= JOINED_FILES_MIN;
  const built = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
  if (built === stamp + JOINED || (built === stamp && !isJoined)) return;
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
  const compiler = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  const made = `${TESTS_FOLDER}.${process.pid}`;
  try {
    execFileSync(process.execPath, [compiler, '-p', PROJECT, '--outDir', made], { stdio: ['ignore', 2, 2] });
    // What the sources read at run time. What the tests read, they read from test/.
    const isWanted = (path: string) => !/\.(ts|md)$/.test(path) && !path.startsWith(`test${sep}`);
    for (const folder of folders) cpSync(folder, join(made, folder), { recursive: true, filter: isWanted });
    if (isJoined) await joinModules(made);
    writeFileSync(join(made, STAMP), isJoined ? stamp + JOINED : stamp);
    rmSync(TESTS_FOLDER, { recursive: true, force: true });
    renameSync(made, TESTS_FOLDER);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
