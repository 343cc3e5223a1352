/** Which copy an upgrade is taken back with, if it was interrupted or tried again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readUpgradeRecord, rememberCopy, updateUpgradeRecord } from '../../../src/app/upgrade/record.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quayside-record-'));
test.after(() => rmSync(dataDir, { recursive: true, force: true }));

const earlier = { version: '0.0.9', build: 'earlier', folder: '/opt/quayside.previous' };
const copyOf = (name: string): string => {
  const copy = join(dataDir, `${name}.db`);
  writeFileSync(copy, '');
  return copy;
};
const remembered = () => readUpgradeRecord(dataDir).upgrade;

test('of an upgrade that was interrupted between migrations, the first copy counts as long as it is there', () => {
  updateUpgradeRecord(dataDir, { program: earlier });
  const [first, second] = [copyOf('first'), copyOf('second')];
  rememberCopy(dataDir, { copy: first, schema: 3 });
  assert.equal([remembered()?.copy, remembered()?.from], [first, earlier]);
  rememberCopy(dataDir, { copy: second, schema: 4 });
  assert.equal([remembered()?.copy, remembered()?.schema], [first, 3]);
  rmSync(first);
  rememberCopy(dataDir, { copy: second, schema: 4 });
  assert.equal([remembered()?.copy, remembered()?.schema], [second, 4]);
});

test('of one that was interrupted before anything changed, the newest copy counts: the earlier version may have run again', () => {
  updateUpgradeRecord(dataDir, { program: earlier, upgrade: null });
  rememberCopy(dataDir, { copy: copyOf('before'), schema: 3 });
  const later = copyOf('later');
  rememberCopy(dataDir, { copy: later, schema: 3 });
  assert.is(remembered()?.copy, later);
});

test.run();
