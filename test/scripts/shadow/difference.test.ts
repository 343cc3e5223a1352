/** What counts as a difference between two readings. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compareTransfers } from '../../../scripts/shadow/difference.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';

const transfer = (change: Partial<ChainTransfer> = {}): ChainTransfer => ({
  tx: '0xa',
  index: 1,
  currency: 'USDT',
  from: 'f0',
  to: 'a0',
  units: 5n,
  ...change,
});

test('the order and a payer whom the chain does not name make no difference', () => {
  const [first, second] = [transfer(), transfer({ index: 2 })];
  assert.equal(compareTransfers('decoded', [first, second], [{ ...second, from: null }, first]), []);
});

const changes: readonly Partial<ChainTransfer>[] = [{ currency: 'USDC' }, { from: 'f1' }, { units: 6n }];
for (const change of changes) {
  test(`another ${Object.keys(change)[0]} is one difference`, () => {
    const [own, other] = [transfer(), transfer(change)];
    const found = compareTransfers('matched', [own], [other]);
    assert.equal(found, [{ level: 'matched', tx: '0xa', index: 1, follower: own, second: other }]);
  });
}

for (const change of [{ tx: '0xb' }, { index: 3 }, { to: 'a1' }]) {
  test(`another ${Object.keys(change)[0]} is a transfer missing on each side`, () => {
    const found = compareTransfers('decoded', [transfer()], [transfer(change)]);
    assert.equal(
      found.map(({ follower, second }) => [follower !== null, second !== null]),
      [
        [true, false],
        [false, true],
      ],
    );
  });
}

test.run();
