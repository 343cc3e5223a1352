/**
 * The check of signed bytes: a wrong encoder is detected, and nothing that it made is recorded.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Spending, SpendKey, SpendOrder } from '../../src/chains/spend.ts';
import { handClock } from '../support/hand-clock.ts';
import { refusalOf } from '../support/refusal.ts';
import {
  firstOf,
  makeSignerFolder,
  openSigningServiceIn,
  refundOf,
  seed,
  terms,
  usdt,
} from '../support/temp-signer.ts';

const folder = makeSignerFolder(undefined, false);
let spending: Spending = evmSpending;
const watched: Spending = {
  ...evmSpending,
  sign: (order, keys) => spending.sign(order, keys),
  read: (bytes, network) => spending.read(bytes, network),
};
const { service, journal, close } = openSigningServiceIn(
  folder.dir,
  handClock(),
  undefined,
  new Map([['evm', watched]]),
);
test.after(() => {
  close();
  folder.remove();
});
test.after.each(() => {
  spending = evmSpending;
});

const refund = refundOf('rf_1', usdt(5));
const signAs = (
  change: (order: SpendOrder, keys: readonly SpendKey[]) => [SpendOrder, readonly SpendKey[]],
): Spending => ({
  ...evmSpending,
  sign: (order, keys) => evmSpending.sign(...change(order, keys)),
});
const gas = evmSpending.derive(seed, { role: 'gas' });

const lies: readonly (readonly [what: string, Spending])[] = [
  ['another amount', signAs((order, keys) => [{ ...order, intent: { ...refund, units: 1n } }, keys])],
  ['another destination', signAs((order, keys) => [{ ...order, intent: { ...refund, to: 'c'.repeat(40) } }, keys])],
  ['another chain', signAs((order, keys) => [{ ...order, network: { ...order.network, chainId: '1' } }, keys])],
  ['another payer', signAs((order) => [order, [{ ...gas, secret: new Uint8Array(gas.secret) }]])],
  [
    'another token',
    signAs((order, keys) => {
      const address = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
      return [{ ...order, network: { ...order.network, tokens: [{ symbol: 'USDT', address, decimals: 6 }] } }, keys];
    }),
  ],
  [
    'a fee above the policy',
    signAs((order, keys) => [
      { ...order, terms: terms(1, 2000), network: { ...order.network, feeUnitsMax: 10n ** 20n } },
      keys,
    ]),
  ],
  [
    'native coin',
    signAs((order, keys) => [
      { ...order, intent: { kind: 'gas', id: 'x', network: 'test:one', form: 'transfer', index: 0, units: 1n } },
      [...keys, gas],
    ]),
  ],
  [
    'another transaction id',
    { ...evmSpending, sign: (...order) => ({ ...evmSpending.sign(...order), tx: `0x${'1'.repeat(64)}` }) },
  ],
  [
    'bytes that are not a transaction',
    { ...evmSpending, sign: (...order) => ({ ...evmSpending.sign(...order), bytes: new Uint8Array(10) }) },
  ],
  [
    'a changed byte',
    {
      ...evmSpending,
      sign(...order) {
        const { tx, bytes } = evmSpending.sign(...order);
        return { tx, bytes: bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)) };
      },
    },
  ],
  [
    'a second transfer',
    {
      ...evmSpending,
      read(...given) {
        const reading = evmSpending.read(...given);
        return { ...reading, effects: [...reading.effects, ...reading.effects] };
      },
    },
  ],
  [
    'a second signer',
    {
      ...evmSpending,
      read(...given) {
        const reading = evmSpending.read(...given);
        return { ...reading, signers: [...reading.signers, 'd'.repeat(40)] };
      },
    },
  ],
];

for (const [what, lying] of lies) {
  test(`detected: ${what}`, () => {
    spending = lying;
    assert.is(
      refusalOf(() => service.sign(firstOf(refund, 1))),
      'signer_refused_check',
    );
    assert.is(journal.intent('rf_1'), null);
  });
}

test('an error of a library is not quoted, because it may contain a key', () => {
  spending = {
    ...evmSpending,
    sign(_order, [key]) {
      throw new TypeError(`bad key ${Buffer.from(key?.secret ?? []).toString('hex')}`);
    },
  };
  assert.throws(
    () => service.sign(firstOf(refund, 1)),
    (error: Error) => /refused to sign/.test(error.message) && !/bad key/.test(`${error.stack} ${error.cause}`),
  );
});

test('keys are wiped, whether the order was signed or not', () => {
  const seen: Uint8Array[] = [];
  spending = {
    ...evmSpending,
    sign(order, keys) {
      for (const { secret } of keys) {
        assert.ok(secret.some((byte) => byte !== 0));
        seen.push(secret);
      }
      return evmSpending.sign(order, keys);
    },
  };
  assert.is(
    refusalOf(() => service.sign(firstOf(refund, 1, { terms: terms(1, 2000) }))),
    'signer_refused_terms',
  );
  service.sign(firstOf(refund, 1));
  assert.is(seen.length, 2);
  for (const secret of seen) assert.ok(secret.every((byte) => byte === 0));
});

test.run();
