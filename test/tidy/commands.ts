/**
 * Every command that a message or a page names exists.
 * @module
 */
import { readSources, type Sources } from '../support/source-tree.ts';
import { manifest } from './files.ts';
import type { Rule } from './rule.ts';

const tool = [...readSources()].filter(([path]) => /^(scripts\/cli|src\/acts)\//.test(path)).map(([, text]) => text);
/** The tool's commands, of one or two words, and the programs that it starts. */
const commands: ReadonlySet<string> = new Set(
  tool.flatMap((text) =>
    [...text.matchAll(/^ {2}name: '([a-z][a-z -]*)',$|^ {2}'?([a-z-]+)'?: \{\n {4}summary:/gm)].map(
      ([, name, program]) => name ?? program ?? '',
    ),
  ),
);
const groups: ReadonlySet<string> = new Set([...commands].map((name) => name.split(' ')[0] ?? ''));

const QUAYSIDE = /(?<![\w/-])quayside ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?: ([a-z][a-z-]+)(?![\w-]))?/g;
/** What a text says about the tool itself. */
const PROSE = /^(command|commands|tool|process|processes|installation)$/;

function isCommand(first: string, second: string | undefined, third: string | undefined): boolean {
  if (commands.has(first) || PROSE.test(first)) return true;
  if (second === undefined) return groups.has(first);
  const [two, three] = [`${first} ${second}`, `${first} ${second} ${third}`];
  return commands.has(two) || commands.has(three) || (third === undefined && isStart(two));
}

/** Whether commands of three words start with these two. */
const isStart = (two: string): boolean => [...commands].some((name) => name.startsWith(`${two} `));

function commandFindings(texts: Sources): string[] {
  const findings: string[] = [];
  for (const [path, text] of texts) {
    if (path.startsWith('test/tidy/') || path === 'CHANGELOG.md') continue;
    for (const [at, line] of text.split('\n').entries()) {
      const named = [
        ...[...line.matchAll(QUAYSIDE)].flatMap(([all, first = '', second, third]) =>
          // `'quayside refund claim '` separates what is signed from everything else that is.
          isCommand(first, second, third) || new RegExp(`['\`]${all} (v?\\d|\\$\\{|')`).test(line) ? [] : [all],
        ),
        ...[...line.matchAll(/\bnpm run ([\w:-]+)/g)].flatMap(([all, script = '']) =>
          script in manifest.scripts ? [] : [all],
        ),
      ];
      for (const name of named) findings.push(`${path}:${at + 1} names \`${name}\`, which is not there`);
    }
  }
  return findings;
}

export const commandRules: readonly Rule[] = [
  {
    name: 'commands that a text names exist',
    find: commandFindings,
    caught: [
      ['a command that is not there', { 'src/api/a.ts': "throw new Error('run `quayside repair`');" }],
      ['a second word that is not there', { 'docs/a.md': '`npx quayside payouts repair <id>`' }],
      ['a third word that is not there', { 'docs/a.md': '`quayside signer policy repair`' }],
      ['a script that is not there', { 'docs/a.md': '`npm run repair`' }],
    ],
    passed: [
      ['commands and scripts', { 'docs/a.md': '`quayside status`, `quayside payouts resume <id>`, `npm run types`' }],
    ],
  },
];
