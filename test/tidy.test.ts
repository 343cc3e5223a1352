/**
 * The architecture as a test: who may import whom, what may be called where, and what a file may look like. Each
 * finding says what to do about it. The rules are in `test/tidy/`; each shows that it catches what it should. Circles
 * of imports, the length of functions, barrels, default exports and `console` are the linter's (biome.json).
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { banRules } from './tidy/bans.ts';
import { commandRules } from './tidy/commands.ts';
import { dependencyFindings, fileRules, manifest, manifestFindings } from './tidy/files.ts';
import { layerRules } from './tidy/layers.ts';
import { readmeRules } from './tidy/readmes.ts';
import { readSources, readTexts } from './tidy/source-tree.ts';
import { wordRules } from './tidy/words.ts';

const sources = readSources();
const texts = new Map([...sources, ...readTexts()]);
const rules = [
  ...[...layerRules, ...banRules, ...fileRules].map((rule) => [rule, sources] as const),
  ...[...wordRules, ...readmeRules, ...commandRules].map((rule) => [rule, texts] as const),
];

for (const [{ name, find, caught, passed = [] }, all] of rules) {
  test(name, () => {
    const found = find(all);
    assert.is(found.length, 0, `\n  ${found.join('\n  ')}\n`);
  });
  for (const [examples, more] of [
    [caught, 1],
    [passed, 0],
  ] as const) {
    for (const [what, files] of examples) {
      test(`${more ? 'caught' : 'passed'}: ${what}`, () => {
        assert.is(find(new Map(Object.entries(files))).length, find(new Map()).length + more);
      });
    }
  }
}

test('caught: an inexact version and a script that runs nothing', () => {
  const wrong = { dependencies: { a: '^1.0.0' }, devDependencies: {}, scripts: { x: 'tsx scripts/none.ts' } };
  assert.is(manifestFindings(wrong, new Map()).length, 2);
});

test('docs/internals/dependencies.md says why each package is there', () => {
  const found = dependencyFindings(manifest, readFileSync('docs/internals/dependencies.md', 'utf8'));
  assert.is(found.length, 0, `\n  ${found.join('\n  ')}\n`);
});

test('caught: packages without a reason, and a reason without a package', () => {
  const some = { dependencies: { a: '1.0.0', b: '1.0.0' }, devDependencies: { c: '1.0.0', d: '1.0.0' }, scripts: {} };
  const page = '| `b` | somebody | to do b |\n| `e` | nobody | gone |\n\nAnd `d`, for tests.\n';
  assert.is(dependencyFindings(some, page).length, 3);
});

test('npm compiles no package: SQLite comes as a binary', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  // npm runs node-gyp for each package with a binding.gyp unless the lock says this; `npm install` may drop the line.
  assert.is(packages['node_modules/better-sqlite3'].gypfile, false, 'write "gypfile": false back into the lock');
});

test.run();
