/** The dashboard's texts: each exists in every language and is used. */
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Text } from '../../src/lib/words.ts';
import { PASSWORD, withDashboard } from '../support/dashboard.ts';
import { readSources } from '../tidy/source-tree.ts';

const folder = new URL('../../src/dashboard/texts/', import.meta.url);
const codes = readdirSync(folder).map((file) => file.replace('.json', ''));
const read = (code: string) =>
  JSON.parse(readFileSync(new URL(`${code}.json`, folder), 'utf8')) as Record<string, Text>;
const written = read('en');
/** Sentences of acts are their own keys in the other languages. */
const english = Object.fromEntries(Object.keys(read('ar')).map((key) => [key, written[key] ?? key]));

const formsOf = (text: Text | undefined): Readonly<Record<string, string>> =>
  typeof text === 'object' ? text : { only: text ?? '' };
const places = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
const marks = (text: string) => (text.match(/`/g) ?? []).length;

for (const code of codes) {
  test(`${code} has every text, with the same placeholders, and the forms of its own numbers`, () => {
    const own = read(code);
    if (code !== 'en') assert.equal(Object.keys(own).sort(), Object.keys(english).sort());
    const plurals = new Intl.PluralRules(code).resolvedOptions().pluralCategories;
    for (const [key, text] of Object.entries(own)) {
      const expected = places(Object.values(formsOf(english[key])).join());
      if (typeof text === 'object') {
        assert.is(typeof english[key], 'object', key);
        assert.equal(Object.keys(text).sort(), [...plurals].sort(), key);
        assert.equal(places(Object.values(text).join()), expected, key);
      } else assert.equal(places(text), expected, key);
      for (const form of Object.values(formsOf(text))) {
        assert.ok(form.trim() === form && form !== '', key);
        assert.is(marks(form), marks(formsOf(english[key]).other ?? formsOf(english[key]).only ?? ''), key);
      }
    }
  });
}

test('every text is used', () => {
  const sources = [...readSources()];
  const codeOf = (folder: string) => sources.flatMap(([path, text]) => (path.startsWith(folder) ? [text] : [])).join();
  const code = codeOf('src/dashboard/');
  const all = code + codeOf('src/acts/') + codeOf('src/web/');
  const named = new Set([...code.matchAll(/'([\w-]+\.\w+)'/g)].map(([, key]) => key));
  // Keys that end in what a value says, such as a state.
  const starts = [...code.matchAll(/`([\w-]+\.\w*)\$\{/g)].map(([, start = '']) => start);
  const unused = Object.keys(english).filter((key) =>
    /^[\w-]+\.\w+$/.test(key)
      ? !named.has(key) && !starts.some((start) => key.startsWith(start))
      : !all.includes(`'${key}'`),
  );
  assert.equal(unused, []);
});

/** Acts that only an operator does, and what every act is made of. */
const operators = ['alarms', 'doors', 'logo', 'operator-settings', 'store-decisions', 'money-out', 'act', 'times'];

/** Texts that pages of merchants never show: the names of a command's arguments, and answers to what no form asks. */
const onlyTool = [
  ...['Held', 'Refund', 'Delivery', 'Signature', 'Signed by', 'Valid until', 'State', 'Rotation', 'Next secret'],
  'Make a new link for {name}?',
  'Say why: the audit log keeps it.',
  'The key of a door is shown once. Add another door, and remove this one.',
  'Say what to change.',
  'Say from when on, such as 2h.',
  'Send it again?',
  'Show the secret',
  'It signs for {owner}.',
  'Single sessions have named {owner}, and the secret of its store signs for it: rotate that one.',
];

test('every sentence of a merchant’s act is translated', () => {
  const said = [...readSources()].flatMap(([path, text]) => {
    const [, name = ''] = /^src\/acts\/([\w-]+)\.ts$/.exec(path) ?? [];
    if (name === '' || operators.includes(name)) return [];
    return [...text.matchAll(/\bsay\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, english = '']) => english);
  });
  assert.ok(said.length > 100, 'sentences are found');
  // A sentence with a command is the tool's, and so is one that begins small: a page begins with a capital.
  const merchants = said.filter((one) => /^[A-Z]/.test(one) && !one.includes('`quayside '));
  const missing = merchants.filter((one) => !(one in english) && !onlyTool.includes(one));
  assert.equal(missing, []);
});

test('the language is that of the browser, except on pages of the operator', () =>
  withDashboard(async (dashboard) => {
    const { token } = await dashboard.invite('Ada', { role: 'operator', storeId: null });
    const visitor = dashboard.visitor();
    const arabic = { 'accept-language': 'de, ar;q=0.9' };
    assert.match((await visitor.get(`/link/${token}`, arabic)).text, '<html lang="ar" dir="rtl">');
    await visitor.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
    for (const path of ['/account', '/nothing'])
      assert.match((await visitor.get(path, arabic)).text, '<html lang="ar" dir="rtl">', path);
    for (const path of ['/operator', '/operator/audit'])
      assert.match((await visitor.get(path, arabic)).text, '<html lang="en" dir="ltr">', path);
  }));

test.run();
