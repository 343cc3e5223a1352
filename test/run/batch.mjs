/**
 * Runs test files one after the other in this process, and says where each begins and ends. Plain JavaScript, because
 * it runs in the test command's own tests too, where no build of it is at hand.
 *
 *   node batch.mjs dist.test/test/core/money.test.js dist.test/test/core/rate.test.js
 *
 * A line that begins with the ASCII record separator is for the test command: `begin`, or `end` and the seconds.
 * Environment and working directory are restored after each file. A file that fails ends the process, with whatever it
 * has started. One that passes with something left open keeps the process from ending, as it does alone.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// The library runs nothing by itself now; it has only one list of suites.
globalThis.UVU_DEFER = 1;
globalThis.UVU_QUEUE = [];
// A `before` that throws is no failure to the library, which drops its error.
const BEFORE = 'for (hook of before) await hook(state);';
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/uvu/dist/index.mjs')) return loaded;
    const source = String(loaded.source);
    if (!source.includes(BEFORE)) throw new Error('uvu is another version: see how it runs `before`');
    const counted = `try { ${BEFORE} } catch (error) { write(errors = format('before', error, name)); throw error; }`;
    return { ...loaded, source: source.replace(BEFORE, () => counted) };
  },
});
const { exec } = await import('uvu');

const files = process.argv.slice(2).map((file) => resolve(file));
const folder = process.cwd();
const variables = { ...process.env };

// Stack traces name the TypeScript.
const stackTrace = join(folder, 'dist.test/src/lib/stack-trace.js');
if (existsSync(stackTrace)) (await import(pathToFileURL(stackTrace).href)).nameSources();

for (const file of files) {
  const startedAtMs = performance.now();
  process.stdout.write('\n\x1e begin\n');
  process.argv = [process.argv[0], file];
  globalThis.UVU_QUEUE.splice(0, Infinity, [null]);
  await import(pathToFileURL(file).href);
  await exec();
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
  Object.assign(process.env, variables);
  process.chdir(folder);
  process.stdout.write(`\n\x1e end ${(performance.now() - startedAtMs) / 1000}\n`);
  if (process.exitCode) process.exit();
}
