/** The bridge as an operator starts it: options, token file, exit codes. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quayside } from '../support/built.ts';
import { endAll, startProcess } from '../support/processes.ts';
import { runProgram } from '../support/quayside-process.ts';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.ts';
import { openConsumer } from '../support/tron-bridge.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-tron-ws-'));
const tokenFile = join(folder, 'tron-ws.token');
let node: SimulatedNode;

test.before(async () => {
  node = await startSimulatedNode({ family: 'tron', seed: 'program' });
});
test.after(async () => {
  await endAll('SIGKILL');
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the bridge and waits until it has printed its URL. */
async function start(...words: string[]) {
  const command = [quayside, 'tron-ws', '--url', node.url, '--token-file', tokenFile, ...words];
  const bridge = startProcess(process.execPath, command, { cwd: folder });
  await until('the bridge prints its URL', () => /url: ws/.test(bridge.stdout()) || bridge.hasEnded());
  const port = /listening on 127\.0\.0\.1:(\d+) for 127/.exec(bridge.stdout())?.[1];
  return { ...bridge, port };
}

test('the first start creates a token, prints the URL with it, and serves; SIGTERM stops the bridge', async () => {
  const { end, port, stdout, stderr } = await start('--listen', '127.0.0.1:0');
  const token = readFileSync(tokenFile, 'utf8').trim();
  assert.match(token, /^[\w-]{32}$/);
  assert.is(statSync(tokenFile).mode & 0o777, 0o600);
  assert.match(stdout(), `ws://127.0.0.1:${port}/?token=${token}`);
  assert.not.ok(stderr().includes(token), 'no log line contains it');
  const consumer = await connect(`ws://127.0.0.1:${port}/?token=${token}`);
  await until('the head is announced', () => consumer.messages.length > 0);
  assert.is(await end('SIGTERM'), 0);
  assert.equal(await consumer.closed, [1001, 'the bridge stops']);
});

test('a later start keeps the token and does not show it', async () => {
  const token = readFileSync(tokenFile, 'utf8').trim();
  const { end, port, stdout } = await start('--listen', '127.0.0.1:0');
  assert.not.ok(stdout().includes(token));
  assert.match(stdout(), tokenFile);
  const consumer = await connect(`ws://127.0.0.1:${port}/?token=${token}`);
  consumer.socket.close();
  assert.is(await end('SIGINT'), 0);
});

test('a start that fails says why and exits with 2', async () => {
  const { end, port } = await start('--listen', '127.0.0.1:0');
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
  assert.is(await end('SIGTERM'), 0);
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
