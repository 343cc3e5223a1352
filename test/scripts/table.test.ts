/** Tables of the tool, on a terminal and in a file. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { table } from '../../scripts/cli/table.ts';

const rows = [
  ['ID', 'WHAT'],
  ['A-1', 'the disk of the database fills up within two days'],
];

test('columns are aligned, and a file has whole lines', () => {
  assert.equal(table(rows, Number.POSITIVE_INFINITY), ['ID   WHAT', `A-1  ${rows[1]?.[1]}`]);
});

test('on a terminal the widest column goes on in further lines, and nothing is lost', () => {
  const lines = table(rows, 30);
  assert.equal(lines, ['ID   WHAT', 'A-1  the disk of the database', '     fills up within two days']);
  const narrow = table([['x'.repeat(40), 'y'.repeat(40)]], 42);
  assert.ok(narrow.every(({ length }) => length <= 42));
  assert.is(narrow.join('').replace(/ /g, '').length, 80);
  assert.ok(table(rows, 5).length > 2, 'a terminal that is too narrow for any table still shows all of it');
});

test('control characters of a cell are escaped', () => {
  assert.equal(table([['\u001b[2J']], 80), ['\\u001b[2J']);
});

test.run();
