/**
 * An installation without any source, as a package brings it: it runs, nothing that is planted beside it runs, and it
 * ends as a whole.
 */
import { type ChildProcess, execFile, execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { copyInstallation, filesIn } from '../support/installation-copy.ts';
import { startProcess } from '../support/processes.ts';
import { find } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const copy = copyInstallation();
const hostile = mkdtempSync(join(tmpdir(), 'quayside-hostile-'));
/** Written by whatever planted code runs. */
const marker = join(hostile, 'ran');
const started = new Set<ChildProcess>();
/** Output of the installations of the test, by the command that started each. */
const outputs = new Map<string, () => string>();

mkdirSync(join(hostile, 'tmp'));

test.after(() => {
  for (const { pid } of started) if (pid) process.kill(-pid, 'SIGKILL');
  for (const folder of [copy, hostile]) rmSync(folder, { recursive: true, force: true });
});

/** The environment of a program that is started among planted files. */
const among = (dataDir: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(QUAYSIDE_|NODE_ENV|npm_)/.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  TMPDIR: join(hostile, 'tmp'),
  QUAYSIDE_DATA_DIR: join(copy, dataDir),
  QUAYSIDE_PORT: '0',
});

/** Starts a command in a process group of its own, and waits until the sandbox in `dataDir` is ready. */
async function start(dataDir: string, cwd: string, command: string, ...args: string[]) {
  const { child, output, ended, hasEnded } = startProcess(command, args, { cwd, env: among(dataDir), detached: true });
  started.add(child);
  outputs.set([command, ...args].join(' '), output);
  ended.then(() => started.delete(child));
  const baseUrl = await find('the copied sandbox is ready', async () => {
    if (hasEnded()) throw new Error('it ended at once');
    const running = readServerFile(join(copy, dataDir));
    // The file is there before the server listens again after a restart.
    const isReady = running && (await fetch(`${running.base_url}/readyz`).catch(() => null))?.ok;
    return isReady && running.base_url;
  });
  return { child, baseUrl, ended };
}

/** Runs a test. If it fails, prints what its installations have printed. */
const explained = (work: () => Promise<void>) => async () => {
  outputs.clear();
  try {
    await work();
  } catch (error) {
    for (const [command, text] of outputs) process.stdout.write(`\n${command} printed:\n${text()}\n`);
    throw error;
  }
};

/** Runs a program of the copy to its end, in the hostile folder. @returns its standard output */
const run = (dataDir: string, ...words: readonly string[]): Promise<string> =>
  new Promise((done, fail) => {
    execFile(process.execPath, words, { cwd: hostile, env: among(dataDir) }, (error, stdout, stderr) =>
      error ? fail(new Error(`${words}: ${stderr}${stdout}`)) : done(stdout),
    );
  });

/** Returns the ids of a process and all that descend from it. */
function family(root: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const found = [root];
  for (const parent of found) for (const [pid = 0, ppid] of pairs) if (ppid === parent) found.push(pid);
  return found;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Runs the tool from its sources, as development does. */
const runSource = (): SpawnSyncReturns<string> =>
  spawnSync(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), join(installationFolder, 'scripts/quayside.ts'), '--help'],
    { cwd: hostile, env: among('none'), encoding: 'utf8' },
  );

test('what is planted would run in a transpiler: in its cache, or by its tsconfig.json', () => {
  const settings = join(hostile, 'tsconfig.json');
  assert.is(runSource().status, 0);
  const cached = filesIn(join(hostile, 'tmp'));
  assert.ok(cached.length > 0);
  for (const file of cached) {
    const entry = JSON.parse(readFileSync(file, 'utf8'));
    const code = `process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(marker)}, 'x');${entry.code}`;
    writeFileSync(file, JSON.stringify({ ...entry, code }));
  }
  runSource();
  assert.ok(existsSync(marker), 'from the cache');
  rmSync(marker);
  const evil = join(hostile, 'evil.mjs');
  const real = JSON.stringify(import.meta.resolve('zod'));
  writeFileSync(
    evil,
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(marker)}, 'x');
export * from ${real};\n`,
  );
  writeFileSync(settings, JSON.stringify({ compilerOptions: { paths: { zod: [evil] } } }));
  runSource();
  assert.ok(existsSync(marker), 'by the settings');
  rmSync(marker);
});

test(
  'every program runs from dist/ alone, with its workers and files, and nothing that is planted runs',
  explained(async () => {
    for (const folder of ['src', 'indexers', 'scripts/demo.ts', 'scripts/quayside.ts', 'tsconfig.json']) {
      assert.not.ok(existsSync(join(copy, folder)), folder);
    }
    const { child, baseUrl, ended } = await start('planted', hostile, process.execPath, join(copy, 'dist/src/main.js'));
    const demo = join(copy, 'dist/scripts/demo.js');
    for (const network of ['tron', 'solana']) {
      const { refund } = JSON.parse(await run('planted', demo, '--network', network, '--refund', '--json'));
      assert.is(refund.status, 'completed', network);
    }
    assert.match(await run('planted', join(copy, 'scripts/quayside.mjs'), 'status'), /test:bsc/);
    for (const path of ['/docs', '/docs/style.css', '/openapi.json', '/embed.js']) {
      assert.is((await fetch(`${baseUrl}${path}`)).status, 200, path);
    }
    child.kill('SIGTERM');
    assert.is(await ended, 0);
    assert.not.ok(existsSync(marker));
  }),
);

for (const [whom, target] of [
  ['npm', (npm: number) => npm],
  ['the supervisor', (_npm: number, supervisor: number) => supervisor],
] as const) {
  test(
    `SIGTERM to ${whom} ends everything that npm start has started`,
    explained(async () => {
      const { child } = await start('whole', copy, 'npm', 'start');
      const all = () => family(child.pid ?? 0);
      const show = () => run('whole', join(copy, 'dist/scripts/quayside.js'), 'show', 'SAMPLE-8');
      await find('a sample payment is there', () => show().catch(() => false as const));
      // npm, the supervisor, the sandbox, the signer, the server, the sender of webhooks, and four indexers.
      await until('all of them run', () => all().length === 10);
      const [npm = 0, supervisor = 0, ...children] = all();
      // No shell is between them that would keep the signal to itself.
      assert.is(Number(readFileSync(join(copy, 'whole/quayside.pid'), 'utf8')), supervisor);
      process.kill(target(npm, supervisor), 'SIGTERM');
      await until('everything has ended', () => ![npm, supervisor, ...children].some(isAlive));
      assert.not.ok(existsSync(join(copy, 'whole/quayside.pid')), 'in order');
    }),
  );
}

test.run();
