/**
 * An installation whose signer cannot start: payments are taken as before, and an alarm is raised.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readServerFile } from '../../src/app/server-file.ts';
import { endAll, find, spawnSupervisor } from '../support/quayside-process.ts';
import { makeSignerFolder } from '../support/temp-signer.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-halted-signer-'));
const folder = makeSignerFolder();
test.after(async () => {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
  folder.remove();
});

test('a signer that cannot be unlocked stays halted, and everything else runs', async () => {
  const passphrase = join(dir, 'passphrase');
  writeFileSync(passphrase, 'not this one', { mode: 0o600 });
  const config = join(dir, 'config.json');
  const dataDir = join(dir, 'data');
  const signer = { dir: folder.dir, unlock: { file: passphrase } };
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

test.run();
