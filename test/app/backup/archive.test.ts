import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { packArchive, unpackArchive } from '../../../src/app/backup/archive.ts';
import { Fault } from '../../../src/core/fault.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-archive-'));
const { PATH } = process.env;
test.after.each(() => {
  process.env.PATH = PATH;
});
test.after(() => rmSync(folder, { recursive: true }));

const passphrase = Buffer.from('correct horse battery');
const manifest = { version: 1, program_version: '0.1.0', made_at_ms: 1 };
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (error instanceof Fault ? error.code : error),
  );

test('a `tar` that is missing, or fails at once, is a fault of the backup, and does not end the program', async () => {
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const [whole, other, unpacked] = ['whole', 'other', 'unpacked'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(unpacked);
  await packArchive(whole, folder, passphrase);
  assert.is(await codeOf(unpackArchive(whole, join(folder, 'nowhere'), passphrase)), 'storage_unavailable');
  process.env.PATH = folder;
  assert.is(await codeOf(packArchive(other, folder, passphrase)), 'storage_unavailable');
  assert.is(await codeOf(unpackArchive(whole, unpacked, passphrase)), 'storage_unavailable');
  process.env.PATH = PATH;
  assert.equal(await unpackArchive(whole, unpacked, passphrase), manifest);
});

test.run();
