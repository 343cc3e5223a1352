/** An attempt passes all gates in their order, and a replacement is stopped by a freeze alone. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gates, gatesOf } from '../../src/core/gates.ts';

test('a first attempt passes every gate, and a freeze comes first', () => {
  assert.equal(gatesOf(0), gates);
  assert.is(gates[0], 'payouts_frozen');
});

test('a replacement is stopped by a freeze and by nothing else', () => {
  assert.equal(gatesOf(1), ['payouts_frozen']);
});

test.run();
