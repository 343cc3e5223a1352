import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openScratch, removeAbandoned } from '../../../src/app/backup/scratch.ts';
import { quayside } from '../../support/built.ts';
import { runQuayside } from '../../support/quayside-process.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-scratch-'));
const data = join(folder, 'data');
const passphraseFile = join(folder, 'passphrase');
writeFileSync(passphraseFile, 'correct horse battery\n', { mode: 0o600 });
const variables = { QUAYSIDE_DATA_DIR: data };
const words = ['backup', '--to', join(folder, 'target'), '--passphrase-file', passphraseFile];
const scratches = () => readdirSync(data).filter((name) => name.startsWith('making-backup-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('the plain copy of a backup that was killed is removed by the next one, and no sooner', async () => {
  await runQuayside(['store', 'add', 'Shop'], variables);
  const child = spawn(process.execPath, [quayside, ...words], {
    env: { ...process.env, ...variables },
    stdio: 'ignore',
  });
  // Deriving the key from the passphrase takes half a second, with the copy in place.
  await until('there is a plain copy', () => {
    const [name = 'none'] = scratches();
    return scratches().length > 0 && readdirSync(join(data, name)).includes('quayside.db');
  });
  assert.equal(removeAbandoned(data), [], 'it is in use');
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.is(scratches().length, 1);
  const { out, err } = await runQuayside(words, variables);
  assert.match(out, 'The signer’s part is missing', err);
  assert.equal(scratches(), []);
});

test('one that an earlier version left, and files that were being packed a day ago, are removed; others stay', () => {
  const parent = join(folder, 'parent');
  mkdirSync(join(parent, 'making-backup-Ab3dEf'), { recursive: true });
  writeFileSync(join(parent, 'making-backup-Ab3dEf', 'quayside.db'), 'plain');
  mkdirSync(join(parent, 'making-backup-of-my-own'));
  const [old, fresh] = ['1', '2'].map((pid) => `quayside-20260101T000000000Z.tar.gz.age.${pid}.partial`) as [
    string,
    string,
  ];
  for (const name of [old, fresh, 'quayside-20260101T000000000Z.tar.gz.age']) writeFileSync(join(parent, name), '');
  utimesSync(join(parent, old), 0, 0);
  const { folder: own, remove } = openScratch(parent, 'unpacked-backup');
  assert.equal(readdirSync(parent).sort(), [
    'making-backup-of-my-own',
    'quayside-20260101T000000000Z.tar.gz.age',
    fresh,
    own.slice(parent.length + 1),
  ]);
  remove();
  assert.is(readdirSync(parent).length, 3);
});

test.run();
