/**
 * The test command, run on a folder of made-up test files.
 */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationFolder } from '../../src/lib/installation.ts';

const program = join(installationFolder, 'scripts/test.ts');
const folder = mkdtempSync(join(tmpdir(), 'quayside-test-command-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a file that prints counts like the test library. */
const counting = (total: number, passed: number, skipped = 0) =>
  `console.log('\\n  Total:     ${total}\\n  Passed:    ${passed}\\n  Skipped:   ${skipped}\\n');`;

const files: Readonly<Record<string, string>> = {
  'core/good.test.ts': `${counting(3, 3)} setTimeout(() => {}, 300);`,
  'core/part.test.ts': `${counting(5, 2, 1)} process.exit(1);`,
  'silent.test.ts': '',
  'skipped.test.ts': counting(0, 0, 1),
  'dead.test.ts': `${counting(2, 2)} process.kill(process.pid, 'SIGKILL');`,
  'e2e/long.slow.test.ts': counting(1, 1),
};
function writeTest(name: string, text: string): void {
  mkdirSync(dirname(join(folder, 'test', name)), { recursive: true });
  writeFileSync(join(folder, 'test', name), text);
}
for (const [name, text] of Object.entries(files)) writeTest(name, text);
writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
const compilerOptions = { noCheck: true, rootDir: '.', module: 'NodeNext', target: 'ES2023', types: [] };
writeFileSync(join(folder, 'tsconfig.test.json'), JSON.stringify({ compilerOptions, include: ['test'] }));

type Ended = Readonly<{ code: number; stdout: string; stderr: string }>;

const run = (...words: string[]) =>
  new Promise<Ended>((done) => {
    const command = ['--import', import.meta.resolve('tsx'), program, ...words];
    execFile(process.execPath, command, { cwd: folder }, (error, stdout, stderr) =>
      done({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });

const lastLine = ({ stdout }: Ended) => stdout.trimEnd().split('\n').at(-1);

test('a file that fails, crashes or prints no counts makes the command fail, and the last line has the counts', async () => {
  const ended = await run();
  assert.is(lastLine(ended), '7 passed, 5 failed, 2 skipped');
  assert.is(ended.code, 1);
  for (const name of ['core/part', 'silent', 'dead']) assert.match(ended.stdout, new RegExp(`✗ test/${name}`));
  assert.not.match(ended.stdout, 'long.slow');
});

test('the slow files run alone or together with the fast ones', async () => {
  assert.is(lastLine(await run('--rest')), '1 passed, 0 failed');
  assert.is(lastLine(await run('--all')), '8 passed, 5 failed, 2 skipped');
});

test('fast files of one folder share a process, which each finds as if it were the first; a crash ends only its own', async () => {
  const passedIf = (condition: string) => `const n = ${condition} ? 1 : 0;
    console.log(\`\\n  Total:     1\\n  Passed:    \${n}\\n  Skipped:   0\\n\`);`;
  const isUntouched = "process.env.LEFT === undefined && process.cwd() !== '/' && process.argv.length === 2";
  const first = "Object.assign(globalThis, { first: 1 }); process.env.LEFT = 'x'; process.chdir('/');";
  writeTest('shared/a.test.ts', `${counting(1, 1)} ${first}`);
  writeTest('shared/b.test.ts', passedIf(`'first' in globalThis && ${isUntouched}`));
  writeTest(
    'shared/c.test.ts',
    `${counting(1, 1)} setTimeout(() => process.kill(process.pid, 'SIGKILL')); await 0;
    await new Promise(() => {}); export {};`,
  );
  writeTest('shared/d.test.ts', passedIf(`!('first' in globalThis) && ${isUntouched}`));
  writeTest('shared/e.test.ts', `${counting(1, 1)} setTimeout(() => { throw new Error('too late'); }, 200);`);
  const ended = await run('shared/');
  rmSync(join(folder, 'test/shared'), { recursive: true });
  assert.is(lastLine(ended), '5 passed, 2 failed');
  for (const name of 'abd') assert.match(ended.stdout, new RegExp(`✓ test/shared/${name}\\S+ +1 passed, 0 failed`));
  for (const name of 'ce') assert.match(ended.stdout, new RegExp(`✗ test/shared/${name}\\S+ +1 passed, 1 failed`));
  assert.match(ended.stdout, 'too late');
});

test.run();
