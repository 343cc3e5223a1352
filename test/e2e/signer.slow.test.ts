/**
 * The start of an installation with a signer: one that cannot start stops no payments, and what makes it easier to take
 * money from a live one is said.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { endAll, find, spawnSupervisor } from '../support/quayside-process.ts';
import { makeSignerFolder, passphrase } from '../support/temp-signer.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-halted-signer-'));
const folder = makeSignerFolder();
test.after(async () => {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
  folder.remove();
});

test('a signer that cannot be unlocked stays halted, and everything else runs', async () => {
  const wrong = join(dir, 'passphrase');
  writeFileSync(wrong, 'not this one', { mode: 0o600 });
  const config = join(dir, 'config.json');
  const dataDir = join(dir, 'data');
  const signer = { dir: folder.dir, unlock: { file: wrong } };
  writeFileSync(config, JSON.stringify({ port: 0, data_dir: dataDir, signer, networks: { 'sandbox-ethereum': {} } }));
  const supervisor = spawnSupervisor({ QUAYSIDE_CONFIG: config });
  await find('the operator is told', async () => supervisor.stdout().includes('The signer is halted'));
  assert.match(supervisor.stderr(), '"passphrase_wrong"');
  await find('payments are taken', async () => {
    const running = readServerFile(dataDir);
    return running && (await fetch(`${running.base_url}/readyz`)).ok;
  });
  assert.is(await supervisor.end('SIGTERM'), 0);
});

test('a live installation is warned at its start; its metrics stay on this machine, whatever the API listens on', async () => {
  const passphraseFile = join(dir, 'right');
  writeFileSync(passphraseFile, passphrase, { mode: 0o600 });
  const config = join(dir, 'live.json');
  const dataDir = join(dir, 'live');
  const signer = { dir: folder.dir, unlock: { file: passphraseFile } };
  const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
  const networks = { ethereum: { url: 'ws://127.0.0.1:1', xpub } };
  // Another address of this machine, in the place of one that others reach.
  const host = '127.0.0.2';
  writeFileSync(config, JSON.stringify({ port: 0, metrics_port: 0, host, data_dir: dataDir, signer, networks }));
  const supervisor = spawnSupervisor({ QUAYSIDE_CONFIG: config });
  const running = await find('the server runs', async () => readServerFile(dataDir));
  const { hostname, port } = new URL(running.metrics_url);
  assert.is(hostname, '127.0.0.1');
  assert.is((await fetch(`http://${host}:${running.port}/livez`)).status, 200);
  assert.is((await fetch(`http://${hostname}:${port}/metrics`)).status, 200);
  const beyond = await fetch(`http://${host}:${port}/metrics`).then(() => 'answered', String);
  assert.match(beyond, 'fetch failed');
  for (const code of ['signer_same_user', 'no_second_node']) {
    await find(`a warning of ${code}`, async () => supervisor.stderr().includes(`"code":"${code}"`));
  }
  assert.is(await supervisor.end('SIGTERM'), 0);
});

test.run();
