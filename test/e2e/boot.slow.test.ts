/**
 * The sandbox that `npm start` runs, with real processes, as a new user meets it: start, pay by the demo, look around;
 * every state of a payment by simulation, from the page's panel (a form, without scripts) and from the API; orderly
 * stops and killed processes, after which everything continues.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { xpubKeysAt } from '../../src/chains/xpub.ts';
import { freePort } from '../support/free-port.ts';
import type { Json } from '../support/instance.ts';
import { endAll } from '../support/processes.ts';
import {
  expectBooks,
  find,
  runProgram,
  runQuayside,
  type Supervisor,
  sandboxInstallation,
  spawnSupervisor,
} from '../support/quayside-process.ts';
import { exchange, type HttpAnswer, signedClient } from '../support/signed-client.ts';
import { until } from '../support/until.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");
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

test('the demo takes a payment, printing each step', async () => {
  const { code, stdout, stderr } = await runProgram(['scripts/demo.ts', '--network', 'bsc'], sandbox.variables);
  assert.is(code, 0, stderr);
  const steps = [
    'created session',
    `${readCredentials(dataDir)?.base_url}/pay/cs_`,
    'USDT on bsc',
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

test("the demo refunds a part on each family's network, signed by the sandbox's signer", async () => {
  const refundOn = async (network: string): Promise<void> => {
    const demo = ['scripts/demo.ts', '--network', network, '--refund', '--json'];
    const { code, stdout, stderr } = await runProgram(demo, sandbox.variables);
    if (code !== 0) throw new Error(`${network}: ${stderr}\n${JSON.stringify(await sandbox.tool('status'))}`);
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

test('each payment took one address of each family; status shows it from another folder, too', async () => {
  const { pools } = await sandbox.status();
  assert.equal(
    pools.map(({ family, taken }) => `${family} ${taken}`),
    ['tron 4', 'evm 4', 'solana 4'],
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

// ── Simulations ──────────────────────────────────────────────────────────────────────────────────────────────────────

const simulate = (id: string, body: object): Promise<HttpAnswer> =>
  sandbox.client().send('POST', `/api/v1/test/sessions/${id}/simulate`, body);

const headlineOf = (html: string) => /<h1[^>]*>([^<]*)</.exec(html)?.[1] ?? '';

const says = (url: string, headline: RegExp) =>
  find(`${url} says ${headline}`, async () => headline.test(headlineOf((await exchange('GET', url)).text)));

/** Presses a button of the panel like a browser without scripts. */
async function press(url: string, action: string): Promise<HttpAnswer> {
  const { text } = await exchange('GET', url);
  const target = /<form method="post" action="([^"]+\/simulate[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  assert.match(text, `value="${action}"`);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  return exchange('POST', new URL(target, url).href, headers, `action=${action}`);
}

test('by the panel of the page, a form', async () => {
  const { url } = await sandbox.createSession();
  const page = `${url}?pay=tron-USDC`;
  const answer = await press(page, 'pay_exact');
  assert.is(answer.status, 303, answer.text);
  const back = new URL(String(answer.headers.location), new URL(`${url}/simulate`)).href;
  assert.is(back, page, 'back on the page, as it was');
  await says(page, /^Paid$/);
});

const stories: readonly (readonly [string, string, readonly (readonly [string, RegExp])[]])[] = [
  [
    'half, then the rest',
    'USD',
    [
      ['pay_under', /5\.25 USDT still due/],
      ['pay_exact', /^Paid$/],
    ],
  ],
  ['a quarter too much', 'USD', [['pay_over', /^Paid$/]]],
  ['twice', 'USD', [['pay_twice', /^Paid$/]]],
  ['too late', 'USD', [['pay_late', /too late/]]],
  ['nothing', 'USD', [['expire', /has expired/]]],
  [
    'half, and then nothing',
    'USD',
    [
      ['pay_under', /still due/],
      ['expire', /was not completed/],
    ],
  ],
  [
    'in another token',
    'USDT',
    [
      ['pay_wrong_token', /not USDT/],
      ['pay_exact', /^Paid$/],
    ],
  ],
];

for (const [name, currency, steps] of stories) {
  test(`by the API: ${name}`, async () => {
    const { id, url } = await sandbox.createSession(currency);
    for (const [action, headline] of steps) {
      const { status, text } = await simulate(id, { action, network: 'ethereum', currency: 'USDT' });
      assert.is(status, 200, text);
      await says(url, headline);
    }
  });
}

test('a simulation that is impossible is refused with a reason', async () => {
  const { id, url } = await sandbox.createSession();
  const refusals: readonly (readonly [object, string, string?])[] = [
    [{ action: 'reorg' }, 'simulation_refused'],
    [{ action: 'pay_wrong_token' }, 'simulation_refused'],
    [{ action: 'dance' }, 'invalid_parameter', 'action'],
    [{}, 'invalid_parameter', 'action'],
    [{ action: 'mine', network: 'moon' }, 'invalid_parameter', 'network'],
    [{ action: 'mine', network: '' }, 'invalid_parameter', 'network'],
  ];
  for (const [body, code, param] of refusals) {
    const { status, json } = await simulate(id, body);
    assert.is(status, 400, JSON.stringify(body));
    const { error } = json as { error: { code: string; param?: string } };
    assert.equal({ code: error.code, param: error.param }, { code, param }, JSON.stringify(body));
  }
  assert.is((await simulate('cs_00000000000000000000000000', { action: 'mine' })).status, 404);
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const refused = await exchange('POST', `${url}/simulate`, headers, 'action=reorg');
  assert.is(refused.status, 400);
  assert.match(refused.text, /Pay first/);
  assert.is((await exchange('POST', `${url}/simulate`, headers, 'action=dance')).status, 404);
});

test('the sample payments are in different states, and one is refunded', async () => {
  const ended = await runProgram(['scripts/sample-payments.ts'], sandbox.variables);
  assert.equal({ code: ended.code, stderr: ended.stderr }, { code: 0, stderr: '' });
  const states = ['paid', 'paid', 'paid', 'expired', 'pending', 'paid', 'expired', 'pending'];
  for (const [at, state] of states.entries()) {
    await find(`sample ${at + 1} is ${state}`, async () => {
      const { json } = await sandbox.client().send('GET', `/api/v1/checkout/sessions?order_id=SAMPLE-${at + 1}`);
      return (json as { data: readonly { payment_status: string }[] }).data[0]?.payment_status === state;
    });
  }
  assert.is((await sandbox.client().send('GET', '/api/v1/refunds/SAMPLE-R1')).status, 200);
});

// ── Ends and starts ──────────────────────────────────────────────────────────────────────────────────────────────────

test('SIGTERM ends everything in order, whatever pages are open, and the next start continues', async () => {
  const { id, url } = await sandbox.createSession();
  const before = readCredentials(dataDir);
  const streams = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/events`)));
  const texts = Promise.all(streams.map((stream) => stream.text()));
  assert.is(await quayside.end('SIGTERM'), 0);
  await texts;
  assert.match(quayside.stdout(), /has stopped/);
  assert.is(readServerFile(dataDir), null);

  quayside = await sandbox.start();
  const after = readCredentials(dataDir);
  assert.equal({ ...after, base_url: '' }, { ...before, base_url: '' });
  assert.ok(after && quayside.stdout().includes(after.base_url));
  await sandbox.tool('pay', id, '--network', 'ethereum');
  await sandbox.paid(id);
});

test('after a change of the xpub, no session takes an address of the old one', async () => {
  await quayside.end('SIGTERM');
  // A port that no other program is given in between: it must be known before the start is over.
  const port = await freePort();
  const file = join(dataDir, 'sandbox.json');
  const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
  const details = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...details, xpub: { ...details.xpub, evm: xpub } }));

  quayside = spawnSupervisor({ ...sandbox.variables, QUAYSIDE_PORT: String(port) });
  const { api_key: apiKey = '', api_secret: apiSecret = '' } = readCredentials(dataDir) ?? {};
  const shop = signedClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey, apiSecret });
  const body = { amount: 100, currency: 'USD', order_id: 'the first' };
  const options = await find('a session is created', async () => {
    if (quayside.hasEnded()) throw new Error(`the start has failed: ${quayside.stderr()}`);
    const answer = await shop.send('POST', '/api/v1/checkout/sessions/create', body).catch(() => null);
    return (answer?.json as { payment_options?: { network: string; address: string }[] } | null)?.payment_options;
  });
  const ofEthereum = options.find(({ network }) => network === 'ethereum');
  assert.is(ofEthereum?.address.toLowerCase(), `0x${evmXpubKeys.derive(xpub, 0)}`);
  await find('the start is over', async () => quayside.stdout().includes('Try next'));
});

test('when the supervisor is killed its children end, and a new start takes over the same chains', async () => {
  const { id } = await sandbox.createSession();
  await sandbox.tool('pay', id, '--network', 'ethereum');
  await sandbox.paid(id);
  const readFile = () => JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8'));
  const before = readFile();
  const { server, networks } = await sandbox.status();
  await quayside.end('SIGKILL');
  const hasEnded = (pid: number) => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  };
  const pids = [server?.pid ?? 0, ...networks.map(({ pid }) => pid)];
  assert.ok(pids.length === 5 && !pids.includes(0), `processes ${pids.join(', ')}`);
  await find('the children have ended', async () => pids.every(hasEnded));
  for (const { url } of Object.values<{ url: string }>(before.networks)) {
    const isGone = () =>
      fetch(url.replace('ws:', 'http:')).then(
        () => false,
        () => true,
      );
    await find(`the node at ${url} has ended`, isGone);
  }
  // It waits until every network is followed, which a chain that has lost final blocks is not.
  quayside = await sandbox.start();
  assert.equal(readFile(), before, 'the nodes have their addresses, keys and token again');
  assert.is((await sandbox.showSession(id)).payment_status, 'paid');
  assert.is(await quayside.end('SIGINT'), 0);
});

test.run();
