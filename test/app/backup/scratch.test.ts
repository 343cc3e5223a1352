import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openScratch } from '../../../src/app/backup/scratch.ts';

test('what killed processes left a day ago is removed by the next one; others stay', () => {
  const parent = mkdtempSync(join(tmpdir(), 'quayside-scratch-'));
  const place = (name: string) => join(parent, name);
  const leftOpen = openScratch(parent).folder;
  const partial = (year: number) => `quayside-${year}0101T000000000Z.tar.gz.age.partial`;
  const others = ['quayside-scratch-of-my-own', 'quayside-20260101T000000000Z.tar.gz.age', partial(2026)];
  mkdirSync(place('quayside-scratch-Ab3dEf'));
  for (const name of [join('quayside-scratch-Ab3dEf', 'quayside.db'), partial(2025), ...others])
    writeFileSync(place(name), 'plain');
  for (const name of ['quayside-scratch-Ab3dEf', partial(2025), ...others.slice(0, 2)]) utimesSync(place(name), 0, 0);
  const { folder: own, remove } = openScratch(parent);
  const kept = [...others, leftOpen.slice(parent.length + 1)];
  assert.equal(readdirSync(parent).sort(), [...kept, own.slice(parent.length + 1)].sort());
  remove();
  assert.not(existsSync(own));
  rmSync(parent, { recursive: true });
});

test.run();
