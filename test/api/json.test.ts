import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson, meaningHash, readJsonObject } from '../../src/api/json.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readJsonObject(bytes(text));

/** Returns the same value with the keys of every object in another order. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reordered(field)]),
  );
}

// `__proto__` as an own key does not survive Object.fromEntries in the test itself.
const plainObject = fc.dictionary(
  fc.string().filter((key) => key !== '__proto__'),
  fc.jsonValue({ noUnicodeString: false, maxDepth: 3 }),
);

test('a number with a fraction or an exponent is never read as an integer', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.constantFrom('.0', '.00', 'e0', 'E0', '.0e0', 'e+0', '.00000000000000000000001'),
      (whole, tail) => {
        assert.not(Number.isInteger(read(`{"amount": ${whole}${tail} }`).amount), `${whole}${tail}`);
        assert.is(read(`{"amount":${whole}}`).amount, whole);
      },
    ),
  );
});

test('the canonical text does not depend on the order of keys', () => {
  fc.assert(
    fc.property(plainObject, (value) => {
      const text = canonicalJson(value);
      assert.equal(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      assert.is(canonicalJson(reordered(value)), text);
    }),
  );
  assert.is(canonicalJson({ b: [1, { d: 1n, c: undefined }], a: null }), '{"a":null,"b":[1,{"d":"1"}]}');
  assert.not.equal(meaningHash({ a: '1' }), meaningHash({ a: '2' }));
  assert.match(meaningHash({}), /^[\w-]{22}$/);
});

test.run();
