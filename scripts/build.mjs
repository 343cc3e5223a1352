/**
 * Builds `dist/` from the sources: JavaScript with source maps, and the files that programs read at run time; then it
 * joins the modules of each program. This is plain JavaScript, because nothing is built yet when it runs.
 *
 *   node scripts/build.mjs              build
 *   node scripts/build.mjs --if-stale   build only if there is no dist/ or if the sources have changed
 *   node scripts/build.mjs --prepare    the same for `npm ci`; succeeds without TypeScript (`npm ci --omit=dev`)
 *
 * It does not check types: `npm run types` does.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

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

/** Imports the module of a build that compares it with its sources. */
const stampModule = (build) => import(pathToFileURL(join(build, 'src/lib/build-stamp.js')).href);

/** Returns whether `dist/` was built from the present sources. */
async function isFresh() {
  if (!existsSync(dist)) return false;
  // Without that module, it is no build of this program.
  return stampModule(dist).then(
    ({ isBuildFresh }) => isBuildFresh(),
    () => false,
  );
}

/** Builds beside `dist/`, then swaps the two, so that a program that starts meanwhile finds one complete build. */
async function build(compiler) {
  const made = `${dist}.${process.pid}`;
  const replaced = `${made}.old`;
  try {
    const args = ['-p', join(root, 'tsconfig.build.json'), '--outDir', made];
    if (spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' }).status !== 0) {
      process.stderr.write('quayside: the sources cannot be compiled, as said above; dist/ stays as it was\n');
      process.exitCode = 1;
      return;
    }
    const { stampBuild, listSources } = await stampModule(made);
    for (const path of listSources()) if (!path.endsWith('.ts')) cpSync(join(root, path), join(made, path));
    const { joinPrograms } = await import('./join-programs.mjs');
    await joinPrograms(made);
    stampBuild(made, performance.timeOrigin);
    if (existsSync(dist)) renameSync(dist, replaced);
    renameSync(made, dist);
  } finally {
    for (const folder of [made, replaced]) rmSync(folder, { recursive: true, force: true });
  }
}

const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const majorMin = Number.parseInt(engines.node.replace('>=', ''), 10);
if (Number.parseInt(process.versions.node, 10) < majorMin) {
  const found = `this is Node ${process.versions.node}, and Quayside needs Node ${majorMin} or later`;
  process.stderr.write(`quayside: ${found}: install Node 24 from https://nodejs.org, then run \`npm ci\` again\n`);
  process.exit(2);
}

const wanted = process.argv[2];
const compiler = findCompiler();
if (wanted !== undefined && (await isFresh())) {
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
