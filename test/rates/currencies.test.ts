import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exponentOf, isoCodes } from '../../src/rates/currencies.ts';

test('the table has as many codes of each exponent as list one of ISO 4217 of 2026-01-01', () => {
  const counts: Record<string, number> = {};
  for (const code of isoCodes) {
    assert.match(code, /^[A-Z]{3}$/);
    const exponent = String(exponentOf(code));
    counts[exponent] = (counts[exponent] ?? 0) + 1;
  }
  assert.equal(counts, { 0: 17, 2: 139, 3: 7, 4: 2 });
  assert.equal([...isoCodes].sort(), isoCodes);
});

test('every currency whose minor unit is not a hundredth has the exponent of ISO 4217', () => {
  const others: Readonly<Record<number, string>> = {
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
  };
  for (const [exponent, codes] of Object.entries(others)) {
    for (const code of codes.split(' ')) assert.is(exponentOf(code), Number(exponent), code);
  }
});

test('currencies that common libraries format without decimals have two in ISO 4217', () => {
  for (const code of 'HUF COP IDR PKR TWD LBP MMK MGA MRU CRC'.split(' ')) assert.is(exponentOf(code), 2, code);
});

test('new codes are included, withdrawn codes, metals and units of account are not', () => {
  for (const code of 'XCG ZWG SLE VED MRU STN BYN EUR USD'.split(' ')) assert.is(exponentOf(code), 2, code);
  for (const code of 'ANG BGN HRK CUC SLL ZWL DEM BYR XAU XAG XPT XPD XDR XSU XUA XTS XXX BTC'.split(' ')) {
    assert.is(exponentOf(code), null, code);
  }
});

test('stablecoins have hundredths although ISO does not list them', () => {
  assert.is(exponentOf('USDT'), 2);
  assert.is(exponentOf('USDC'), 2);
  assert.not.ok(isoCodes.includes('USDT') || isoCodes.includes('USDC'));
});

test('any other text is not a currency', () => {
  for (const text of ['', 'eur', 'EUR ', 'EU', 'constructor', '__proto__', 'toString'])
    assert.is(exponentOf(text), null, text);
});

test.run();
