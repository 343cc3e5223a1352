/** Ledger entries: each adds up to zero, and together they say where the money is. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Intent } from '../../src/core/intent.ts';
import {
  add,
  adjustmentEntry,
  type Balances,
  differences,
  type Entry,
  feeEntry,
  imbalances,
  paymentEntry,
  payoutEntry,
  refundEntry,
} from '../../src/core/ledger.ts';
import { refundIntent } from '../support/intents.ts';

const network = 'test:one';
const payment = { transferId: 1, sessionId: 'cs_1', network, currency: 'USDT', units: 100n } as const;
const refund = { id: 'rf_1', sessionId: 'cs_1', network, currency: 'USDT', units: 30n } as const;
const intents: Readonly<Record<Intent['kind'], Intent>> = {
  refund: refundIntent({ network, to: 'b', units: 30n }),
  return: {
    kind: 'return',
    id: 'rt_1',
    network,
    currency: 'USDT',
    to: 'b',
    units: 30n,
    mac: 'c',
    session: { id: 'cs_1', amount: '0.30' },
    held: 'late',
  },
  sweep: {
    kind: 'sweep',
    id: 'sw_1',
    network,
    currency: 'USDT',
    from: [
      { index: 1, units: 60n },
      { index: 2, units: 40n },
    ],
  },
  gas: { kind: 'gas', id: 'gs_1', network, form: 'transfer', index: 1, units: 9n },
};

function balancesOf(...entries: readonly (Entry | null)[]): Record<string, bigint> {
  const balances: Balances = new Map();
  for (const entry of entries) for (const posting of entry?.postings ?? []) add(balances, posting);
  return Object.fromEntries(balances);
}

test('a payment that is refunded in part and swept', () => {
  assert.equal(
    balancesOf(
      paymentEntry(payment, true, 0),
      refundEntry(refund, 'reserved'),
      payoutEntry(intents.refund, 'cs_1', 'succeeded', 0),
      feeEntry('rf_1', network, 'refund', 2n, 0),
      payoutEntry(intents.gas, null, 'succeeded', 0),
      payoutEntry(intents.sweep, null, 'sent', 0),
      payoutEntry(intents.sweep, null, 'succeeded', 0),
      feeEntry('sw_1', network, 'collection', 4n, 0),
    ),
    {
      'test:one USDT received cs_1': -70n,
      'test:one USDT refunded cs_1': -30n,
      'test:one USDT treasury': 100n,
      'test:one native hot': -11n,
      'test:one native fees': 6n,
      'test:one native collected': 5n,
    },
  );
});

test('a reversed entry leaves nothing', () => {
  assert.equal(
    balancesOf(
      paymentEntry(payment, true, 0),
      refundEntry(refund, 'reserved'),
      refundEntry(refund, 'released'),
      payoutEntry(intents.sweep, null, 'sent', 0),
      payoutEntry(intents.sweep, null, 'returned', 0),
      paymentEntry(payment, false, 0),
    ),
    {},
  );
});

test('a refund that was paid before it was known is matched with its session', () => {
  const paid = payoutEntry(intents.refund, null, 'succeeded', 0);
  assert.equal(balancesOf(paid), { 'test:one USDT refunded': -30n, 'test:one USDT unclaimed': 30n });
  const matched = balancesOf(paid, refundEntry(refund, 'reserved'), refundEntry(refund, 'matched'));
  assert.equal(matched, { 'test:one USDT refunded cs_1': -30n, 'test:one USDT received cs_1': 30n });
});

test('what left the hot wallets unexplained is an adjustment of each asset, and can be taken back', () => {
  const moved = [
    { asset: 'USDT', units: 30n },
    { asset: 'native', units: 5n },
    { asset: 'USDT', units: 12n },
  ] as const;
  const adjusted = adjustmentEntry(network, moved, 0);
  assert.equal(balancesOf(adjusted), {
    'test:one USDT refunded': -42n,
    'test:one USDT adjusted': 42n,
    'test:one native hot': -5n,
    'test:one native adjusted': 5n,
  });
  assert.equal(balancesOf(adjusted, adjustmentEntry(network, moved, 1, true)), {});
  assert.is(adjustmentEntry(network, [], 0), null);
});

test('what moves nothing makes no entry', () => {
  assert.is(payoutEntry(intents.refund, 'cs_1', 'sent', 0), null);
  assert.is(payoutEntry({ ...intents.gas, form: 'delegate' } as Intent, null, 'succeeded', 0), null);
  assert.is(feeEntry('rf_1', network, 'refund', 0n, 0), null);
  assert.throws(() => paymentEntry({ ...payment, units: 0n }, true, 0), /above zero/);
});

test('every kind of entry adds up to zero', () => {
  const units = fc.bigInt({ min: 1n, max: 10n ** 40n });
  fc.assert(
    fc.property(
      units,
      fc.option(fc.constantFrom('cs_1', 'cs_2')),
      fc.nat(5),
      fc.boolean(),
      (amount, sessionId, occurrence, isTaken) => {
        const entries = [
          paymentEntry({ ...payment, sessionId, units: amount }, isTaken, occurrence),
          payoutEntry({ ...intents.refund, units: amount } as Intent, sessionId, 'succeeded', occurrence),
          payoutEntry(intents.sweep, null, isTaken ? 'sent' : 'returned', occurrence),
          feeEntry('x', network, isTaken ? 'gas' : 'collection', amount, occurrence),
        ];
        for (const entry of entries) assert.equal(imbalances(entry?.postings ?? []), []);
      },
    ),
  );
});

test('imbalances and differences are named', () => {
  const posting = { network, asset: 'USDT', units: 5n } as const;
  assert.equal(imbalances([posting, { ...posting, asset: 'native', units: -5n }]), [
    'test:one USDT by 5',
    'test:one native by -5',
  ]);
  const [journal, facts] = [
    new Map([
      ['a', 1n],
      ['b', 2n],
    ]),
    new Map([
      ['b', 3n],
      ['c', 4n],
    ]),
  ];
  assert.equal(differences(journal, facts), [
    { place: 'a', journal: 1n, facts: 0n },
    { place: 'b', journal: 2n, facts: 3n },
    { place: 'c', journal: 0n, facts: 4n },
  ]);
});

test.run();
