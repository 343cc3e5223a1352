import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirmedParts } from '../../src/core/received.ts';
import type { ReceiptSum } from '../../src/core/session.ts';

test('confirmed money is added up over the phases, by network and token; seen money does not count', () => {
  const one = { network: 'test:one', currency: 'USDT', decimals: 6 } as const;
  const sums: ReceiptSum[] = [
    { ...one, phase: 'in_time', seen: 1n, confirmed: 10n, final: 100n },
    { ...one, phase: 'late', seen: 2n, confirmed: 20n, final: 0n },
    { ...one, currency: 'USDC', phase: 'in_time', seen: 0n, confirmed: 0n, final: 7n },
    { ...one, network: 'test:two', decimals: 18, phase: 'in_time', seen: 5n, confirmed: 0n, final: 0n },
  ];
  assert.equal(confirmedParts(sums), [
    { ...one, units: 130n },
    { ...one, currency: 'USDC', units: 7n },
  ]);
  assert.equal(confirmedParts(sums, true), [
    { ...one, units: 100n },
    { ...one, currency: 'USDC', units: 7n },
  ]);
});

test.run();
