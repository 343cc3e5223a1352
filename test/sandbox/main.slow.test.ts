/**
 * The sandbox program as the supervisor runs it: a child process with a message channel, a data directory and loopback
 * ports.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../src/chains/evm/address.ts';
import { chains } from '../../src/chains/index.ts';
import { xpubKeysAt } from '../../src/chains/xpub.ts';
import { loadConfig } from '../../src/config/config.ts';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { built } from '../support/built.ts';
import { callNode } from '../support/evm-node.ts';
import { accountKey } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");

const dataDir = mkdtempSync(join(tmpdir(), 'quayside-sandbox-'));
const env = { ...process.env, QUAYSIDE_CONFIG: '', QUAYSIDE_DATA_DIR: dataDir };
const running = new Set<ChildProcess>();
const nodeLimits = { requestTimeoutMs: 5000, responseBytesMax: 1_000_000, idleMsMax: 5000, concurrencyMax: 4 };

test.after(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
});

type Program = Readonly<{
  child: ChildProcess;
  /** The program's message to its parent. */
  message: { ready: boolean; networks: Record<string, { url: string }> };
  output(): string;
  /** Resolves with exit code or signal. */
  ended: Promise<number | string | null>;
}>;

async function start(): Promise<Program> {
  const child = fork(built('src/sandbox/main.ts'), [], { env, execArgv: [], silent: true });
  child.send({ settings: null });
  running.add(child);
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal);
    }),
  );
  const message = await new Promise<Program['message']>((resolve, reject) => {
    child.on('message', (told) => {
      if ((told as Program['message']).ready) resolve(told as Program['message']);
    });
    child.once('exit', (code) => reject(new Error(`the sandbox ended with ${code}: ${output}`)));
  });
  return { child, message, output: () => output, ended };
}

const readFile = () => JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8'));

/** Calls a network's node, with the control token of the file unless another is given. */
async function ask(network: string, method: string, params: unknown = [], token = readFile().token) {
  const url = readFile().networks[network].url.replace('ws:', 'http:');
  // biome-ignore lint/suspicious/noExplicitAny: looked into freely; every field used is asserted
  return (await callNode(url, method, params, { authorization: `Bearer ${token}` })) as any;
}

const heightOf = async (network: string) => Number(await ask(network, 'eth_blockNumber'));

test('it serves the configured networks, mines at intervals, and writes a file that only its owner may read', async () => {
  const { child, message, ended } = await start();
  assert.is(message.ready, true);
  const file = readFile();
  assert.equal(Object.keys(file).sort(), ['networks', 'token', 'xpub']);
  assert.is(statSync(join(dataDir, 'sandbox.json')).mode & 0o777, 0o600);
  assert.equal(file.networks, message.networks);
  assert.match(evmXpubKeys.derive(file.xpub.evm, 0), /^[0-9a-f]{40}$/);
  const config = loadConfig({ env, cwd: root });
  assert.equal(
    config.networks.map(({ key, url, xpub }) => [key, url, xpub]),
    [
      ['test:tron', file.networks.tron.url, file.xpub.tron],
      ['test:ethereum', file.networks.ethereum.url, file.xpub.evm],
      ['test:bsc', file.networks.bsc.url, file.xpub.evm],
      ['test:solana', file.networks.solana.url, null],
    ],
    'the configuration finds it',
  );
  for (const { name, family, url, rpcUrl, chainId, tokens } of config.networks) {
    const { openNode } = await chains[family].node();
    const node = openNode({ url, ...(rpcUrl && { rpcUrl }), tokens, ...nodeLimits });
    const decimals = new Map(tokens.map((token) => [token.address, token.decimals]));
    const shown = await node.identity();
    assert.equal({ chainId: shown.chainId, decimals: shown.decimals }, { chainId, decimals });
    const from = (await node.head()).number;
    await until(`${name} mines`, async () => (await node.head()).number > from + 1);
    await node.close();
  }
  child.kill('SIGTERM');
  assert.is(await ended, 0);
});

test('another user of the machine may read, but not pay', async () => {
  const { child, ended } = await start();
  assert.ok(await ask('bsc', 'eth_blockNumber', [], ''));
  const to = `0x${accountKey('payee')}`;
  const refusal = await ask('bsc', 'sandbox_pay', [{ to, amount: '1' }], '').catch(String);
  assert.match(refusal, /needs the token in sandbox\.json/);
  child.kill('SIGINT');
  assert.is(await ended, 0);
});

test('after SIGKILL it restarts at the same addresses with the same chain, account and payments', async () => {
  const first = await start();
  const before = readFile();
  const to = evmAddress.format(accountKey('payee'));
  const { transactionHash } = await ask('ethereum', 'sandbox_pay', [{ to, symbol: 'USDC', amount: '25000000' }]);
  await until(
    'the payment is mined',
    async () => (await ask('ethereum', 'eth_getTransactionReceipt', [transactionHash])) !== null,
  );
  const receipt = await ask('ethereum', 'eth_getTransactionReceipt', [transactionHash]);
  const head = await ask('ethereum', 'eth_getBlockByNumber', ['latest', false]);
  first.child.kill('SIGKILL');
  assert.is(await first.ended, 'SIGKILL');

  const second = await start();
  assert.equal(readFile(), before);
  assert.equal(await ask('ethereum', 'eth_getTransactionReceipt', [transactionHash]), receipt);
  assert.equal(await ask('ethereum', 'eth_getBlockByNumber', [head.number, false]), head);
  await until('it continues mining', async () => (await heightOf('ethereum')) > Number(head.number));
  second.child.kill('SIGTERM');
  assert.is(await second.ended, 0);
});

test('it ends when its supervisor has exited', async () => {
  const { child, ended } = await start();
  child.disconnect();
  assert.is(await ended, 0);
});

test('a file that cannot be read ends it with the remedy', async () => {
  const file = join(dataDir, 'sandbox.json');
  const good = readFileSync(file, 'utf8');
  writeFileSync(file, '{"xpub":');
  await start().then(
    () => assert.unreachable('it must not start'),
    (error: Error) => assert.match(error.message, /ended with 2: .*cannot read .*sandbox\.json: delete it/),
  );
  writeFileSync(file, good);
});

test.run();
