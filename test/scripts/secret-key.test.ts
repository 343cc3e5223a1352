/** What `quayside secret-key rotate` says and leaves, and never a key. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { takeInstanceLock } from '../../src/database/engine/instance-lock.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { openToolBench } from '../support/tool-bench.ts';

const { folder, variables, config, database, run, answer, close } = await openToolBench();
test.after(close);
await answer('key', 'create', '--mode', 'test');
await answer('webhook', 'add', 'https://93.184.215.14/hook', '--mode', 'test');
database.close();
const { dataDir } = config;
const keyFile = join(dataDir, 'secret.key');
const passphraseFile = join(folder, 'passphrase');
writeFileSync(passphraseFile, 'correct horse battery staple\n', { mode: 0o600 });
const backups = join(folder, 'backups');

const rotate = (more: NodeJS.ProcessEnv = {}) =>
  runQuayside(['secret-key', 'rotate', '--to', backups, '--passphrase-file', passphraseFile], {
    ...variables,
    ...more,
  });

test('without an installation, or while it runs, nothing is rotated', async () => {
  const none = await rotate({ QUAYSIDE_DATA_DIR: join(folder, 'none') });
  assert.is(none.code, 3, none.err);
  assert.not(existsSync(join(folder, 'none')));
  const release = takeInstanceLock(dataDir);
  const running = await rotate();
  release();
  assert.is(running.code, 1);
  assert.match(running.err, 'already running');
  assert.not(existsSync(backups));
});

test('a rotation makes a backup, says how much was sealed, and prints no key', async () => {
  const before = readFileSync(keyFile, 'utf8').trim();
  const { code, out, err } = await rotate();
  assert.is(code, 0, err);
  const after = readFileSync(keyFile, 'utf8').trim();
  assert.is.not(after, before);
  assert.is(statSync(keyFile).mode & 0o777, 0o600);
  const lines = out.trimEnd().split('\n');
  assert.match(lines[0] ?? '', new RegExp(`^${keyFile} has the new key, and [1-9]\\d* rows are sealed with it\\.$`));
  assert.is(lines.length, 2);
  for (const key of [before, after]) assert.not.ok(`${out}${err}`.includes(key));
  const [made = '', ...others] = readdirSync(backups);
  assert.equal(others, []);
  const verified = await run('restore', join(backups, made), '--dry-run', '--passphrase-file', passphraseFile);
  assert.is(verified.code, 0, verified.err);
  const sealed = openDatabase(config, process.env);
  const [endpoint] = await sealed.endpoints.list(null);
  assert.match((await sealed.endpoints.findSecret(endpoint?.id ?? '', 'test'))?.secret ?? '', /^whsec_/);
  sealed.close();
});

test('an interrupted rotation is named at the next command, and ended by the next rotation', async () => {
  const key = readFileSync(keyFile);
  writeFileSync(`${keyFile}.next`, key, { mode: 0o600 });
  writeFileSync(keyFile, `${'ab'.repeat(32)}\n`);
  const refused = await run('key', 'list');
  assert.is(refused.code, 1);
  assert.match(refused.err, 'If `quayside secret-key rotate` was interrupted, run it again');
  const { code, out, err } = await rotate();
  assert.is(code, 0, err);
  assert.is(out.trim(), `The interrupted rotation has ended: ${keyFile} has the new key.`);
  assert.equal(readFileSync(keyFile), key);
  assert.is((await run('key', 'list')).code, 0);
});

test.run();
