/** The page of the conformance run: counts, and rows that failed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pageText, readPage } from './page.ts';
import { sections } from './sections.ts';

test('docs/reference/conformance.md is what `npm run conformance -- --write` writes when every row passes', () => {
  assert.is(readPage(), pageText({ sections, passed: () => true }));
});

test('no two rows of a section have the same title', () => {
  for (const { title, rows } of sections) {
    assert.is(new Set(rows.map((row) => row.title)).size, rows.length, title);
  }
});

test('a row that failed is named, and not counted as passed', () => {
  const rows = ['good', 'bad'].map((title) => ({ title, check() {} }));
  const text = pageText({ sections: [{ title: 'Some', rows }], passed: ({ title }) => title === 'good' });
  assert.match(text, '| Some | 2 | 1 |');
  assert.match(text, '- Some: bad');
});

test.run();
