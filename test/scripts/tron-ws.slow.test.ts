/** The bridge as an operator starts it: options, token file, exit codes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quayside } from '../support/built.ts';
import { runProgram } from '../support/quayside-process.ts';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.ts';
import { openConsumer } from '../support/tron-bridge.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-tron-ws-'));
const tokenFile = join(folder, 'tron-ws.token');
const running = new Set<ChildProcess>();
let node: SimulatedNode;

test.before(async () => {
  node = await startSimulatedNode({ family: 'tron', seed: 'program' });
});
test.after(async () => {
  for (const child of running) child.kill('SIGKILL');
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the bridge and waits until it has printed its URL. */
async function start(...words: string[]) {
  const child = spawn(process.execPath, [quayside, 'tron-ws', '--url', node.url, '--token-file', tokenFile, ...words], {
    cwd: folder,
  });
  running.add(child);
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].on('data', (chunk) => {
      said[stream] += chunk;
    });
  }
  const ended = new Promise<number | null>((done) => child.once('exit', done));
  await until('the bridge prints its URL', () => /url: ws/.test(said.stdout) || child.exitCode !== null);
  const port = /listening on 127\.0\.0\.1:(\d+) for 127/.exec(said.stdout)?.[1];
  return { child, port, said, ended };
}

test('the first start creates a token, prints the URL with it, and serves; SIGTERM stops the bridge', async () => {
  const { child, port, said, ended } = await start('--listen', '127.0.0.1:0');
  const token = readFileSync(tokenFile, 'utf8').trim();
  assert.match(token, /^[\w-]{32}$/);
  assert.is(statSync(tokenFile).mode & 0o777, 0o600);
  assert.match(said.stdout, `ws://127.0.0.1:${port}/?token=${token}`);
  assert.not.ok(said.stderr.includes(token), 'no log line contains it');
  const consumer = await connect(`ws://127.0.0.1:${port}/?token=${token}`);
  await until('the head is announced', () => consumer.messages.length > 0);
  child.kill('SIGTERM');
  assert.equal(await consumer.closed, [1001, 'the bridge stops']);
  assert.is(await ended, 0);
});

test('a later start keeps the token and does not show it', async () => {
  const token = readFileSync(tokenFile, 'utf8').trim();
  const { child, port, said, ended } = await start('--listen', '127.0.0.1:0');
  assert.not.ok(said.stdout.includes(token));
  assert.match(said.stdout, tokenFile);
  const consumer = await connect(`ws://127.0.0.1:${port}/?token=${token}`);
  consumer.socket.close();
  child.kill('SIGINT');
  assert.is(await ended, 0);
});

test('a start that fails says why and exits with 2', async () => {
  const { child, port, ended } = await start('--listen', '127.0.0.1:0');
  writeFileSync(join(folder, 'short'), 'abc');
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['--listen', `127.0.0.1:${port}`], /EADDRINUSE/],
    [['--listen', 'x'], /--listen is "x", expected an address and a port/],
    [['--url', 'ftp://x'], /--url is not an http/],
    [['--speed', '9'], /unknown option '--speed'/],
    [['--listen', '127.0.0.1:0', '--token-file', join(folder, 'short')], /shorter than 16 characters/],
  ];
  for (const [words, expected] of cases) {
    const { code, stderr } = await runProgram(
      ['scripts/quayside.mjs', 'tron-ws', '--token-file', tokenFile, ...words],
      {},
    );
    assert.is(code, 2, words.join(' '));
    assert.match(stderr, expected);
  }
  child.kill('SIGTERM');
  assert.is(await ended, 0);
});

/** Retries, because the bridge may not have asked the node for its head yet. */
async function connect(url: string) {
  let consumer: Awaited<ReturnType<typeof openConsumer>> | null = null;
  await until('the bridge knows a head', async () => {
    consumer = await openConsumer(url).catch(() => null);
    return consumer !== null;
  });
  if (!consumer) throw new Error('unreachable');
  return consumer as Awaited<ReturnType<typeof openConsumer>>;
}

test.run();
