/** MACs of rows: what they cover. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRowMacs, type MacedRow } from '../../../src/database/sealing.ts';
import { runs } from '../../support/runs.ts';
import { secretKey } from '../../support/temp-database.ts';

const macs = createRowMacs(secretKey);
const field = fc.oneof(fc.string({ maxLength: 6 }), fc.integer(), fc.constant(null));
const rows: fc.Arbitrary<MacedRow> = fc.record({
  table: fc.constantFrom('keys', 'key', 'addresses'),
  key: fc.array(field, { maxLength: 3 }),
  fields: fc.array(field, { maxLength: 4 }),
});

test('a MAC fits its own row and no other, however fields are split, typed or left out', () => {
  fc.assert(
    fc.property(rows, rows, (row, other) => {
      const mac = macs.seal(row);
      assert.match(mac, /^v1\.[A-Za-z0-9_-]{43}$/);
      assert.ok(macs.isIntact(row, mac));
      assert.is(macs.isIntact(other, mac), JSON.stringify(other) === JSON.stringify(row));
    }),
    { numRuns: runs(2_000) },
  );
  const one = (key: MacedRow['key'], fields: MacedRow['fields']): MacedRow => ({ table: 't', key, fields });
  const alike = [one(['a', 'b'], []), one(['a'], ['b']), one([], ['a', 'b']), one(['ab'], []), one(['a'], ['1:b'])];
  const typed = [one([], [1]), one([], ['1']), one([], [null]), one([], ['']), one([], ['n']), one([], [])];
  const all = [...alike, ...typed].map((row) => macs.seal(row));
  assert.is(new Set(all).size, all.length);
});

test('a MAC of another key, or of another form, fits no row', () => {
  const row: MacedRow = { table: 'keys', key: ['k1'], fields: ['m1'] };
  const mac = macs.seal(row);
  assert.not(createRowMacs(new Uint8Array(32).fill(8)).isIntact(row, mac));
  const [, text = ''] = mac.split('.');
  for (const bad of [null, '', text, `v2.${text}`, `v01.${text}`, `${mac}=`, `v1.${text.slice(1)}`, 'v1.', 'v9.x'])
    assert.not(macs.isIntact(row, bad), String(bad));
});

test.run();
