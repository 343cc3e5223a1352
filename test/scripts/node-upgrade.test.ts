/**
 * `quayside node upgrade`: a program is replaced, watched and taken back. systemctl is a script that keeps a state as
 * systemd does; the client is one that prints its version.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-node-upgrade-'));
const [dir, bin, units] = ['nodes', 'bin', 'units'].map((name) => join(folder, name)) as [string, string, string];
const PATH = `${bin}:${process.env.PATH}`;
const [log, news] = [join(folder, 'called'), join(folder, 'geth-new')];
const places = ['--dir', dir, '--unit-dir', units];
test.after(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, script: string): string {
  const text = `#!/bin/sh\n${script}\n`;
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return text;
}
const client = (version: string, more = ''): string => `echo "Version: ${version}-stable"\n${more}`;

/** The service is active unless its program says BROKEN. */
function fakeSystemd(): void {
  write(
    join(bin, 'systemctl'),
    `echo "$1 $2" >> ${log}
    if [ "$1" = show ]; then
      if grep -q BROKEN ${bin}/geth; then echo ActiveState=failed; else echo ActiveState=active; fi
      printf 'SubState=x\\nResult=exit-code\\nNRestarts=0\\n'
    fi`,
  );
}

test.before.each(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const path of [dir, bin, units]) mkdirSync(path, { recursive: true });
  write(join(bin, 'geth'), client('1.17.10'));
  write(join(bin, 'lighthouse'), 'echo v8.3.3');
  fakeSystemd();
  const words = ['ethereum', '--clients', 'geth,lighthouse', '--checkpoint-url', 'https://b.example', '--bin', bin];
  assert.is((await runQuayside(['node', 'install', ...words, ...places], { PATH })).code, 0);
});

const upgrade = (...words: string[]) =>
  runQuayside(['node', 'upgrade', 'ethereum', 'geth', ...places, '--watch', '1s', ...words], { PATH });
const geth = (): string => readFileSync(join(bin, 'geth'), 'utf8');
const changes = (): string[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => /^(start|stop) /.test(line))
    .map((line) => line.split(' ')[0] ?? '');

test('a newer program replaces the old one, which is kept, and --rollback brings it back', async () => {
  const before = geth();
  const text = write(news, client('1.17.11'));
  const sum = createHash('sha256').update(text).digest('hex');
  const { code, out, err } = await upgrade('--program', news, '--sha256', sum);
  assert.equal([code, err], [0, ''], out);
  assert.match(out, '1.17.10 → 1.17.11');
  assert.equal([geth(), readFileSync(join(bin, 'geth.previous'), 'utf8')], [text, before]);
  assert.equal(changes(), ['stop', 'start']);
  assert.is(readdirSync(units).filter((name) => /geth\.service\..*\.bak$/.test(name)).length, 1);
  const back = await upgrade('--rollback');
  assert.is(back.code, 0);
  assert.match(back.out, 'rolled back');
  assert.equal([geth(), readFileSync(join(bin, 'geth.previous'), 'utf8')], [before, text]);
  assert.equal(changes(), ['stop', 'start', 'stop', 'start']);
  assert.not.ok(readdirSync(bin).some((name) => name.includes('draft')));
});

test('a program that does not stay up is taken back, and the old one runs again', async () => {
  const before = geth();
  write(news, client('1.17.11', '# BROKEN'));
  const { code, out } = await upgrade('--program', news, '--without-checksum');
  assert.is(code, 1);
  assert.match(out, 'taken back');
  assert.match(out, 'quayside-ethereum-geth.service is failed');
  assert.is(geth(), before);
  assert.equal(changes(), ['stop', 'start', 'stop', 'start']);
});

test('nothing is stopped for a wrong checksum, an older or broken program, a dry run, or a client that is not there', async () => {
  const before = geth();
  const refused = async (code: number, text: string, ...words: string[]) => {
    const ended = await upgrade(...words);
    assert.is(ended.code, code, ended.out + ended.err);
    assert.match(ended.err, text);
  };
  write(news, client('1.17.11'));
  await refused(2, '--sha256', '--program', news);
  await refused(2, 'and not 00', '--program', news, '--sha256', '0'.repeat(64));
  await refused(2, '--program is missing');
  await refused(2, 'cannot be combined', '--program', news, '--rollback');
  await refused(1, 'no upgrade was made', '--rollback');
  write(news, client('1.17.9'));
  await refused(1, '1.17.10 or later is wanted', '--program', news, '--without-checksum');
  write(news, 'exit 1');
  await refused(1, 'does not run', '--program', news, '--without-checksum');
  write(news, client('1.17.11'));
  const dry = await upgrade('--program', news, '--without-checksum', '--dry-run');
  assert.equal([dry.code, /would be upgraded/.test(dry.out)], [0, true]);
  const other = ['node', 'upgrade', 'ethereum', 'reth', ...places, '--program', news];
  assert.is((await runQuayside(other, { PATH })).code, 3);
  assert.equal([geth(), existsSync(log), existsSync(join(bin, 'geth.previous'))], [before, false, false]);
});

test.run();
