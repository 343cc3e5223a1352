import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  compareRates,
  convertMinor,
  divideRates,
  formatRate,
  invertRate,
  isWithin,
  medianRate,
  parseRate,
  type Rate,
} from '../../src/core/rate.ts';

/** Rates from 10^-12 to 10^12 with awkward denominators. */
const rates = fc.record({
  num: fc.bigInt({ min: 1n, max: 10n ** 12n }),
  den: fc.bigInt({ min: 1n, max: 10n ** 12n }),
});

function rate(text: string): Rate {
  const parsed = parseRate(text);
  if (!parsed) throw new Error(`${text} is no rate`);
  return parsed;
}

test('a rate is a plain decimal above zero', () => {
  assert.equal(parseRate('1.0823'), { num: 10823n, den: 10000n });
  assert.equal(parseRate('151'), { num: 151n, den: 1n });
  assert.equal(parseRate(`0.${'0'.repeat(57)}1`), { num: 1n, den: 10n ** 58n });
  const refused = [
    '',
    '0',
    '0.0000',
    '-1',
    '+1',
    '1e-7',
    '1.',
    '.5',
    '01',
    '1,08',
    ' 1',
    'NaN',
    '1.08\n',
    '9'.repeat(61),
  ];
  for (const text of refused) assert.is(parseRate(text), null, JSON.stringify(text));
});

test('a rate is shown with at least 4 decimals and 6 digits, rounded up', () => {
  const table: readonly [Rate, string][] = [
    [rate('1.08'), '1.08000'],
    [rate('1.0823451'), '1.08235'],
    [rate('1.0823400'), '1.08234'],
    [{ num: 13n, den: 12n }, '1.08334'],
    [rate('12.345678'), '12.3457'],
    [rate('3.25'), '3.25000'],
    [rate('151.5'), '151.5000'],
    [rate('97123.456789'), '97123.4568'],
    [rate('0.5'), '0.500000'],
    [rate('0.0066'), '0.00660000'],
    [{ num: 1n, den: 16_250n }, '0.0000615385'],
    [rate('0.1'), '0.100000'],
    [rate('0.01'), '0.0100000'],
    [rate('0.99999999'), '1.000000'],
    [rate('9.999999'), '10.00000'],
    [rate('99.99999'), '100.0000'],
    [rate('1'), '1.00000'],
  ];
  for (const [exact, shown] of table) assert.is(formatRate(exact), shown);
});

test('a shown rate is at least the exact one, and exceeds it by less than one in its last digit', () => {
  fc.assert(
    fc.property(rates, (exact) => {
      const text = formatRate(exact);
      const [, whole = '', fraction = ''] = /^(\d+)\.(\d+)$/.exec(text) ?? [];
      assert.ok(fraction.length >= 4, text);
      assert.ok(`${whole}${fraction}`.replace(/^0+/, '').length >= 6, text);
      const shown = rate(text);
      assert.ok(compareRates(shown, exact) >= 0, text);
      const below = { num: shown.num - 1n, den: shown.den };
      assert.ok(compareRates(below, exact) < 0, text);
    }),
  );
});

test('the median of an odd number is the middle one, of an even number the mean of the two in the middle', () => {
  const is = (texts: string[], expected: string) =>
    assert.is(compareRates(medianRate(texts.map(rate)), rate(expected)), 0, `${texts} → ${expected}`);
  is(['1.08'], '1.08');
  is(['1.10', '1.08'], '1.09');
  is(['1.3', '1.08', '1.1'], '1.1');
  is(['9', '1', '2', '4'], '3');
  is(['0.1', '0.2'], '0.15');
  assert.throws(() => medianRate([]), /at least one rate/);
});

test('the median does not depend on order and has as many rates above as below', () => {
  fc.assert(
    fc.property(
      fc.array(rates, { minLength: 1, maxLength: 9 }),
      fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
      (list, keys) => {
        const shuffled = list.map((item, at) => ({ item, key: keys[at] ?? 0 })).sort((a, b) => a.key - b.key);
        const median = medianRate(list);
        assert.is(compareRates(medianRate(shuffled.map(({ item }) => item)), median), 0);
        const below = list.filter((item) => compareRates(item, median) < 0).length;
        const above = list.filter((item) => compareRates(item, median) > 0).length;
        assert.ok(below <= list.length / 2 && above <= list.length / 2);
      },
    ),
  );
});

test('inverting twice and dividing by itself are exact', () => {
  fc.assert(
    fc.property(rates, rates, (a, b) => {
      assert.is(compareRates(invertRate(invertRate(a)), a), 0);
      assert.is(compareRates(divideRates(a, a), { num: 1n, den: 1n }), 0);
      assert.is(compareRates(divideRates(a, b), invertRate(divideRates(b, a))), 0);
      assert.is(compareRates(a, b), -compareRates(invertRate(a), invertRate(b)) || 0);
    }),
  );
});

test('an amount is converted from the shown rate and rounded up to 0.01', () => {
  const table: readonly [amountMinor: bigint, exponent: number, rateText: string, expected: bigint][] = [
    [1050n, 2, '1.08000', 1134n],
    [1n, 2, '1.08000', 2n],
    [100n, 2, '1.00000', 100n],
    [1000n, 0, '0.00660000', 660n],
    [1n, 0, '0.00660000', 1n],
    [1234n, 3, '3.25000', 402n],
    [10_000n, 4, '38.1234', 3813n],
    [15_000_000n, 2, '0.0000615385', 924n],
    [0n, 2, '1.08000', 0n],
    [9_007_199_254_740_991n, 2, '1.00001', 9_007_289_326_733_539n],
  ];
  for (const [amount, exponent, rateText, expected] of table) {
    assert.is(convertMinor(amount, exponent, rateText), expected, `${amount} / ${exponent} at ${rateText}`);
  }
  for (const wrong of ['0', '', '1e3', '-1']) assert.throws(() => convertMinor(1n, 2, wrong), /locked rate/);
});

test('the converted amount covers the exact price by less than 0.01', () => {
  const amounts = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });
  const exponents = fc.constantFrom(0, 2, 3, 4);
  fc.assert(
    fc.property(amounts, exponents, rates, (amount, exponent, exact) => {
      const text = formatRate(exact);
      const { num, den } = rate(text);
      const converted = convertMinor(amount, exponent, text);
      // price = amount × num / den / 10^exponent, in whole stablecoins; converted is hundredths of one.
      const price = amount * num * 100n;
      const scale = den * 10n ** BigInt(exponent);
      assert.ok(converted * scale >= price);
      assert.ok(converted === 0n || (converted - 1n) * scale < price);
      assert.ok(convertMinor(amount + 1n, exponent, text) >= converted);
    }),
  );
});

test('rates agree up to the allowed difference from the lower one, whichever comes first', () => {
  const [low, atMost, beyond] = ['100', '102', '102.0001'].map((text) => parseRate(text) as Rate) as [Rate, Rate, Rate];
  for (const [rate, isNear] of [
    [atMost, true],
    [beyond, false],
  ] as const) {
    assert.is(isWithin(low, rate, 20_000n), isNear);
    assert.is(isWithin(rate, low, 20_000n), isNear);
  }
});

test.run();
