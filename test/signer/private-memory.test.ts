/** Where the signer's memory may be written to a disk. */
import { readFileSync } from 'node:fs';
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

test('the page that the warning names says how to keep memory off the disk, and what is shipped does so', () => {
  const [warning] = swapWarnings(disk, null);
  const [page, setting] = [/\((\S+\.md)\)/.exec(warning ?? '')?.[1], /MemorySwapMax=0/.exec(warning ?? '')?.[0]];
  assert.ok(page && setting, warning);
  assert.ok(readFileSync(page, 'utf8').includes(setting), page);
  const unit = readFileSync('deploy/systemd/quayside-signer.service', 'utf8');
  assert.match(unit, /^MemorySwapMax=0$/m);
  assert.match(unit, /^LimitCORE=0$/m);
  assert.match(
    readFileSync('deploy/compose.yaml', 'utf8'),
    /mem_limit: (\w+)\n +memswap_limit: \1\n +ulimits: \{ core: 0 \}/,
  );
});

test.run();
