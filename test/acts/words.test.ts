/** What merchants read of acts is translated; what only the tool says is in English. */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readSources } from '../support/source-tree.ts';

const texts = new URL('../../src/dashboard/texts/ar.json', import.meta.url);
const translated = JSON.parse(readFileSync(texts, 'utf8')) as Record<string, unknown>;

/** Acts that only an operator does, and what every act is made of. */
const operators = ['alarms', 'doors', 'logo', 'operator-settings', 'store-decisions', 'money-out', 'act', 'times'];

/** What pages of merchants never show: the names of a command's arguments, and answers to what no form asks. */
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
  const merchants = said.filter((english) => /^[A-Z]/.test(english) && !english.includes('`quayside '));
  const missing = merchants.filter((english) => !(english in translated) && !onlyTool.includes(english));
  assert.equal(missing, []);
});

test.run();
