import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { certainlyBefore, isOlder } from '../../src/core/arrival.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';

test('what came before a session is what is final, or deeper below the head than any reorg', () => {
  const before = (tipNumber: number, headNumber: number | null, floor: number) =>
    certainlyBefore({ tipNumber, headNumber, floor }, 20);
  assert.is(before(100, 100, 90), 90);
  assert.is(before(100, 130, 90), 110);
  assert.is(before(100, 111, 91), 91, 'the floor is what is final below the head: all above may be replaced');
  assert.is(before(100, 98, 90), 90, 'a node that is behind');
  assert.is(before(100, null, 90), 90);
  assert.is(before(100, 1_124, 90), 1_104);
  assert.is(before(100, 1_125, 90), null, 'a head that nobody has compared with our chain');
});

test('block numbers say what is older than a session; where they are unknown, times do, ten minutes apart', () => {
  const session = { createdAtS: 10_000, beforeNumbers: { 'test:one': 7 } };
  const isOlderOn = (network: NetworkKey, blockNumber: number, blockTimeS: number) =>
    isOlder(session, { network, blockNumber, blockTimeS });
  assert.is(isOlderOn('test:one', 7, 20_000), true, 'whatever its clock says');
  assert.is(isOlderOn('test:one', 8, 0), false);
  assert.is(isOlderOn('test:two', 1, 9_399), true);
  assert.is(isOlderOn('test:two', 1, 9_400), false);
});

test.run();
