/** An installation without any source, as a package brings it: it runs, and it ends as a whole. */
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { copyInstallation } from '../support/installation-copy.ts';
import { startProcess } from '../support/processes.ts';
import { find } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const copy = copyInstallation();
/** The folder in which programs are started, to which none of them belongs. */
const elsewhere = mkdtempSync(join(tmpdir(), 'quayside-elsewhere-'));
const started = new Set<ChildProcess>();

test.after(() => {
  for (const { pid } of started) if (pid) process.kill(-pid, 'SIGKILL');
  for (const folder of [copy, elsewhere]) rmSync(folder, { recursive: true, force: true });
});

/** The environment of a program of the copy. */
const environment = (dataDir: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(QUAYSIDE_|NODE_ENV|npm_)/.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  QUAYSIDE_DATA_DIR: join(copy, dataDir),
  QUAYSIDE_PORT: '0',
});

/** Starts a command in a process group of its own, and waits until the sandbox in `dataDir` is ready. */
async function start(dataDir: string, cwd: string, command: string, ...args: string[]) {
  const options = { cwd, env: environment(dataDir), detached: true };
  const { child, output, ended, hasEnded } = startProcess(command, args, options);
  started.add(child);
  ended.then(() => started.delete(child));
  const baseUrl = await find('the copied sandbox is ready', async () => {
    if (hasEnded()) throw new Error(`it ended at once:\n${output()}`);
    const running = readServerFile(join(copy, dataDir));
    // The file is there before the server listens again after a restart.
    const isReady = running && (await fetch(`${running.base_url}/readyz`).catch(() => null))?.ok;
    return isReady && running.base_url;
  });
  return { child, baseUrl, ended };
}

/** Runs a program of the copy to its end, in another folder. @returns its standard output */
const run = (dataDir: string, ...words: readonly string[]): Promise<string> =>
  new Promise((done, fail) => {
    execFile(process.execPath, words, { cwd: elsewhere, env: environment(dataDir) }, (error, stdout, stderr) =>
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

test('every program runs from dist/ alone, with its workers and files', async () => {
  for (const folder of ['src', 'indexers', 'scripts/demo.ts', 'scripts/quayside.ts', 'tsconfig.json']) {
    assert.not.ok(existsSync(join(copy, folder)), folder);
  }
  const { child, baseUrl, ended } = await start('alone', elsewhere, process.execPath, join(copy, 'dist/src/main.js'));
  const demo = join(copy, 'dist/scripts/demo.js');
  for (const network of ['tron', 'solana']) {
    const { refund } = JSON.parse(await run('alone', demo, '--network', network, '--refund', '--json'));
    assert.is(refund.status, 'completed', network);
  }
  assert.match(await run('alone', join(copy, 'scripts/quayside.mjs'), 'status'), /test:bsc/);
  for (const path of ['/docs', '/docs/style.css', '/openapi.json', '/embed.js']) {
    assert.is((await fetch(`${baseUrl}${path}`)).status, 200, path);
  }
  child.kill('SIGTERM');
  assert.is(await ended, 0);
});

for (const [whom, target] of [
  ['npm', (npm: number) => npm],
  ['the supervisor', (_npm: number, supervisor: number) => supervisor],
] as const) {
  test(`SIGTERM to ${whom} ends everything that npm start has started`, async () => {
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
  });
}

test.run();
