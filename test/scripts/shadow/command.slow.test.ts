/** `quayside shadow` as an operator runs it: options, exit codes, what it writes and what it never writes. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../../src/chains/evm/address.ts';
import { evmXpubKeys } from '../../../src/chains/evm/xpub-keys.ts';
import { type LyingProxy, startLyingProxy } from '../../support/lying-proxy.ts';
import { runQuayside } from '../../support/quayside-process.ts';
import { SANDBOX_CHAIN_ID, type SandboxNode, sandboxTokens, startSandboxNode } from '../../support/sandbox-node.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-shadow-'));
const dataDir = join(folder, 'data');
const variables = { QUAYSIDE_CONFIG: join(folder, 'quayside.json'), QUAYSIDE_DATA_DIR: dataDir };
const accountOf = (seed: number): HDKey => HDKey.fromMasterSeed(new Uint8Array(32).fill(seed)).derive("m/44'/60'/0'/0");
const account = accountOf(3);
const [payee = ''] = [evmXpubKeys.derive(account.publicExtendedKey, 4)];
let node: SandboxNode;
/** Between the configured URL and the node; answers honestly. */
let configured: LyingProxy;
/** The first block, and those that are mined before the tests. */
const BLOCKS = 11;

test.before(async () => {
  node = await startSandboxNode({ seed: 'shadow command' });
  configured = await startLyingProxy({ httpUrl: node.httpUrl, wsUrl: node.wsUrl });
  const network = {
    family: 'evm',
    mode: 'test',
    chain_id: SANDBOX_CHAIN_ID,
    confirmations: { kind: 'depth', blocks: 3 },
    reorg_depth_max: 20,
    block_time_ms: 1000,
    poll_ms: 50,
    dust_floor: '0.01',
    tokens: sandboxTokens,
    url: configured.wsUrl,
    xpub: account.publicExtendedKey,
  };
  const networks = { mine: network, nowhere: { ...network, chain_id: '900002', name: 'nowhere', url: undefined } };
  writeFileSync(variables.QUAYSIDE_CONFIG, JSON.stringify({ networks }));
  for (let at = 1; at < BLOCKS; at++) {
    node.pay(payee, 1_000_000n);
    node.world.mine(2);
  }
});
test.after(async () => {
  await configured.close();
  await node.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Few addresses: to derive one takes milliseconds. */
const run = (...words: string[]) => {
  const few = words.includes('--addresses') || words.includes('--help') ? [] : ['--addresses', '5'];
  return runQuayside(['shadow', ...words, ...few], variables);
};
const answer = async (...words: string[]) => {
  const { code, out, err } = await run(...words, '--json');
  assert.is(code, 0, err + out);
  return JSON.parse(out);
};

/** Runs the command until every block was read a second time through a proxy, then presses Ctrl-C. */
async function untilCompared<T>(proxy: LyingProxy, start: () => Promise<T>): Promise<T> {
  const read = new Set<string>();
  const lie = proxy.lies.answer;
  proxy.lies.answer = (question, honest) => {
    if (question.method === 'eth_getBlockReceipts') read.add(JSON.stringify(question.params));
    return lie ? lie(question, honest) : honest;
  };
  const running = start();
  await until('every block is compared', () => read.size >= BLOCKS);
  process.emit('SIGINT');
  if (lie) proxy.lies.answer = lie;
  else delete proxy.lies.answer;
  return running;
}
const compared = (...words: string[]) => untilCompared(configured, () => answer('mine', '--for', '1h', ...words));

test('the configured network is followed and compared, and nothing of an installation is created', async () => {
  const report = await compared();
  assert.equal([report.network, report.ended, report.good], ['test:mine', 'stopped', true]);
  assert.equal(report.addresses, { watched: 5, sampled: 0 });
  assert.equal([report.blocks.read, report.blocks.compared], [BLOCKS, BLOCKS]);
  assert.equal(report.transfers, { all: 30, watched: 10, confirmed: 8 });
  assert.not.ok(existsSync(dataDir), 'no data directory');
  assert.equal(readdirSync(folder), ['quayside.json']);
});

test('a run ends when its time is over, and leaves an existing data directory as it is', async () => {
  mkdirSync(dataDir);
  try {
    assert.is((await answer('test:mine', '--for', '1s')).ended, 'time');
    assert.equal(readdirSync(dataDir), []);
  } finally {
    rmSync(dataDir, { recursive: true });
  }
});

test('addresses come from an xpub, a file with lines, or a derived list; without any, payees are sampled', async () => {
  const other = accountOf(4).publicExtendedKey;
  assert.is((await compared('--xpub', other, '--addresses', '5')).transfers.watched, 0);
  const [lines, list] = [join(folder, 'lines.txt'), join(folder, 'list.json')];
  const address = evmAddress.format(payee);
  writeFileSync(lines, `\n${address}\n${evmAddress.format('11'.repeat(20))}\n`);
  writeFileSync(list, JSON.stringify({ family: 'evm', addresses: [address] }));
  for (const [file, watched] of [
    [lines, 2],
    [list, 1],
  ] as const) {
    const report = await compared('--address-file', file);
    assert.equal([report.addresses.watched, report.transfers.watched], [watched, 10]);
    rmSync(file);
  }
});

test('Ctrl-C ends the run with its report, once everything that was read is compared', async () => {
  const proxy = await startLyingProxy({ httpUrl: node.httpUrl, wsUrl: node.wsUrl });
  let read = 0;
  proxy.lies.answer = ({ method }, honest) => {
    if (method === 'eth_getLogs') read += 1;
    return honest;
  };
  const before = process.listenerCount('SIGINT');
  try {
    const running = run('mine', '--for', '1h', '--url', proxy.wsUrl);
    await until('blocks are read', () => read > 10);
    process.emit('SIGINT');
    const { code, out } = await running;
    assert.is(code, 0, out);
    assert.match(out, /test:mine: followed 127\.0\.0\.1:\d+ for 0 min/);
    assert.match(out, /\nno difference\n$/);
    assert.is(process.listenerCount('SIGINT'), before);
  } finally {
    await proxy.close();
  }
});

test('a difference gives exit code 1, and no file holds what is secret in a URL, even if the node repeats it', async () => {
  const proxy = await startLyingProxy({ httpUrl: node.httpUrl, wsUrl: node.wsUrl });
  const secrets = ['an-operator', 'pa55word', '0123456789abcdef', 'query-key'];
  const [user, password, path, key] = secrets;
  const url = `${proxy.httpUrl.replace('://', `://${user}:${password}@`)}/v3/${path}?key=${key}`;
  const into = join(folder, 'saved');
  let refusals = 3;
  proxy.lies.answer = (question, honest) => {
    if (question.method === 'eth_getBlockByHash' && refusals-- > 0) {
      return { jsonrpc: '2.0', id: honest.id, error: { code: -32000, message: `no such project: ${secrets.join()}` } };
    }
    const result = question.method === 'eth_getLogs' ? (honest.result as unknown[]).slice(1) : honest.result;
    return { ...honest, result };
  };
  try {
    const { code, out } = await untilCompared(proxy, () =>
      run('mine', '--for', '1h', '--url', url, '--save', into, '--json'),
    );
    assert.is(code, 1);
    const { good, differences } = JSON.parse(out);
    assert.ok(!good && differences.count > 0);
    const saved = readdirSync(into, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    assert.ok(saved.length > 0);
    const texts = [out, ...saved.map((file) => readFileSync(join(file.parentPath, file.name), 'utf8'))];
    assert.ok(texts.some((text) => text.includes('no such project: ***')));
    for (const secret of secrets)
      assert.not.ok(
        texts.some((text) => text.includes(secret)),
        secret,
      );
  } finally {
    await proxy.close();
    rmSync(into, { recursive: true, force: true });
  }
});

const refused: readonly (readonly [RegExp, ...string[]])[] = [
  [/<network> is missing/],
  [/"dogecoin" is neither a configured network \(mine, nowhere\) nor a preset \(.*sepolia/, 'dogecoin'],
  [/the configuration has no url for nowhere: name a node with --url/, 'nowhere'],
  [/the configuration has no url for sepolia: name a node with --url/, 'sepolia'],
  [/--url is not a ws:/, 'mine', '--url', 'ftp://127.0.0.1'],
  [/--for is "5 minutes", expected a time such as 90s/, 'mine', '--for', '5 minutes'],
  [/--for is "0s"/, 'mine', '--for', '0s'],
  [/--sample is "x", expected a whole number/, 'mine', '--sample', 'x'],
  [/--xpub cannot be used/, 'mine', '--xpub', 'xpub123'],
  [/cannot be combined/, 'mine', '--xpub', account.publicExtendedKey, '--address-file', 'x'],
  [/none\.txt cannot be read/, 'mine', '--address-file', 'none.txt'],
  [/package\.json has 0 addresses/, 'mine', '--address-file', 'package.json'],
  [/README\.md: entry 1, "#", is not an address/, 'mine', '--address-file', 'README.md'],
  [/--save is ".*package\.json", which is not a folder/, 'mine', '--save', 'package.json'],
  [/the shadow cannot start: .*ECONNREFUSED/, 'mine', '--url', 'http://127.0.0.1:1'],
];
for (const [message, ...words] of refused) {
  test(`exit code 2: quayside shadow ${words.join(' ').replace(account.publicExtendedKey, '…')}`, async () => {
    const { code, err } = await run(...words);
    assert.is(code, 2, err);
    assert.match(err, message);
  });
}

test('a node of another chain is refused, as the followed node and as the second one: exit code 2', async () => {
  for (const words of [
    ['nowhere', '--url', node.wsUrl],
    ['nowhere', '--url', 'http://127.0.0.1:1', '--second-url', node.httpUrl],
  ]) {
    const { code, err } = await run(...words);
    assert.is(code, 2);
    assert.match(err, /expected a node of chain 900002, found chain 900001/);
  }
});

test('a sandbox that has not started is said to be so', async () => {
  const { code, err } = await runQuayside(['shadow', 'sandbox-ethereum'], { QUAYSIDE_DATA_DIR: dataDir });
  assert.is(code, 2);
  assert.match(err, /the sandbox has not started yet: run `npm start` first/);
});

test('--help lists the options and the exit codes', async () => {
  const { code, out } = await run('--help');
  assert.is(code, 0);
  assert.match(out, /--second-url URL/);
  assert.match(out, /Exit codes: 0 no difference; 1 a difference/);
});

test.run();
