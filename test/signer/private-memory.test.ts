/** Where the signer's memory may be written to a disk. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { swapWarnings } from '../../src/signer/private-memory.ts';

const heading = 'Filename\tType\tSize\tUsed\tPriority\n';
const disk = `${heading}/dev/sda2 partition 2097148 0 -2\n`;

test('swap space on a disk is warned about, unless the service keeps its memory out of it', () => {
  for (const swapMax of [null, 'max\n', '1048576\n']) assert.is(swapWarnings(disk, swapMax).length, 1);
  assert.equal(swapWarnings(disk, '0\n'), []);
});

test('no swap space, or only compressed memory, is nothing to warn about', () => {
  for (const swaps of [null, heading, `${heading}/dev/zram0 partition 100 0 5\n`]) {
    assert.equal(swapWarnings(swaps, null), []);
  }
});

test.run();
