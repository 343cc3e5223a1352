/**
 * The clients that are published for EPay, GMPay and BEpusdt, each as a panel of its own, against a whole installation.
 * A client whose language or package is not here is skipped by name; `.ci/run` installs them.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { DoorDialect } from '../../src/core/door.ts';
import { invariant } from '../../src/core/fault.ts';
import { type Driver, startDriver } from '../sdk/client-driver.ts';
import { makeCertificates } from '../support/certificates.ts';
import { type Received, startMerchantServer } from '../support/merchant-server.ts';
import { endAll } from '../support/processes.ts';
import { find, sandboxInstallation } from '../support/quayside-process.ts';
import { connectIn } from '../support/temp-database.ts';
import { addDoor } from './requests.ts';

const MONEY = '10.00';
const BUILD_MS_MAX = 480_000;
const python = resolve('.tmp/panels/bin/python');
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'quayside', 'panel-rust');

type Client = Readonly<{ name: string; dialect: DoorDialect; command: () => readonly string[] | null }>;

const ofPython = (module: string) => () =>
  spawnSync(python, ['-c', `import ${module}`]).status === 0 ? [python, '-B', resolve('test/doors/panel.py')] : null;

/** Builds the client of crates.io, of which nothing is kept in this project. */
function rustCommand(): readonly string[] | null {
  const project = resolve('.tmp/panel-rust');
  mkdirSync(project, { recursive: true });
  const manifest = [
    ...['[package]', 'name = "panel"', 'version = "0.0.0"', 'edition = "2021"', '[[bin]]', 'name = "panel"'],
    ...[`path = ${JSON.stringify(resolve('test/doors/panel.rs'))}`, '[dependencies]', 'serde_json = "1"'],
    'epay-sdk = { version = "=1.0.0", features = ["blocking"] }',
  ];
  writeFileSync(join(project, 'Cargo.toml'), `${manifest.join('\n')}\n`);
  const env = { ...process.env, CARGO_TARGET_DIR: cache };
  const built = spawnSync('cargo', ['build', '-q'], { cwd: project, env, timeout: BUILD_MS_MAX });
  const program = join(cache, 'debug', 'panel');
  return built.status === 0 && existsSync(program) ? [program] : null;
}

const clients: readonly Client[] = [
  { name: 'epay-sdk of PyPI', dialect: 'epay', command: ofPython('epay_sdk') },
  { name: 'epusdt of PyPI', dialect: 'gmpay', command: ofPython('epusdt') },
  { name: 'bepusdt of PyPI', dialect: 'bepusdt', command: ofPython('bepusdt') },
  { name: 'epay-sdk of crates.io', dialect: 'epay', command: rustCommand },
];

const folder = mkdtempSync(join(tmpdir(), 'quayside-panels-'));
const dataDir = join(folder, 'data');
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const { server: tls, authorityFile } = hasOpenssl
  ? makeCertificates(folder, 'IP:127.0.0.1')
  : { server: undefined, authorityFile: '' };
const sandbox = sandboxInstallation(dataDir, { NODE_EXTRA_CA_CERTS: authorityFile }, ['tron']);
/** Takes a notice for the client that it is for, by the path of its URL. @returns the answer that the client makes */
const takers = new Map<string, (received: Received) => Promise<string>>();

await sandbox.start();
const baseUrl = (await sandbox.status()).server?.base_url ?? '';
const database = connectIn(dataDir);
const panel = await startMerchantServer(async (response, received) => {
  const take = takers.get(received.path.split('?')[0] ?? '');
  response.end(take ? await take(received) : 'unknown');
}, tls);
/** The client of BEpusdt calls nothing but https. */
const gateway = await startMerchantServer((response, { method, path, headers, body }) => {
  const onward = send(baseUrl + path, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.once('error', () => response.destroy());
  onward.end(body);
}, tls);

test.after(async () => {
  database.close();
  await endAll();
  await Promise.all([panel, gateway].map((one) => one.close()));
  rmSync(folder, { recursive: true, force: true });
});

/** Pays a session exactly, as a payer does by the sandbox's panel. */
async function pay(pageUrl: string): Promise<void> {
  const { href } = new URL(pageUrl);
  const [page = '', query = ''] = href.split('?');
  const body = new URLSearchParams({ action: 'pay_exact' });
  const answer = await fetch(`${page}/simulate?${query}`, { method: 'POST', body, redirect: 'manual' });
  assert.is(answer.status, 303, await answer.text());
}

async function exercise({ name, dialect }: Client, command: readonly string[]): Promise<void> {
  const path = `/${name.replaceAll(' ', '-')}`;
  const [store] = await database.stores.list();
  invariant(store, 'the sandbox has a store');
  const key = randomBytes(16).toString('hex');
  const door = await addDoor(database, { storeId: store.id, dialect, key });
  const driver = (key: string): Driver =>
    startDriver(command, {
      CLIENT: dialect,
      PID: String(door.pid),
      KEY: key,
      NOTIFY_URL: panel.origin + path,
      BASE_URL: dialect === 'bepusdt' ? gateway.origin : baseUrl,
      REQUESTS_CA_BUNDLE: authorityFile,
    });
  const client = driver(key);
  const stranger = driver(`${key.slice(1)}0`);
  const seen: Readonly<{ ack: string; credited: boolean }>[] = [];
  const notices: string[] = [];
  takers.set(path, async ({ method, path: url, body }) => {
    const text = method === 'GET' ? url.slice(url.indexOf('?') + 1) : body;
    notices.push(text);
    const { result, error } = await client.call('notice', text, 'A1', MONEY);
    const taken = (result ?? { ack: JSON.stringify(error), credited: false }) as { ack: string; credited: boolean };
    seen.push(taken);
    return taken.ack;
  });
  try {
    const refused = await stranger.call('create', 'A1', MONEY);
    assert.ok(refused.error, `wrong key: ${JSON.stringify(refused.result)}`);
    const { result, error } = await client.call('create', 'A1', MONEY);
    assert.is(error, undefined, JSON.stringify(error));
    const { url, id = '' } = result as { url: string; id?: string };
    const pageUrl = (await fetch(url)).url;
    assert.equal((await client.call('is_paid', 'A1', id)).result, false);
    assert.ok((await client.call('create', 'A1', '0.50')).error, 'changed money');
    const asNotice = dialect === 'epay' && url.includes('?') ? url.slice(url.indexOf('?') + 1) : '{"status":2}';
    assert.ok((await client.call('notice', asNotice, 'A1', MONEY)).error, 'a request is no notice');
    assert.equal(notices, []);

    await pay(pageUrl);
    await find('the notice has come', async () => seen.length > 0);
    const sessionId = /cs_\w+/.exec(pageUrl)?.[0] ?? '';
    await find('the notice is acknowledged', async () => {
      const all = await database.deliveries.list({ sessionId, limit: 10 });
      return all.some(({ endpointId, state }) => endpointId === door.id && state === 'delivered');
    });
    assert.equal(seen, [{ ack: dialect === 'epay' ? 'success' : 'ok', credited: true }]);
    assert.equal((await client.call('is_paid', 'A1', id)).result, true);
    const [text = ''] = notices;
    const second = (await client.call('notice', text, 'A1', MONEY)).result as { credited: boolean };
    assert.is(second.credited, false);
    const strange = (await stranger.call('notice', text, 'A1', MONEY)).result as { credited?: boolean } | undefined;
    assert.not(strange?.credited);
    const forged = await client.call('notice', text.replace(/(money=|"amount":)10/, '$199'), 'A1', '99.00');
    assert.not((forged.result as { credited?: boolean } | undefined)?.credited);
  } finally {
    client.stop();
    stranger.stop();
  }
}

const title = 'paid once, acknowledged once; a wrong key, changed money and an unpaid order are refused';
for (const client of clients) {
  const command = hasOpenssl ? client.command() : null;
  if (command) test(`${client.name}: ${title}`, () => exercise(client, command));
  else test.skip(`${client.name} cannot be run here`, () => {});
}

test.run();
