/** A backup of the signer: what is in it, who can open it, and what a restored signer does. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBackup, sealBackup } from '../../src/signer/backup.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { restoreSigner } from '../../src/signer/setup.ts';
import { handClock } from '../support/hand-clock.ts';
import { refusalOf } from '../support/refusal.ts';
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
const { service, close } = openSigningServiceIn(folder.dir, clock);
const signed = service.sign(firstOf(refundOf('rf_1', usdt(5)), 1, { fence: 7 }));
const text = service.backup();
const later = service.sign(firstOf(refundOf('rf_2', usdt(6)), 2, { fence: 8 }));
close();

const changed = (what: object): string => JSON.stringify({ ...JSON.parse(text), ...what });

test('it holds the policy and the journal, and nothing readable of them, of the seed or of the keystore', () => {
  const { policy, journal, madeAtMs } = openBackup(text, seed);
  assert.is(policy, readFileSync(signerFiles(folder.dir).policy, 'utf8'));
  assert.is(madeAtMs, clock.nowMs());
  assert.ok(Buffer.from(journal).includes('rf_1'));
  assert.not.ok(Buffer.from(journal).includes('rf_2'), 'made before the second signature');
  const whole = Buffer.concat([Buffer.from(journal), Buffer.from(policy)]);
  assert.not.ok(whole.includes(Buffer.from(seed)) || whole.includes(Buffer.from(seed).toString('hex')));
  assert.not.match(policy, 'scrypt');
  const sealed = Buffer.from(JSON.parse(text).sealed, 'base64');
  for (const hidden of ['rf_1', 'treasury', 'SQLite']) assert.not.ok(text.includes(hidden) || sealed.includes(hidden));
  assert.is.not(text, sealBackup(seed, { policy, journal, madeAtMs }), 'each has a nonce of its own');
});

test('another seed does not open it, and no part of it can be changed', () => {
  assert.is(
    refusalOf(() => openBackup(text, new Uint8Array(64).fill(1))),
    'backup_foreign',
  );
  const { sealed, nonce, made_at_ms: atMs } = JSON.parse(text);
  for (const bad of [
    changed({ made_at_ms: atMs + 1 }),
    changed({ nonce: `${nonce.slice(2)}00` }),
    changed({ sealed: `${sealed[0] === 'A' ? 'B' : 'A'}${sealed.slice(1)}` }),
    changed({ sealed: '' }),
    changed({ version: 2 }),
    text.slice(0, -10),
  ]) {
    assert.is(
      refusalOf(() => openBackup(bad, seed)),
      'backup_damaged',
      bad.slice(0, 80),
    );
  }
});

test('a restored signer refuses every engine that has not adopted its journal, and signs nothing twice', () => {
  const dir = join(home, 'restored');
  restoreSigner(dir, seed, Buffer.from(passphrase), openBackup(text, seed), clock.nowMs());
  const files = signerFiles(dir);
  for (const file of [files.keystore, files.policy, files.journal]) assert.is(statSync(file).mode & 0o777, 0o600);
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
  assert.is(
    refusalOf(() => restoreSigner(dir, seed, Buffer.from(passphrase), openBackup(text, seed), clock.nowMs())),
    'signer_exists',
  );
  restored.close();
});

test.run();
