/** A backup of the signer: what is in it, who can open it, what damages it, and what a restored signer does. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { restoreSigner } from '../../src/signer/setup.ts';
import { handClock } from '../support/hand-clock.ts';
import { refusalOf, refuses } from '../support/refusal.ts';
import {
  firstOf,
  newSigner,
  openSigningServiceIn,
  passphrase,
  refundOf,
  removeSigners,
  seed,
  usdt,
} from '../support/temp-signer.ts';
import { lengthenJournal } from './long-journal.ts';
import { backUpInto, readBackup } from './signer-backup.ts';

const home = mkdtempSync(join(tmpdir(), 'quayside-signer-backup-'));
const clock = handClock();
const signer = newSigner({ clock });
test.after(() => {
  removeSigners();
  rmSync(home, { recursive: true, force: true });
});

const file = join(home, 'signer.backup');
// Many chunks.
lengthenJournal(signerFiles(signer.dir).journal, 6_000);
const service = signer.service();
const signed = signer.sign(firstOf(refundOf('rf_1', usdt(5)), 1, { fence: 7 }));
await backUpInto(file, service);
const other = join(home, 'other.backup');
await backUpInto(other, service);
const later = signer.sign(firstOf(refundOf('rf_2', usdt(6)), 2, { fence: 8 }));
const whole = readFileSync(file);

const restore = (from: string, dir: string, of = seed) =>
  restoreSigner(dir, of, Buffer.from(passphrase), { file: from, nowMs: clock.nowMs() });
/** @returns the code of what the restore throws, which then leaves nothing */
async function refusal(from: string, of = seed): Promise<string> {
  const parent = mkdtempSync(join(home, 'refused-'));
  const code = await restore(from, join(parent, 'signer'), of).then(
    () => 'none',
    (error) => (error instanceof Fault ? error.code : Promise.reject(error)),
  );
  assert.equal(readdirSync(parent), []);
  return code;
}

test('it holds the policy and the journal, and nothing readable of them, of the seed or of the keystore', async () => {
  const { policy, journal, madeAtMs } = await readBackup(file);
  assert.is(policy, readFileSync(signerFiles(signer.dir).policy, 'utf8'));
  assert.is(madeAtMs, clock.nowMs());
  assert.ok(journal.includes('rf_1') && journal.includes('long_6000'));
  assert.not.ok(journal.includes('rf_2'), 'made before the second signature');
  const all = Buffer.concat([journal, Buffer.from(policy)]);
  assert.not.ok(all.includes(Buffer.from(seed)) || all.includes(Buffer.from(seed).toString('hex')));
  assert.not.match(policy, 'scrypt');
  for (const hidden of ['rf_1', 'treasury', 'SQLite']) assert.not.ok(whole.includes(hidden));
  const begin = (bytes: Buffer) => bytes.subarray(1000, 2000);
  assert.not.ok(begin(readFileSync(other)).equals(begin(whole)), 'the same content has another key each time');
});

test('another seed does not open it, and a missing file or one that was cut, extended or altered is refused', async () => {
  assert.is(await refusal(file, new Uint8Array(64).fill(1)), 'backup_foreign');
  assert.is(await refusal(join(home, 'nothing')), 'not_found');
  const made = join(home, 'made.backup');
  const flipped = (at: number) => whole.map((byte, index) => (index === at ? byte ^ 1 : byte));
  for (const [what, bytes, code] of [
    ['nothing', Buffer.alloc(0), 'backup_damaged'],
    ['text', Buffer.from('this is no backup\n'), 'backup_damaged'],
    ['the last byte is missing', whole.subarray(0, -1), 'backup_damaged'],
    ['cut in the middle', whole.subarray(0, whole.length / 2), 'backup_damaged'],
    ['a byte more', Buffer.concat([whole, Buffer.alloc(1)]), 'backup_damaged'],
    ['altered in the middle', flipped(Math.floor(whole.length / 2)), 'backup_damaged'],
    ['altered in the header', flipped(60), 'backup_foreign'],
  ] as const) {
    writeFileSync(made, bytes);
    assert.is(await refusal(made), code, what);
  }
});

/** Duties of a restored signer whose backup has the first refund and not the second. */
function checkRestored(dir: string): void {
  const restored = openSigningServiceIn(dir, clock);
  const sign = (id: string, amount: number, nonce: number, fence: number) =>
    restored.service.sign(firstOf(refundOf(id, usdt(amount)), nonce, { fence }));
  // The engine that was served last, and one after some restarts.
  for (const fence of [8, 500]) refuses('signer_refused_fence', () => sign('rf_3', 7, 3, fence));
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

test.run();
