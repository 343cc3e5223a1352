import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { certainlyBefore } from '../../src/core/arrival.ts';

test('what came before a session is as far below the head as what is final is below the tip', () => {
  assert.is(certainlyBefore(100, 100, 90), 90);
  assert.is(certainlyBefore(100, 130, 90), 120);
  assert.is(certainlyBefore(100, 98, 90), 90, 'a node that is behind');
  assert.is(certainlyBefore(100, null, 90), 90);
  assert.is(certainlyBefore(100, 5_000, 90), null, 'a head that nobody has compared with our chain');
});

test.run();
