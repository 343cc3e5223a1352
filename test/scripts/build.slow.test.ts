/**
 * `dist/`: when it is built, when it is refused, and what its stack traces name.
 */
import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { copyInstallation, filesIn } from '../support/installation-copy.ts';

const folders: string[] = [];
test.after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function installation(with_: Parameters<typeof copyInstallation>[0]): string {
  const folder = copyInstallation(with_);
  folders.push(folder);
  return folder;
}

type Ended = Readonly<{ code: unknown; output: string }>;

/** Runs a program of an installation to its end. */
const run = (folder: string, ...words: readonly string[]): Promise<Ended> =>
  new Promise((done) => {
    const env = { ...process.env, QUAYSIDE_DATA_DIR: join(folder, 'data'), QUAYSIDE_PORT: '0' };
    execFile(process.execPath, words, { cwd: folder, env }, (error, stdout, stderr) =>
      done({ code: error ? error.code : 0, output: stdout + stderr }),
    );
  });

const built = (folder: string, source: string): string => join(folder, 'dist', source.replace(/\.ts$/, '.js'));

test('npm ci without development packages neither fails nor builds, and says how to get a build', async () => {
  const folder = installation({ sources: true });
  rmSync(join(folder, 'dist'), { recursive: true });
  const { code, output } = await run(folder, 'scripts/build.mjs', '--prepare');
  assert.is(code, 0, output);
  assert.match(output, /there is no dist\/ yet, and TypeScript, .*, is not installed: run `npm ci`/);
  assert.not.ok(existsSync(join(folder, 'dist')));
  const start = await run(folder, 'scripts/build.mjs', '--if-stale');
  assert.is(start.code, 1, '`npm start` ends before it starts anything');
  assert.is(start.output, output);
});

test('after a change of the sources, npm start builds again', async () => {
  const folder = installation({ sources: true, compiler: true });
  appendFileSync(join(folder, 'src/lib/clock.ts'), '\nexport const changed = true;\n');
  assert.equal(await run(folder, 'scripts/build.mjs', '--if-stale'), { code: 0, output: '' });
  assert.match(readFileSync(built(folder, 'src/lib/clock.ts'), 'utf8'), /export const changed = true;/);
  for (const file of ['src/api/docs.css', 'src/checkout/browser/live.js', 'src/main.js.map']) {
    assert.ok(existsSync(join(folder, 'dist', file)), file);
  }
});

test('sources that cannot be compiled leave the build as it was', async () => {
  const folder = installation({ sources: true, compiler: true });
  const before = filesIn(join(folder, 'dist'));
  appendFileSync(join(folder, 'src/lib/clock.ts'), '\nexport const = ;\n');
  const { code, output } = await run(folder, 'scripts/build.mjs', '--if-stale');
  assert.is(code, 1);
  assert.match(output, /clock\.ts/);
  assert.match(output, /quayside: the sources cannot be compiled, as said above; dist\/ stays as it was/);
  assert.equal(filesIn(join(folder, 'dist')), before);
});

test('a build of other sources is refused where it cannot be made again', async () => {
  const folder = installation({ sources: true });
  appendFileSync(join(folder, 'src/lib/clock.ts'), '\nexport const changed = true;\n');
  const start = await run(folder, 'scripts/build.mjs', '--if-stale');
  assert.is(start.code, 1);
  assert.match(start.output, /dist\/ was built from other sources, and TypeScript, .*, is not installed: run `npm ci`/);
});

test('the stack trace of a built program names the line of the source', async () => {
  const source = 'src/core/fault.ts';
  const folder = installation({});
  const thrower = `
    import ${JSON.stringify(built(folder, 'src/lib/log.ts'))};
    import { invariant } from ${JSON.stringify(built(folder, source))};
    invariant(false, 'broken on purpose');`;
  const { code, output } = await run(folder, '--input-type=module', '--eval', thrower);
  assert.is(code, 1);
  const lines = readFileSync(source, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes('new Error(`invariant broken')) + 1;
  assert.ok(output.includes(`at invariant (file://${folder}/${source}:${at}:`), output);
});

test.run();
