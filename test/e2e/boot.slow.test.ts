/**
 * What a new user does, with real processes: start, pay, look around.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import type { Json } from '../support/instance.ts';
import { endAll } from '../support/processes.ts';
import {
  expectBooks,
  runProgram,
  runQuayside,
  type Supervisor,
  sandboxInstallation,
  spawnSupervisor,
} from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-boot-'));
const dataDir = join(folder, 'data');
const sandbox = sandboxInstallation(dataDir);
let quayside: Supervisor;
/** The newest final blocks at the start, by network. */
let begun: readonly Json[] = [];
const floors = async (): Promise<readonly Json[]> => (await sandbox.tool('status')).networks;

test.before(async () => {
  // As in a clone, where the folder is there before the first start.
  mkdirSync(dataDir, { mode: 0o755 });
  quayside = await sandbox.start();
  begun = await floors();
});

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('the first start stores credentials that only their owner reads, and prints none', () => {
  for (const name of ['sandbox-credentials.json', 'secret.key', 'sandbox.json', 'quayside.db', 'server.json']) {
    assert.is(statSync(join(dataDir, name)).mode & 0o777, 0o600, name);
  }
  assert.is(statSync(dataDir).mode & 0o777, 0o700, 'the folder is closed to others');
  const credentials = JSON.parse(readFileSync(join(dataDir, 'sandbox-credentials.json'), 'utf8'));
  assert.equal(Object.keys(credentials), ['base_url', 'merchant_id', 'api_key', 'api_secret', 'webhook_secret']);
  for (const text of [/npm run demo/, /sandbox-credentials\.json/, credentials.base_url])
    assert.match(quayside.stdout(), text);
  assert.match(credentials.api_key, /^sk_test_[0-9A-Za-z]{32}$/);
  for (const secret of [credentials.api_key, credentials.api_secret, credentials.webhook_secret]) {
    assert.not.ok(`${quayside.stdout()}${quayside.stderr()}`.includes(secret), 'a log keeps everything');
  }
});

test('the first start has deposit addresses of every family before it answers', () => {
  assert.not.match(quayside.stderr(), /there are no deposit addresses yet/);
});

test('standard error has JSON lines and nothing else, such as warnings of Node', () => {
  const lines = quayside.stderr().split('\n');
  assert.equal(
    lines.filter((line) => line !== '' && !line.startsWith('{')),
    [],
  );
});

test('health, reference and metrics answer', async () => {
  const baseUrl = readCredentials(dataDir)?.base_url;
  for (const path of ['/livez', '/readyz', '/docs', '/openapi.json']) {
    assert.is((await fetch(`${baseUrl}${path}`)).status, 200, path);
  }
  const { metrics_url: metricsUrl } = JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8'));
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const lines = [
    /^quayside_network_state\{network="test:ethereum",state="following"\} 1$/m,
    /^quayside_network_lag_blocks\{network="test:bsc"\} \d+$/m,
    /^quayside_pool_free_addresses\{family="evm",mode="test"\} [1-9]\d*$/m,
    /^quayside_rate_fresh\{source="static"\} 1$/m,
    /^quayside_request_duration_seconds_count\{route="\/docs",method="GET",status="200"\} 1$/m,
    /^quayside_write_wait_seconds_count [1-9]/m,
    /^quayside_write_seconds_count [1-9]/m,
    /^nodejs_eventloop_lag_seconds /m,
  ];
  for (const line of lines) assert.match(text, line);
});

for (const network of ['tron', 'ethereum', 'bsc', 'solana']) {
  test(`the demo takes a payment on ${network}, printing each step`, async () => {
    const { code, stdout, stderr } = await runProgram(['scripts/demo.ts', '--network', network], sandbox.variables);
    assert.is(code, 0, stderr);
    const steps = [
      'created session',
      `${readCredentials(dataDir)?.base_url}/pay/cs_`,
      `USDT on ${network}`,
      'confirmations ',
      ': paid',
      'payment.completed',
      'verified',
      'done',
    ];
    let from = 0;
    for (const step of steps) {
      const at = stdout.indexOf(step, from);
      assert.ok(at >= 0, `"${step}" in its place in:\n${stdout}`);
      from = at;
    }
    assert.equal(await sandbox.tool('webhook', 'list'), [], 'the endpoint is removed');
  });
}

test("the demo refunds a part on each family's network, signed by the sandbox's signer", async () => {
  const refundOn = async (network: string): Promise<void> => {
    const demo = ['scripts/demo.ts', '--network', network, '--refund', '--json'];
    const { code, stdout, stderr } = await runProgram(demo, sandbox.variables);
    assert.is(code, 0, `${network}: ${stderr}`);
    const { refund } = JSON.parse(stdout) as { refund: Record<string, string> };
    assert.is(refund.status, 'completed', network);
    assert.is(refund.amount, '4.50', network);
    assert.match(refund.receipt_number ?? '', /^RF-\d{4}-\d{8}$/);
    assert.ok((refund.transaction_hash ?? '').length >= 64, network);
  };
  await Promise.all(['ethereum', 'solana', 'tron'].map(refundOn));
});

test('the books balance after payments and refunds', async () => {
  await expectBooks(sandbox.tool);
});

test('the final blocks of every network are compared at night', async () => {
  await until('there are more', async () =>
    (await floors()).every(({ floor }, at) => floor !== null && floor > (begun[at]?.floor ?? 0)),
  );
  const night = await runProgram(['indexers/nightly.ts'], sandbox.variables);
  assert.is(night.code, 0, night.stderr);
  const { comparison } = await sandbox.tool('status');
  for (const { network } of begun) {
    const { differences, blocks } = comparison.find((one: Json) => one.network === network);
    assert.ok(differences === 0 && blocks > 0, network);
  }
  const { code, out } = await runQuayside(['status'], sandbox.variables);
  assert.is(code, 0);
  assert.match(out, /^test:bsc +\d+ +[\d-]+ [\d:]+ +0$/m);
});

test('status shows networks, pools and rates, also when called from another folder', async () => {
  const { server, networks, pools, rates } = await sandbox.status();
  assert.is(server?.base_url, readCredentials(dataDir)?.base_url);
  assert.equal(
    networks.map(({ network, state }) => [network, state]),
    [
      ['test:tron', 'following'],
      ['test:ethereum', 'following'],
      ['test:bsc', 'following'],
      ['test:solana', 'following'],
    ],
  );
  assert.equal(
    pools.map(({ family, taken }) => [family, taken]),
    [
      ['tron', 7],
      ['evm', 7],
      ['solana', 7],
    ],
    'each payment took one address of each family',
  );
  assert.equal(
    rates?.map(({ source, fresh }) => [source, fresh]),
    [['static', true]],
  );
  const elsewhere = await runQuayside(['status'], { QUAYSIDE_DATA_DIR: 'data' }, folder);
  assert.is(elsewhere.code, 0, elsewhere.err);
  assert.match(elsewhere.out, /test:bsc +following/);
});

test('a second installation can run beside it, but not in the same folder', async () => {
  const other = sandboxInstallation(join(folder, 'other'), {}, ['bsc']);
  const second = await other.start();
  const third = spawnSupervisor(other.variables);
  assert.is(await third.ended, 2);
  assert.match(third.stderr(), new RegExp(`already running on .*other \\(process ${second.pid}\\)`));
  assert.is(await second.end('SIGTERM'), 0);
  assert.not.ok(existsSync(join(folder, 'other', 'server.json')));
});

test.run();
