/** The lock on a data directory: one holder, in a file that nobody else can open. */
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lockFile } from '../../../src/database/engine/instance-lock.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-lock-'));
test.after(() => rmSync(folder, { recursive: true }));

test('the file is closed to others even in a folder that is open to them', () => {
  chmodSync(folder, 0o755);
  const file = join(folder, 'quayside.lock');
  const release = lockFile(file);
  assert.ok(release);
  assert.is(statSync(file).mode & 0o777, 0o600);
  assert.is(lockFile(file), null, 'a second holder is refused');
  release();
  const again = lockFile(file);
  assert.ok(again);
  again();
});

test.run();
