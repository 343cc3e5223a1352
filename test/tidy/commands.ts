/**
 * Every command that a message or a page names exists.
 */

import { manifest } from './files.ts';
import type { Rule } from './rule.ts';
import { readSources, type Sources } from './source-tree.ts';

const tools = [...readSources()].filter(([path]) => /^(scripts\/cli|src\/acts)\//.test(path));
const isSigners = (path: string) => path.startsWith('scripts/cli/signer');

/** Returns the names of the commands in sources, of one or two words, and of the programs that they start. */
const namesIn = (sources: readonly (readonly [path: string, text: string])[]): ReadonlySet<string> =>
  new Set(
    sources.flatMap(([, text]) =>
      [...text.matchAll(/^ {2}name: '([a-z][a-z -]*)',$|^ {2}'?([a-z-]+)'?: \{\n {4}summary:/gm)].map(
        ([, name, program]) => name ?? program ?? '',
      ),
    ),
  );
const commands = namesIn(tools.filter(([path]) => !isSigners(path)));
const signerCommands = namesIn(tools.filter(([path]) => isSigners(path)));
const groups: ReadonlySet<string> = new Set([...commands].map((name) => name.split(' ')[0] ?? ''));

const QUAYSIDE = /(?<![\w/-])quayside ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g;
const SIGNER = /`(?:npx )?quayside-signer ([a-z][a-z-]*)|^(?:npx |\s+)quayside-signer ([a-z][a-z-]*)/g;
/** Statements of a text about the tool itself. */
const PROSE = /^(command|commands|tool|process|processes|installation)$/;

const isCommand = (first: string, second: string | undefined): boolean =>
  commands.has(first) ||
  PROSE.test(first) ||
  (second === undefined ? groups.has(first) : commands.has(`${first} ${second}`));

function commandFindings(texts: Sources): string[] {
  const findings: string[] = [];
  for (const [path, text] of texts) {
    if (path.startsWith('test/tidy/') || path === 'CHANGELOG.md') continue;
    for (const [at, line] of text.split('\n').entries()) {
      const named = [
        ...[...line.matchAll(QUAYSIDE)].flatMap(([all, first = '', second]) =>
          // `'quayside refund claim '` separates what is signed from everything else that is.
          isCommand(first, second) || new RegExp(`['"\`]${all}[a-z ]* (v?\\d|\\$\\{|')`).test(line) ? [] : [all],
        ),
        ...[...line.matchAll(SIGNER)].flatMap(([all, quoted, alone]) =>
          signerCommands.has(quoted ?? alone ?? '') ? [] : [all.replace(/^[`\s]+/, '')],
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
      ['a second word that is not there', { 'docs/a.md': '`npx quayside payout repair <id>`' }],
      ['a group that is a program of its own', { 'docs/a.md': '`quayside signer thaw`' }],
      ['a command of the signer that is not there', { 'docs/a.md': '`npx quayside-signer repair`' }],
      ['a script that is not there', { 'docs/a.md': '`npm run repair`' }],
    ],
    passed: [
      ['commands and scripts', { 'docs/a.md': '`quayside status`, `quayside payout resolve <id>`, `npm run types`' }],
      ['commands of the signer', { 'docs/a.md': '`quayside-signer init --import`, as the user quayside-signer does' }],
    ],
  },
];
