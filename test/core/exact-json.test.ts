import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseExactly, writeExactly } from '../../src/core/exact-json.ts';
import { refuses } from '../support/refusal.ts';

const digits = fc.bigInt({ min: 0n, max: 10n ** 40n });
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits,
    fc.option(digits),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.nat())),
  )
  .map(([sign, whole, fraction, exponent]) =>
    [sign, whole, fraction === null ? '' : `.${fraction}`, exponent?.join('') ?? ''].join(''),
  );
const string = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text));
const key = fc.oneof(string, fc.constantFrom('"__proto__"', '"constructor"', '""', '"a\\"b"'));

/** JSON texts without white space: numbers in any spelling, keys in any order; small integers get sorted. */
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(number, string, fc.constantFrom('true', 'false', 'null')),
    fc.array(tie('text')).map((items) => `[${items.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(key, tie('text')), { selector: ([name]) => name })
      .map((fields) => fields.filter(([name]) => !/^"\d+"$/.test(name)))
      .map((fields) => `{${fields.map(([name, value]) => `${name}:${value}`).join(',')}}`),
  ),
}));

test('what was parsed is written as it was', () => {
  fc.assert(fc.property(text, (json) => assert.is(writeExactly(parseExactly(json)), json)));
});

test('where no number is spelled in an odd way, it is what JSON.parse makes of it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value, null, 1);
      assert.equal(JSON.parse(JSON.stringify(parseExactly(json))), JSON.parse(json));
    }),
  );
  const own = parseExactly('{"__proto__":{"a":1}}') as object;
  assert.equal(Object.keys(own), ['__proto__']);
  assert.is(Object.getPrototypeOf(own), Object.prototype);
});

test('a key that is there twice is refused, however it is spelled and wherever it is', () => {
  for (const json of [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '[{"b":{"__proto__":1,"c":[],"__proto__":2}}]',
    '{"":1,"":2}',
  ]) {
    refuses('duplicate_key', () => parseExactly(json));
  }
  parseExactly('{"a":{"a":{"b":1}},"b":[{"a":1},{"a":1}],"c":"a","d":"a"}');
});

test('depth and length cost no more than they must', () => {
  const deep = 100_000;
  let value = parseExactly(`${'['.repeat(deep)}${']'.repeat(deep)}`) as unknown[];
  for (let level = 1; level < deep; level++) value = value[0] as unknown[];
  assert.equal(value, []);
  assert.throws(
    () => parseExactly(`${'{"a":'.repeat(deep)}`),
    (error: unknown) => error instanceof SyntaxError,
  );
});

test.run();
