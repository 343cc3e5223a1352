/**
 * Builds `dist/` from the sources: JavaScript with source maps, and the files that programs read at run time; then it
 * joins the modules of each program. This is plain JavaScript, because nothing is built yet when it runs.
 *
 *   node scripts/build.mjs              build
 *   node scripts/build.mjs --if-stale   build only if there is no dist/ or if the sources have changed
 *   node scripts/build.mjs --prepare    the same for `npm ci`; succeeds without TypeScript (`npm ci --omit=dev`)
 *   node scripts/build.mjs --check      build nothing; fail if it is stale
 *
 * It does not check types: `npm run types` does.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const PROJECT = 'tsconfig.build.json';
/** In `dist/`: the digest of its sources. */
const STAMP = 'sources.sha256';
const EXTENSIONS = /\.(ts|sql|css|js|json|txt|mjs|php|py|go|sh)$/;

/** Returns the path of the compiler, or null if development packages are not installed. */
function findCompiler() {
  try {
    const { resolve } = createRequire(import.meta.url);
    resolve('esbuild');
    const manifest = resolve('typescript/package.json');
    return join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.tsc);
  } catch {
    return null;
  }
}

/** Returns the sources of a build: what is compiled, and what is copied. */
function listSources() {
  const { include, exclude } = JSON.parse(readFileSync(join(root, PROJECT), 'utf8'));
  const isLeftOut = (path) =>
    path.endsWith('/tsconfig.json') || exclude.some((one) => path === one || path.startsWith(`${one}/`));
  return include
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`))
    .filter((path) => EXTENSIONS.test(path) && !isLeftOut(path))
    .sort();
}

/** Returns the digest of the sources' names and contents. */
function digestOfSources() {
  const hash = createHash('sha256');
  for (const path of [...listSources(), PROJECT, 'tsconfig.json'])
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  return hash.digest('hex');
}

/** Returns whether `dist/` was built from the present sources; also true where there are none. */
function isFresh() {
  if (!existsSync(dist)) return false;
  if (!existsSync(join(root, PROJECT)) || !existsSync(join(root, 'src'))) return true;
  const stamp = join(dist, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === digestOfSources();
}

/** Builds beside `dist/`, then swaps the two, so that a program that starts meanwhile finds one complete build. */
async function build(compiler) {
  const made = `${dist}.${process.pid}`;
  const replaced = `${made}.old`;
  // Before it begins: with a source that changes meanwhile, the build is stale.
  const digest = digestOfSources();
  try {
    const args = ['-p', join(root, PROJECT), '--outDir', made];
    if (spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' }).status !== 0) {
      process.stderr.write('quayside: the sources cannot be compiled, as said above; dist/ stays as it was\n');
      process.exitCode = 1;
      return;
    }
    for (const path of listSources()) if (!path.endsWith('.ts')) cpSync(join(root, path), join(made, path));
    const { joinPrograms } = await import('./join-programs.mjs');
    await joinPrograms(made);
    writeFileSync(join(made, STAMP), digest);
    if (existsSync(dist)) renameSync(dist, replaced);
    renameSync(made, dist);
  } finally {
    for (const folder of [made, replaced]) rmSync(folder, { recursive: true, force: true });
  }
}

const wanted = process.argv[2];
if (wanted === '--check') process.exit(isFresh() ? 0 : 1);
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const majorMin = Number.parseInt(engines.node.replace('>=', ''), 10);
if (Number.parseInt(process.versions.node, 10) < majorMin) {
  const found = `this is Node ${process.versions.node}, and Quayside needs Node ${majorMin} or later`;
  process.stderr.write(`quayside: ${found}: install Node 24 from https://nodejs.org, then run \`npm ci\` again\n`);
  process.exit(2);
}

const compiler = findCompiler();
if (wanted !== undefined && isFresh()) {
  // Nothing to do.
} else if (compiler) {
  await build(compiler);
} else {
  const what = existsSync(dist) ? 'dist/ was built from other sources' : 'there is no dist/ yet';
  const todo = 'run `npm ci` (it builds), then `npm prune --omit=dev`';
  process.stderr.write(`quayside: ${what}, and TypeScript, which builds it, is not installed: ${todo}\n`);
  // The packages are installed all the same, and dist/ may be copied here next.
  process.exitCode = wanted === '--prepare' ? 0 : 1;
}
