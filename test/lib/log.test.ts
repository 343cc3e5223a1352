/** The log: levels, redaction, values that JSON lacks, and lines that are complete however a process ends. */

import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runnable } from '../../src/lib/installation.ts';
import { openLog } from '../../src/lib/log.ts';
import { loaderOptions } from '../support/own-program.ts';

/** Opens a log and returns what it writes. */
function noted(level = 'trace') {
  const lines: string[] = [];
  const log = openLog('indexer test:one', level, (line) => void lines.push(line));
  return { log, lines, only: () => JSON.parse(lines[0] ?? '') };
}

test('a line is JSON with its level, time, process, fields and message, and ends with a line feed', () => {
  const { log, lines, only } = noted();
  log.warn({ network: 'test:one', blocks: 3 }, 'behind');
  assert.ok(lines[0]?.endsWith('}\n'));
  const { time, ...rest } = only();
  assert.equal(rest, { level: 40, process: 'indexer test:one', network: 'test:one', blocks: 3, msg: 'behind' });
  assert.is(new Date(time).toISOString(), time);
});

test('only what is at least as severe as the level is written; silent writes nothing', () => {
  const written = (level: string) => {
    const { log, lines } = noted(level);
    for (const name of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[name](name);
    return lines.map((line) => JSON.parse(line).msg);
  };
  assert.equal(written('trace'), ['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
  assert.equal(written('warn'), ['warn', 'error', 'fatal']);
  assert.equal(written('silent'), []);
});

test('secrets are redacted at any depth', () => {
  const { log, lines } = noted();
  const deep = { config: { stores: [{ api_secret: 'ss_deep', name: 'shop' }] } };
  log.info({ xpub: 'xpub661', headers: { authorization: 'Bearer sk_1' }, deep }, 'started');
  assert.not.match(lines[0] ?? '', /xpub661|sk_1|ss_deep/);
  assert.match(lines[0] ?? '', /"name":"shop"/);
});

test('an error is written with its type, message, stack, code and cause; a bigint as its digits', () => {
  const { log, only } = noted();
  const err = Object.assign(new TypeError('broken', { cause: new Error('below') }), { code: 'EBROKEN' });
  log.error({ err, units: 10n ** 20n }, 'failed');
  const line = only();
  assert.equal([line.err.type, line.err.message, line.err.code], ['TypeError', 'broken', 'EBROKEN']);
  assert.match(line.err.stack, /log\.test\.ts/);
  assert.is(line.err.cause.message, 'below');
  assert.is(line.units, '100000000000000000000');
});

test('a value that contains itself does not end the program, and shows no secret', () => {
  const { log, lines } = noted();
  const loop: Record<string, unknown> = { secret: 'ss_1' };
  loop.loop = loop;
  log.info({ loop, xpub: 'xpub661' }, 'round');
  assert.match(lines[0] ?? '', /"msg":"round"/);
  assert.not.match(lines[0] ?? '', /ss_1|xpub661/);
});

test('the last line before a process exits is written whole, and a reader that is gone does not end it', () => {
  const log = runnable(new URL('../../src/lib/log.ts', import.meta.url)).href;
  const run = (code: string, shell: string) =>
    spawnSync('bash', ['-c', shell], {
      encoding: 'utf8',
      env: { ...process.env, LOG: log, CODE: `const { openLog } = await import(process.env.LOG); ${code}` },
    });
  const node = `'${process.execPath}' ${loaderOptions.join(' ')} --input-type=module -e "$CODE"`;
  const last = run(
    `const log = openLog('child', 'info'); log.fatal({ text: 'x'.repeat(300_000) }, 'the end'); process.exit(3);`,
    node,
  );
  assert.is(last.status, 3);
  assert.is(JSON.parse(last.stderr).msg, 'the end');
  const late = `const log = openLog('child', 'info'); for (let n = 0; n < 50; n++) { log.info('line'); await new Promise((done) => setTimeout(done, 5)); } process.exit(4);`;
  const unread = run(late, `${node} 2> >(exec true); echo $?`);
  assert.is(unread.stdout.trim(), '4');
});

test.run();
