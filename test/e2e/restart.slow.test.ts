/**
 * Killed processes and orderly stops: everything continues afterwards.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { xpubKeysAt } from '../../src/chains/xpub.ts';
import { freePort } from '../support/free-port.ts';
import { endAll } from '../support/processes.ts';
import {
  blocksEvery,
  find,
  type Supervisor,
  sandboxInstallation,
  spawnSupervisor,
} from '../support/quayside-process.ts';
import { signedClient } from '../support/signed-client.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");

const folder = mkdtempSync(join(tmpdir(), 'quayside-restart-'));
const networks = ['ethereum', 'bsc'] as const;
/** Most of the time passes until it is clear that an indexer hangs. */
const sandbox = sandboxInstallation(folder, blocksEvery(400, networks), networks);
let quayside: Supervisor;

test.before(async () => {
  quayside = await sandbox.start();
});

test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

test('SIGTERM ends everything in order, and the next start continues', async () => {
  const { id } = await sandbox.createSession();
  const before = readCredentials(folder);
  assert.is(await quayside.end('SIGTERM'), 0);
  assert.match(quayside.stdout(), /has stopped/);
  assert.is(readServerFile(folder), null);

  quayside = await sandbox.start();
  const after = readCredentials(folder);
  assert.equal({ ...after, base_url: '' }, { ...before, base_url: '' });
  assert.ok(after && quayside.stdout().includes(after.base_url));
  await sandbox.tool('pay', id, '--network', 'ethereum');
  await sandbox.paid(id);
});

test('after a change of the xpub, no session takes an address of the old one', async () => {
  await quayside.end('SIGTERM');
  // A port that no other program is given in between: it must be known before the start is over.
  const port = await freePort();
  const file = join(folder, 'sandbox.json');
  const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
  const details = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...details, xpub: { ...details.xpub, evm: xpub } }));

  quayside = spawnSupervisor({ ...sandbox.variables, QUAYSIDE_PORT: String(port) });
  let hasEnded = false;
  quayside.ended.then(() => {
    hasEnded = true;
  });
  const { api_key: apiKey = '', api_secret: apiSecret = '' } = readCredentials(folder) ?? {};
  const baseUrl = `http://127.0.0.1:${port}`;
  const shop = signedClient({ baseUrl, apiKey, apiSecret }, () => Math.floor(Date.now() / 1000));
  const body = { amount: 100, currency: 'USD', order_id: 'the first' };
  const options = await find('a session is created', async () => {
    if (hasEnded) throw new Error(`the start has failed: ${quayside.stderr()}`);
    const answer = await shop.send('POST', '/api/v1/checkout/sessions/create', body).catch(() => null);
    return (answer?.json as { payment_options?: { network: string; address: string }[] } | null)?.payment_options;
  });
  const ofEthereum = options.find(({ network }) => network === 'ethereum');
  assert.is(ofEthereum?.address.toLowerCase(), `0x${evmXpubKeys.derive(xpub, 0)}`);
  await find('the start is over', async () => quayside.stdout().includes('Try next'));
});

test('when the supervisor is killed its children end, and a new start takes over', async () => {
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
  assert.ok(pids.length === 3 && !pids.includes(0), `processes ${pids.join(', ')}`);
  await find('the children have ended', async () => pids.every(hasEnded));
  quayside = await sandbox.start();
  assert.is(await quayside.end('SIGINT'), 0);
});

test.run();
