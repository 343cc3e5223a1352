/** A backup of the signer: what is in it, who can open it, what damages it, and what a restored signer does. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { openBackup } from '../../src/signer/backup.ts';
import { signerFiles, takeSignerLock } from '../../src/signer/files.ts';
import { restoreSigner } from '../../src/signer/setup.ts';
import { handClock } from '../support/hand-clock.ts';
import { lengthenJournal } from '../support/long-journal.ts';
import { refusalOf } from '../support/refusal.ts';
import { backUpInto, readBackup } from '../support/signer-backup.ts';
import {
  firstOf,
  makeSignerFolder,
  openSigningServiceIn,
  passphrase,
  refundOf,
  seed,
  usdt,
} from '../support/temp-signer.ts';

const home = mkdtempSync(join(tmpdir(), 'quayside-signer-backup-'));
const folder = makeSignerFolder(undefined, false);
test.after(() => {
  folder.remove();
  rmSync(home, { recursive: true, force: true });
});

const clock = handClock();
const file = join(home, 'signer.backup');
// Several chunks of 1 MiB.
lengthenJournal(signerFiles(folder.dir).journal, 6_000);
const { service, close } = openSigningServiceIn(folder.dir, clock);
const signed = service.sign(firstOf(refundOf('rf_1', usdt(5)), 1, { fence: 7 }));
await backUpInto(file, service);
const other = join(home, 'other.backup');
await backUpInto(other, service);
const later = service.sign(firstOf(refundOf('rf_2', usdt(6)), 2, { fence: 8 }));
close();
const whole = readFileSync(file);
const chunksAt = whole.indexOf(10) + 1;
const chunkBytes = 2 ** 20 + 16;

/** Makes a file of pieces. @returns the code of what unpacking it throws */
async function codeOf(...pieces: readonly (Uint8Array | string)[]): Promise<string> {
  const made = join(home, 'made.backup');
  writeFileSync(made, Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
  return readBackup(made).then(
    () => 'none',
    (error) => (error instanceof Fault ? error.code : Promise.reject(error)),
  );
}

const restore = (from: string, dir: string) =>
  restoreSigner(dir, seed, Buffer.from(passphrase), { backup: openBackup(from, seed), nowMs: clock.nowMs() });

test('it holds the policy and the journal, and nothing readable of them, of the seed or of the keystore', async () => {
  const { policy, journal, madeAtMs } = await readBackup(file);
  assert.is(policy, readFileSync(signerFiles(folder.dir).policy, 'utf8'));
  assert.is(madeAtMs, clock.nowMs());
  assert.ok(journal.includes('rf_1') && journal.includes('long_6000'));
  assert.not.ok(journal.includes('rf_2'), 'made before the second signature');
  const all = Buffer.concat([journal, Buffer.from(policy)]);
  assert.not.ok(all.includes(Buffer.from(seed)) || all.includes(Buffer.from(seed).toString('hex')));
  assert.not.match(policy, 'scrypt');
  for (const hidden of ['rf_1', 'treasury', 'SQLite']) assert.not.ok(whole.includes(hidden));
  const begin = (bytes: Buffer) => bytes.subarray(chunksAt, chunksAt + 1000);
  assert.not.ok(begin(readFileSync(other)).equals(begin(whole)), 'the same content has another key each time');
});

test('another seed does not open it, a newer format is named, and a missing file too', () => {
  const refusal = (path: string, of = seed) => refusalOf(() => openBackup(path, of));
  assert.is(refusal(file, new Uint8Array(64).fill(1)), 'backup_foreign');
  const newer = join(home, 'newer.backup');
  writeFileSync(newer, `${JSON.stringify({ kind: 'signer backup', version: 2 })}\n`);
  assert.is(refusal(newer), 'backup_newer');
  assert.is(refusal(join(home, 'nothing')), 'not_found');
  assert.is(refusal(home), 'not_found');
});

test('a chunk that is cut, dropped, swapped, repeated, altered or of another backup, or another first line, is refused', async () => {
  const line = whole.subarray(0, chunksAt);
  const chunks: Buffer[] = [];
  for (let at = chunksAt; at < whole.length; at += chunkBytes) chunks.push(whole.subarray(at, at + chunkBytes));
  assert.ok(chunks.length >= 4, `${chunks.length} chunks`);
  const [a, b, ...rest] = chunks as [Buffer, Buffer, ...Buffer[]];
  const foreign = readFileSync(other).subarray(chunksAt, chunksAt + chunkBytes);
  const altered = b.map((byte, at) => (at === 1000 ? byte ^ 1 : byte));
  const changed = (from: string | RegExp, to: string) => line.toString().replace(from, to);
  assert.is(await codeOf(line, a, b, ...rest), 'none');
  for (const [what, ...pieces] of [
    ['last dropped', line, a, b, ...rest.slice(0, -1)],
    ['first dropped', line, b, ...rest],
    ['one dropped', line, a, ...rest],
    ['swapped', line, b, a, ...rest],
    ['repeated', line, a, b, b, ...rest],
    ['last repeated', line, a, b, ...rest, ...rest.slice(-1)],
    ['altered', line, a, altered, ...rest],
    ['of another backup', line, foreign, b, ...rest],
    ['last byte', whole.subarray(0, -1)],
    ['cut between chunks', line, a, b],
    ['cut within a chunk', whole.subarray(0, chunksAt + 2 * chunkBytes - 7)],
    ['a byte more', whole, '\0'],
    ['no chunk', line],
    ['half of the line', whole.subarray(0, 50)],
    ['nothing'],
    ['another time', changed(/"made_at_ms":1/, '"made_at_ms":2'), a, b, ...rest],
    ['another salt', changed(/"salt":"../, '"salt":"00'), a, b, ...rest],
    ['a space in the line', changed(',', ', '), a, b, ...rest],
    ['a key more', changed('{', '{"more":1,'), a, b, ...rest],
    ['text', 'this is no backup\n'],
  ] as const) {
    assert.is(await codeOf(...pieces), 'backup_damaged', what);
  }
});

/** What every restored signer does whose backup has the first refund and not the second. */
function checkRestored(dir: string): void {
  const restored = openSigningServiceIn(dir, clock);
  const sign = (id: string, amount: number, nonce: number, fence: number) =>
    restored.service.sign(firstOf(refundOf(id, usdt(amount)), nonce, { fence }));
  // The engine that was served last, and one after some restarts.
  for (const fence of [8, 500])
    assert.is(
      refusalOf(() => sign('rf_3', 7, 3, fence)),
      'signer_refused_fence',
    );
  const adopted = restored.service.fence('test:one') + 1;
  assert.ok(adopted > 10_000);
  assert.equal(sign('rf_1', 5, 1, adopted), signed);
  assert.is(
    refusalOf(() => sign('rf_3', 7, 1, adopted)),
    'signer_refused_nonce',
    'the number of rf_1',
  );
  assert.equal(sign('rf_2', 6, 2, adopted), later, 'what was signed since has the same bytes');
  restored.close();
}

test('a restored signer refuses every engine that has not adopted its journal, and signs nothing twice', async () => {
  const dir = join(home, 'restored');
  await restore(file, dir);
  const files = signerFiles(dir);
  assert.equal(readdirSync(dir).sort(), ['keystore.json', 'policy.json', 'signer.db']);
  for (const one of [files.keystore, files.policy, files.journal]) assert.is(statSync(one).mode & 0o777, 0o600);
  checkRestored(dir);
  assert.is(await restore(file, dir).catch(({ code }) => code), 'signer_exists');
});

test('a restore that fails leaves nothing, and removes what a killed one left, but not what another is writing', async () => {
  const parent = join(home, 'parent');
  const cut = join(home, 'cut.backup');
  writeFileSync(cut, whole.subarray(0, -1));
  const dir = join(parent, 'signer');
  assert.is(await restore(cut, dir).catch(({ code }) => code), 'backup_damaged');
  assert.equal(readdirSync(parent), []);
  const [killed, busy] = [join(parent, '.signer-draft-killed'), join(parent, '.signer-draft-busy')];
  for (const draft of [killed, busy]) mkdirSync(draft);
  writeFileSync(join(killed, 'signer.db'), 'a part');
  const release = takeSignerLock(busy);
  await restore(file, dir);
  assert.equal(readdirSync(parent).sort(), ['.signer-draft-busy', 'signer']);
  release();
});

test.run();
