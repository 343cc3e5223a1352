/**
 * Measures what the tests notice: breaks one line of a source file, runs tests, and repeats with another line. A break
 * that no test notices survives; each survivor is a missing test, or a line that changes nothing.
 *
 *   npm run mutate -- src/core/refund.ts --tests test/core
 *   npm run mutate -- src/core --tests test/core --share 10 --seed 3     a tenth of the breaks, chosen by a seed
 *   npm run mutate -- src/core --tests test/core --then test/database    what survives is tried by slower tests too
 *
 * It changes the compiled tests in `dist.test/` only, and restores each file. Ends with what was noticed of each
 * file, and of all.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildTests, builtTest } from '../test/run/build-tests.ts';

/** Tests that take longer hang: the break made a loop endless. */
const RUN_MS_MAX = 60_000;

/** A defect to put in: a pattern outside texts and comments, and its replacement. */
const breaks: readonly (readonly [name: string, from: RegExp, to: string])[] = [
  ['equal', /===/, '!=='],
  ['unequal', /!==/, '==='],
  ['at most', /<=/, '<'],
  ['at least', />=/, '>'],
  ['less', / < /, ' <= '],
  ['more', / > /, ' >= '],
  ['and', /&&/, '||'],
  ['or', /\|\|/, '&&'],
  ['plus', / \+ /, ' - '],
  ['minus', / - /, ' + '],
  ['times', / \* /, ' + '],
  ['true', /\btrue\b/, 'false'],
  ['false', /\bfalse\b/, 'true'],
  ['zero', /\b0(n?)\b(?!\.)/, '1$1'],
  ['one', /\b1(n?)\b(?!\.)/, '2$1'],
  ['condition', /^(\s*)if \((.*)\)( \{)?$/, '$1if (!($2))$3'],
  ['guard', /^(\s*)if \(.*\)\s*(return|throw|continue)\b.*;$/, '$1;'],
  ['call', /^(\s*)(await )?[a-z][\w.]*\(.*\);$/, '$1;'],
];

type Mutant = Readonly<{ file: string; line: number; name: string; before: string; after: string }>;

/** Returns the line with texts and comments blanked, at the same places. */
const codeOf = (line: string): string =>
  line.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|\/\/.*$/g, (text) =>
    '\u0000'.repeat(text.length),
  );

function breakLine(line: string, from: RegExp, to: string): string | null {
  const found = from.exec(codeOf(line));
  if (!found) return null;
  const end = found.index + found[0].length;
  return line.slice(0, found.index) + line.slice(found.index, end).replace(from, to) + line.slice(end);
}

function mutantsOf(file: string): Mutant[] {
  let isComment = false;
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((before, at) => {
      if (/^\s*\/\*/.test(before)) isComment = true;
      const isCode = !isComment && !/^(import|export \{)/.test(before);
      if (before.includes('*/')) isComment = false;
      if (!isCode) return [];
      return breaks.flatMap(([name, from, to]) => {
        const after = breakLine(before, from, to);
        return after === null || after === before ? [] : [{ file, line: at + 1, name, before, after }];
      });
    });
}

const filesUnder = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => `${path}/${name}`)
    : [path];

/** Returns whether a mutant is in the share that a seed chooses. */
const isChosen = ({ file, line, name }: Mutant, seed: string, percent: number): boolean =>
  createHash('sha256').update(`${seed} ${file} ${line} ${name}`).digest().readUInt32BE(0) % 100 < percent;

/** Runs the tests. @returns whether all passed */
function passes(tests: readonly string[]): boolean {
  const { status } = spawnSync(process.execPath, ['test/run/batch.mjs', ...tests], {
    stdio: 'ignore',
    timeout: RUN_MS_MAX,
    killSignal: 'SIGKILL',
  });
  return status === 0;
}

/** Returns whether the tests notice a mutant. */
function isNoticed({ file, line, after }: Mutant, tests: readonly string[]): boolean {
  const whole = readFileSync(file, 'utf8');
  const lines = whole.split('\n');
  lines[line - 1] = after;
  try {
    writeFileSync(file, lines.join('\n'));
    return !passes(tests);
  } finally {
    writeFileSync(file, whole);
  }
}

const { values, positionals: sources } = parseArgs({
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    // biome-ignore lint/suspicious/noThenProperty: the name of an option
    then: { type: 'string', multiple: true, default: [] },
    share: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);
buildTests();
const testsOf = (paths: readonly string[]): string[] =>
  paths
    .flatMap(filesUnder)
    .filter((path) => path.endsWith('.test.ts') && !path.endsWith('.slow.test.ts'))
    .map(builtTest);
const tests = testsOf(values.tests);
const slower = testsOf(values.then);
const mutants = sources
  .flatMap(filesUnder)
  .filter((path) => path.endsWith('.ts'))
  .map(builtTest)
  .filter((path) => existsSync(path))
  .flatMap(mutantsOf)
  .filter((mutant) => isChosen(mutant, values.seed, Number(values.share)));
if (tests.length === 0 || mutants.length === 0) throw new Error('name source files, and --tests with test files');
if (![tests, slower].every(passes)) throw new Error('these tests fail before anything is broken');
const counts = new Map<string, { mutants: number; noticed: number }>();
for (const [nth, mutant] of mutants.entries()) {
  const count = counts.get(mutant.file) ?? { mutants: 0, noticed: 0 };
  counts.set(mutant.file, count);
  count.mutants++;
  if (isNoticed(mutant, tests) || (slower.length > 0 && isNoticed(mutant, slower))) count.noticed++;
  else print(`${mutant.file}:${mutant.line} (${mutant.name})\n  - ${mutant.before.trim()}\n  + ${mutant.after.trim()}`);
  if (process.stderr.isTTY) process.stderr.write(`\r${nth + 1} of ${mutants.length}`);
}
for (const [file, count] of counts) print(`${file}: ${count.noticed} of ${count.mutants}`);
const noticed = [...counts.values()].reduce((sum, count) => sum + count.noticed, 0);
print(`${noticed} of ${mutants.length} noticed (${((100 * noticed) / mutants.length).toFixed(1)} %)`);
execFileSync('rm', ['-f', 'dist.test/build.txt']);
