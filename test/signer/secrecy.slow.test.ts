/**
 * A whole installation with a signer: the secrets are in the signer's memory and nowhere else. The test searches every
 * process, every file and the log for them.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createIntentMac } from '../../src/core/intent.ts';
import { openSecretKey } from '../../src/lib/secret-key.ts';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { endAll } from '../support/processes.ts';
import { spawnSupervisor } from '../support/quayside-process.ts';
import { firstOf, makeSignerFolder, passphrase, policySettings, refundOf, usdt } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';
import { heldNeedles, needles, secretsIn, secretsInMemory } from './secrets.ts';

const [anyNetwork] = Object.values(policySettings.networks);
const folder = makeSignerFolder({ ...policySettings, networks: anyNetwork ? { 'test:ethereum': anyNetwork } : {} });
const dir = mkdtempSync(join(tmpdir(), 'quayside-secrecy-'));
const dataDir = join(dir, 'data');
test.after(async () => {
  await endAll();
  rmSync(dir, { recursive: true, force: true });
  folder.remove();
});

/** Returns the process ids of an installation's programs, by file. */
function programsUnder(supervisor: number): Map<string, number> {
  const found = new Map<string, number>([['src/main', supervisor]]);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = /^\d+ \(.*\) \S+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
      const program = /(src|indexers)\/[\w/]+(?=\.js)/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[0];
      if (Number(parent) === supervisor && program) found.set(program, Number(pid));
    } catch {
      // The process has ended meanwhile.
    }
  }
  return found;
}

const filesIn = (place: string): string[] =>
  readdirSync(place, { recursive: true })
    .map((name) => join(place, String(name)))
    .filter((file) => statSync(file).isFile());

test('the secrets of a working signer stay in its memory', async () => {
  const passphraseFile = join(dir, 'passphrase');
  writeFileSync(passphraseFile, passphrase, { mode: 0o600 });
  const config = join(dir, 'config.json');
  const signerSettings = { dir: folder.dir, unlock: { file: passphraseFile } };
  const networks = { 'sandbox-ethereum': {} };
  writeFileSync(
    config,
    JSON.stringify({ port: 0, data_dir: dataDir, log_level: 'trace', signer: signerSettings, networks }),
  );
  const supervisor = spawnSupervisor({ QUAYSIDE_CONFIG: config });
  const output = () => supervisor.stdout() + supervisor.stderr();
  const client = openSigner({ socket: signerFiles(folder.dir).socket, timeoutMs: 20_000 });
  await until('the signer serves', () =>
    client.fence('test:ethereum').then(
      () => true,
      () => false,
    ),
  );
  await until('the server and the indexer run', () => {
    const programs = programsUnder(supervisor.pid);
    return programs.has('src/server') && programs.has('indexers/evm') && output().includes('Try next');
  });

  const { mac: _, ...refund } = refundOf('rf_secrecy', usdt(5), { network: 'test:ethereum' });
  const mac = createIntentMac(openSecretKey(join(dataDir, 'secret.key')))(refund);
  const fence = (await client.fence('test:ethereum')) || 1;
  const signed = await client.sign(firstOf({ ...refund, mac }, 1, { fence }));
  await client.sign(firstOf({ ...refund, mac: 'b'.repeat(64), id: 'rf_other' }, 2, { fence })).then(
    () => assert.unreachable(),
    () => {},
  );

  const sought = needles();
  const held = heldNeedles();
  const programs = programsUnder(supervisor.pid);
  const [signer, ...others] = ['src/signer/main', 'src/main', 'src/server', 'indexers/evm', 'src/sandbox/main'];
  assert.ok(secretsInMemory(programs.get(signer) ?? 0, held).includes('seed, raw'), 'the search finds what it should');
  for (const program of others) assert.equal(secretsInMemory(programs.get(program) ?? 0, held), [], program);

  await until('the signer has logged what it signed', () => output().includes(signed.tx));
  assert.equal(secretsIn(Buffer.from(output()), sought), []);
  await client.close();
  assert.is(await supervisor.end('SIGTERM'), 0, output());
  const files = [...filesIn(dataDir), ...filesIn(folder.dir)];
  assert.ok(files.length > 5, files.join());
  for (const file of files) assert.equal(secretsIn(readFileSync(file), sought), [], file);
});

test.run();
