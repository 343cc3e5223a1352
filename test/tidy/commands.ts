/**
 * Every command that a message or a page names exists.
 * @module
 */
import { readSources, type Sources } from '../support/source-tree.ts';
import { manifest } from './files.ts';
import type { Rule } from './rule.ts';

const tool = [...readSources()].filter(([path]) => path.startsWith('scripts/cli/')).map(([, text]) => text);
/** The tool's commands, of one or two words, and the programs that it starts. */
const commands: ReadonlySet<string> = new Set(
  tool.flatMap((text) =>
    [...text.matchAll(/^ {2}name: '([a-z][a-z -]*)',$|^ {2}'?([a-z-]+)'?: \{\n {4}summary:/gm)].map(
      ([, name, program]) => name ?? program ?? '',
    ),
  ),
);
const groups: ReadonlySet<string> = new Set([...commands].map((name) => name.split(' ')[0] ?? ''));

/** Commands and scripts that pages name and that are still to be made; the list only shrinks. */
const coming: readonly string[] = ['quayside signer policy'];

const QUAYSIDE = /(?<![\w/-])quayside ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g;
/** What a text says about the tool itself. */
const PROSE = /^(command|commands|tool|process|processes|installation)$/;

function isCommand(first: string, second: string | undefined): boolean {
  if (commands.has(first) || PROSE.test(first)) return true;
  return groups.has(first) && (second === undefined || commands.has(`${first} ${second}`));
}

function commandFindings(texts: Sources): string[] {
  const findings: string[] = [];
  const used = new Set<string>();
  for (const [path, text] of texts) {
    if (path.startsWith('test/tidy/') || path === 'CHANGELOG.md') continue;
    for (const [at, line] of text.split('\n').entries()) {
      const named = [
        ...[...line.matchAll(QUAYSIDE)].flatMap(([all, first = '', second]) =>
          // `'quayside refund claim '` separates what is signed from everything else that is.
          isCommand(first, second) || new RegExp(`['\`]${all} (v?\\d|\\$\\{|')`).test(line) ? [] : [all],
        ),
        ...[...line.matchAll(/\bnpm run ([\w:-]+)/g)].flatMap(([all, script = '']) =>
          script in manifest.scripts ? [] : [all],
        ),
      ];
      for (const name of named) {
        if (coming.includes(name)) used.add(name);
        else findings.push(`${path}:${at + 1} names \`${name}\`, which is not there`);
      }
    }
  }
  const done = coming.filter((name) => !used.has(name));
  return [...findings, ...done.map((name) => `${name} needs no exception: delete it in test/tidy/commands.ts`)];
}

export const commandRules: readonly Rule[] = [
  {
    name: 'commands that a text names exist',
    find: commandFindings,
    caught: [
      ['a command that is not there', { 'src/api/a.ts': "throw new Error('run `quayside repair`');" }],
      ['a second word that is not there', { 'docs/a.md': '`npx quayside payouts repair <id>`' }],
      ['a script that is not there', { 'docs/a.md': '`npm run repair`' }],
    ],
    passed: [
      ['commands and scripts', { 'docs/a.md': '`quayside status`, `quayside payouts resume <id>`, `npm run types`' }],
    ],
  },
];
