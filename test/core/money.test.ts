import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  divideCeil,
  formatUnits,
  MINOR_DECIMALS,
  minorToPar,
  PAR_DECIMALS,
  parseUnits,
  parToMinorFloor,
  parToUnitsCeil,
  pow10,
  toPar,
} from '../../src/core/money.ts';

const units = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const tokenDecimals = fc.integer({ min: 0, max: PAR_DECIMALS });

test('a plain decimal becomes base units exactly', () => {
  const table: readonly [text: string, decimals: number, expected: bigint][] = [
    ['0', 0, 0n],
    ['0', 6, 0n],
    ['10', 6, 10_000_000n],
    ['10.5', 6, 10_500_000n],
    ['10.50', 2, 1050n],
    ['0.000001', 6, 1n],
    ['0.000000000000000001', 18, 1n],
    ['90071992547409.93', 2, 9_007_199_254_740_993n],
    ['1.00', 2, 100n],
  ];
  for (const [text, decimals, expected] of table)
    assert.is(parseUnits(text, decimals), expected, `${text} / ${decimals}`);
});

test('anything but a plain unsigned decimal with at most the given decimals is refused', () => {
  const refused: readonly [text: string, decimals: number][] = [
    ['', 2],
    [' 1', 2],
    ['1 ', 2],
    ['1\n', 2],
    ['+1', 2],
    ['-1', 2],
    ['-0', 2],
    ['1.', 2],
    ['.5', 2],
    ['01', 2],
    ['00.5', 2],
    ['1,5', 2],
    ['1.5.0', 2],
    ['1e3', 2],
    ['0x10', 2],
    ['Infinity', 2],
    ['NaN', 2],
    ['١', 2],
    ['1_000', 2],
    ['1.000', 2],
    ['1.0', 0],
    ['1.0000001', 6],
    ['9'.repeat(101), 2],
  ];
  for (const [text, decimals] of refused) assert.is(parseUnits(text, decimals), null, JSON.stringify(text));
});

test('formatting units and parsing them again changes nothing', () => {
  fc.assert(
    fc.property(units, tokenDecimals, fc.integer({ min: 0, max: 18 }), (amount, decimals, placesMin) => {
      const text = formatUnits(amount, decimals, Math.min(placesMin, decimals));
      assert.is(parseUnits(text, decimals), amount);
    }),
  );
});

test('an accepted text is never changed', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{1,30}(\.[0-9]{0,20})?$/), tokenDecimals, (text, decimals) => {
      const amount = parseUnits(text, decimals);
      if (amount === null) return;
      const places = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0;
      assert.is(formatUnits(amount, decimals, places).slice(0, text.length), text);
      assert.ok(places <= decimals);
    }),
  );
});

test('amounts are written without needless zeros', () => {
  assert.is(formatUnits(10_500_000n, 6, 2), '10.50');
  assert.is(formatUnits(10_500_000n, 6), '10.5');
  assert.is(formatUnits(10_000_000n, 6), '10');
  assert.is(formatUnits(10_000_000n, 6, 2), '10.00');
  assert.is(formatUnits(1n, 18), '0.000000000000000001');
  assert.is(formatUnits(0n, 18, 2), '0.00');
  assert.is(formatUnits(7n, 0), '7');
  assert.is(formatUnits(7n, 0, 2), '7.00');
  assert.throws(() => formatUnits(-1n, 6), /not negative/);
});

test('tokens with 6 and 18 decimals compare exactly at par', () => {
  assert.is(toPar(1_000_000n, 6), toPar(10n ** 18n, 18));
  assert.is(minorToPar(1050n), toPar(10_500_000n, 6));
  fc.assert(
    fc.property(units, tokenDecimals, (amount, decimals) => {
      assert.is(parToUnitsCeil(toPar(amount, decimals), decimals), amount);
    }),
  );
  fc.assert(fc.property(units, (minor) => assert.is(parToMinorFloor(minorToPar(minor)), minor)));
});

test('the amount due covers the due value by less than one unit', () => {
  fc.assert(
    fc.property(units, tokenDecimals, (par, decimals) => {
      const asked = parToUnitsCeil(par, decimals);
      assert.ok(toPar(asked, decimals) >= par);
      assert.ok(asked === 0n || toPar(asked - 1n, decimals) < par);
    }),
  );
});

test('the amount that a merchant sees is never more than what was received', () => {
  assert.is(parToMinorFloor(minorToPar(1050n) - 1n), 1049n);
  fc.assert(
    fc.property(units, (par) => {
      const shown = parToMinorFloor(par);
      assert.ok(minorToPar(shown) <= par && minorToPar(shown + 1n) > par);
    }),
  );
});

test('divideCeil rounds up and refuses negative dividends and divisors below 1', () => {
  assert.equal([divideCeil(0n, 3n), divideCeil(1n, 3n), divideCeil(3n, 3n), divideCeil(4n, 3n)], [0n, 1n, 1n, 2n]);
  assert.throws(() => divideCeil(-1n, 3n), /divisor/);
  assert.throws(() => divideCeil(1n, 0n), /divisor/);
  assert.throws(() => divideCeil(1n, -3n), /divisor/);
});

test('powers of ten stay within a 256-bit number', () => {
  assert.is(pow10(0), 1n);
  assert.is(pow10(MINOR_DECIMALS), 100n);
  assert.is(pow10(77), BigInt(`1${'0'.repeat(77)}`));
  for (const wrong of [-1, 78, 1.5, Number.NaN]) assert.throws(() => pow10(wrong), /within 0–77/);
});

test.run();
