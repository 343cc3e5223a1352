/**
 * The words that this project does not use, and how wide a comment is.
 */

import type { Rule } from './rule.ts';
import { type Sources, withoutComments } from './source-tree.ts';

const COLUMNS_MAX = 120;

/** Whole words, also as parts of names, with what to say instead. */
const words: readonly (readonly [word: string, instead: string])[] = [
  ['roads?', 'transport'],
  ['bells?|rings?|rang|ringing', 'wake-up, notify or raise an alarm'],
  ['desks?', 'signing service'],
  ['fates?', 'outcome'],
  ['bearings?', 'lookup context'],
  ['sightings?', 'transaction report'],
  ['collection address(es)?', 'deposit address'],
  ['anew', 'again'],
  ['stands? (on|in)', 'is on, is in'],
  ['(told|tells?|telling) of', 'reported, informed about'],
  ['of itself', 'about itself, on its own'],
  ["operator[’']s word", 'approval'],
  ['a happening', 'an event'],
];

const banned = new RegExp(`(?<![a-z])(${words.map(([word]) => word).join('|')})(?![a-z])`, 'gi');
const bannedNames = /(?<![a-z])(road|bell|desk|fate|bearing|sighting|heap|moves|utils?|helpers?|misc|common)(?![a-z])/;

function wordFindings(path: string, text: string): string[] {
  const findings: string[] = [];
  const name = bannedNames.exec(path.split('/').at(-1) ?? '');
  if (name) findings.push(`${path}: a file is not called "${name[0]}"`);
  let isDiff = false;
  for (const [at, line] of text.split('\n').entries()) {
    if (line.startsWith('```')) isDiff = line === '```diff';
    // A line that an example takes out.
    if (isDiff && line.startsWith('-')) continue;
    const spaced = line.replace(/([a-z\d])([A-Z])/g, '$1 $2');
    for (const [found] of spaced.matchAll(banned)) {
      const instead = words.find(([word]) => new RegExp(`^(${word})$`, 'i').test(found))?.[1];
      findings.push(`${path}:${at + 1} says "${found}": write ${instead}`);
    }
  }
  return findings;
}

function widthFindings(path: string, text: string): string[] {
  if (/\.(md|json)$/.test(path)) return [];
  const code = withoutComments(text).split('\n');
  return text
    .split('\n')
    .flatMap((line, at) =>
      line.length > COLUMNS_MAX && code[at] !== line
        ? [`${path}:${at + 1} has ${line.length} columns: break the comment at ${COLUMNS_MAX}`]
        : [],
    );
}

const proseFindings = (texts: Sources): string[] =>
  [...texts].flatMap(([path, text]) =>
    path.startsWith('test/tidy/') || path.endsWith('.sql')
      ? []
      : [...wordFindings(path, text), ...widthFindings(path, text)],
  );

const long = 'why '.repeat(40);
export const wordRules: readonly Rule[] = [
  {
    name: 'the words are the field’s, and comments fit the screen',
    find: proseFindings,
    caught: [
      ['a house word in a comment', { 'src/new/a.ts': '/** Rings when a block comes. */' }],
      ['a house word in a name', { 'src/new/a.ts': 'const openRoad = () => 1;' }],
      ['a house word in a text', { 'src/new/a.ts': "throw new Error('it is signed anew');" }],
      ['a phrase in a page', { 'docs/new.md': 'The address stands in no block.' }],
      ['a file’s name', { 'src/new/moves.ts': '' }],
      ['a wide comment', { 'src/new/a.ts': `// ${long}` }],
    ],
    passed: [
      ['an example of what not to write', { 'docs/new.md': '```diff\n- The road\n+ The transport\n```' }],
      ['wide code', { 'src/new/a.ts': `const a = '${long}';` }],
      ['parts of other words', { 'src/new/a.ts': '// a string during a broad standard' }],
    ],
  },
];
