/**
 * The check of signed bytes: a wrong encoder is detected, and nothing that it made is recorded.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Spending, SpendKey, SpendOrder, SpendReading } from '../../src/chains/spend.ts';
import { firstOf, newSigner, refundOf, removeSigners, seed, terms, usdt } from '../support/temp-signer.ts';

let spending: Spending = evmSpending;
const watched: Spending = {
  ...evmSpending,
  sign: (order, keys) => spending.sign(order, keys),
  read: (bytes, network) => spending.read(bytes, network),
};
const signer = newSigner({ spendings: new Map([['evm', watched]]) });
test.after(removeSigners);
test.after.each(() => {
  spending = evmSpending;
});

const refund = refundOf('rf_1', usdt(5));
const gas = evmSpending.derive(seed, { role: 'gas' });
const gift = { kind: 'gas', id: 'x', network: 'test:one', form: 'transfer', index: 0, units: 1n } as const;
const usdc = { symbol: 'USDT', address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 } as const;

type Change = (order: SpendOrder, keys: readonly SpendKey[]) => readonly [SpendOrder, readonly SpendKey[]];
const signAs = (change: Change): Partial<Spending> => ({
  sign: (order, keys) => evmSpending.sign(...change(order, keys)),
});
const on = (order: SpendOrder, network: Partial<SpendOrder['network']>): SpendOrder => ({
  ...order,
  network: { ...order.network, ...network },
});
const told = (change: (signed: ReturnType<Spending['sign']>) => object): Partial<Spending> => ({
  sign(...order) {
    const signed = evmSpending.sign(...order);
    return { ...signed, ...change(signed) };
  },
});
const readAs = (change: (reading: SpendReading) => object): Partial<Spending> => ({
  read(...given) {
    const reading = evmSpending.read(...given);
    return { ...reading, ...change(reading) };
  },
});

const lies: Readonly<Record<string, Partial<Spending>>> = {
  'another amount': signAs((order, keys) => [{ ...order, intent: { ...refund, units: 1n } }, keys]),
  'another destination': signAs((order, keys) => [{ ...order, intent: { ...refund, to: 'c'.repeat(40) } }, keys]),
  'another chain': signAs((order, keys) => [on(order, { chainId: '1' }), keys]),
  'another payer': signAs((order) => [order, [{ ...gas, secret: new Uint8Array(gas.secret) }]]),
  'another token': signAs((order, keys) => [on(order, { tokens: [usdc] }), keys]),
  'a fee above the policy': signAs((order, keys) => [
    { ...on(order, { feeUnitsMax: 10n ** 20n }), terms: terms(1, 2000) },
    keys,
  ]),
  'native coin': signAs((order, keys) => [{ ...order, intent: gift }, [...keys, gas]]),
  'another transaction id': told(() => ({ tx: `0x${'1'.repeat(64)}` })),
  'bytes that are not a transaction': told(() => ({ bytes: new Uint8Array(10) })),
  'a changed byte': told(({ bytes }) => ({ bytes: bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1) })),
  'a second transfer': readAs(({ effects }) => ({ effects: [...effects, ...effects] })),
  'a second signer': readAs(({ signers }) => ({ signers: [...signers, 'd'.repeat(40)] })),
};

for (const [what, lying] of Object.entries(lies)) {
  test(`detected: ${what}`, () => {
    spending = { ...evmSpending, ...lying };
    assert.is(signer.refusal(firstOf(refund, 1)), 'check');
    assert.is(signer.journal().intent('rf_1'), null);
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
    () => signer.sign(firstOf(refund, 1)),
    (error: Error) => /refused to sign/.test(error.message) && !/bad key/.test(`${error.stack} ${error.cause}`),
  );
});

test.run();
