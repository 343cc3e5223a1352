/**
 * The words that this project does not use, and how wide a comment is.
 * @module
 */
import { type Sources, withoutComments } from '../support/source-tree.ts';
import type { Rule } from './rule.ts';

const COLUMNS_MAX = 120;

/** Whole words, also as parts of names, with what to say instead. */
const words: readonly (readonly [word: string, instead: string])[] = [
  ['doors?', 'middleware, listener or server'],
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
const bannedNames =
  /(?<![a-z])(door|road|bell|desk|fate|bearing|sighting|heap|moves|utils?|helpers?|misc|common)(?![a-z])/;

/** What the wire, the command line and the styles have called so from the start. */
const allowed = /--anew\b|\banew: \{|options\.anew\b/g;

function wordFindings(path: string, text: string): string[] {
  const findings: string[] = [];
  const name = bannedNames.exec(path.split('/').at(-1) ?? '');
  if (name) findings.push(`${path}: a file is not called "${name[0]}"`);
  let isDiff = false;
  for (const [at, line] of text.split('\n').entries()) {
    if (line.startsWith('```')) isDiff = line === '```diff';
    // A line that an example takes out.
    if (isDiff && line.startsWith('-')) continue;
    const spaced = line.replace(allowed, '').replace(/([a-z\d])([A-Z])/g, '$1 $2');
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

/** Folders that are still to be rewritten; the list only shrinks. */
const unfinished: readonly string[] = ['src/signer', 'test/signer'];

/** The folder as the list names it. */
const folderOf = (path: string): string => /^(src|test)\/[\w-]+(?=\/)|^[\w-]+/.exec(path)?.[0] ?? path;

function proseFindings(texts: Sources): string[] {
  const excused = new Set<string>();
  const findings = [...texts].flatMap(([path, text]) => {
    if (path.startsWith('test/tidy/') || path.endsWith('.sql')) return [];
    const found = [...wordFindings(path, text), ...widthFindings(path, text)];
    if (found.length === 0 || !unfinished.includes(folderOf(path))) return found;
    excused.add(folderOf(path));
    return [];
  });
  const done = unfinished.filter((folder) => !excused.has(folder));
  return [...findings, ...done.map((folder) => `${folder} is finished: delete it from the list in test/tidy/words.ts`)];
}

const long = 'why '.repeat(40);
export const wordRules: readonly Rule[] = [
  {
    name: 'the words are the field’s, and comments fit the screen',
    find: proseFindings,
    caught: [
      ['a house word in a comment', { 'src/new/a.ts': '/** Rings when a block comes. */' }],
      ['a house word in a name', { 'src/new/a.ts': 'const openDoor = () => 1;' }],
      ['a house word in a text', { 'src/new/a.ts': "throw new Error('it is signed anew');" }],
      ['a phrase in a page', { 'docs/new.md': 'The address stands in no block.' }],
      ['a file’s name', { 'src/new/moves.ts': '' }],
      ['a wide comment', { 'src/new/a.ts': `// ${long}` }],
    ],
    passed: [
      ['an option that is there', { 'src/new/a.ts': 'run `quayside payouts resume <id> --anew`' }],
      ['an example of what not to write', { 'docs/new.md': '```diff\n- The door\n+ The middleware\n```' }],
      ['wide code', { 'src/new/a.ts': `const a = '${long}';` }],
      ['parts of other words', { 'src/new/a.ts': '// a string during a broad standard' }],
    ],
  },
];
