/** The gates of money out are asked in their order, and a replacement is stopped by a freeze alone. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closedGate, type Gate, type GateReads, gates } from '../../src/core/gates.ts';

function readsOf(closed: readonly Gate[]) {
  const asked: Gate[] = [];
  const reads = gates.map((gate) => [gate, () => asked.push(gate) > 0 && closed.includes(gate)] as const);
  return { asked, reads: Object.fromEntries(reads) as unknown as GateReads };
}

test('the first closed gate is named, and those after it are not read', () => {
  for (const [at, gate] of gates.entries()) {
    const { asked, reads } = readsOf(gates.slice(at));
    assert.is(closedGate(reads, 0), gate);
    assert.equal(asked, gates.slice(0, at + 1));
  }
});

test('an attempt is allotted when all gates are open', () => {
  const { asked, reads } = readsOf([]);
  assert.equal([closedGate(reads, 0), asked], [null, gates]);
});

test('a replacement is stopped by a freeze and by nothing else', () => {
  assert.is(closedGate(readsOf(gates.slice(1)).reads, 1), null);
  assert.is(closedGate(readsOf(gates).reads, 1), 'payouts_frozen');
});

test.run();
