/**
 * A running signer is backed up through its socket, and restored by the command into another folder:
 * also one whose journal is long, while it signs.
 */
import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { quaysideSigner } from '../support/built.ts';
import { endAll } from '../support/processes.ts';
import { makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, mnemonic, passphrase, refundOf, usdt } from '../support/temp-signer.ts';
import { LONG_NETWORK, lengthenJournal } from './long-journal.ts';

const home = mkdtempSync(join(tmpdir(), 'quayside-backup-'));
const place = makeSignerPlace();
test.after(async () => {
  await endAll('SIGKILL');
  place.remove();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the command with lines on standard input. */
async function run(words: readonly string[], lines: readonly string[] = []) {
  const child = spawn(process.execPath, [quaysideSigner, ...words], { cwd: home });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, ...said };
}

/** Enough for a backup that was refused when it was one text of at most 64 MiB. */
const ROWS = 150_000;
const MIB = 2 ** 20;

/** The most memory that a process has used, in bytes. */
const peakOf = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

test('a long journal is backed up in little memory while refunds are signed, and restored with all that it had', async () => {
  const { journal } = signerFiles(place.dir);
  lengthenJournal(journal, ROWS);
  assert.ok(statSync(journal).size > 128 * MIB);
  const signer = startSigner(place.args);
  assert.ok(await signer.ready, signer.output());
  const client = openSigner({ socket: place.socket, timeoutMs: 60_000 });
  let nonce = 10;
  const sign = () => client.sign(firstOf(refundOf(`rf_long_${++nonce}`, usdt(1)), nonce));
  await sign();
  const peak = peakOf(signer.pid);

  const file = join(home, 'long.backup');
  let isDone = false;
  const backup = pipeline(client.backup(), createWriteStream(file)).finally(() => {
    isDone = true;
  });
  let during = 0;
  while (!isDone && nonce < 150) {
    await sign();
    if (!isDone) during += 1;
  }
  await backup;
  assert.ok(during > 10, `${during} were signed while it was made`);
  const { size } = statSync(file);
  assert.ok(size > 48 * MIB, `${size} bytes`);
  const more = peakOf(signer.pid) - peak;
  assert.ok(more < 100 * MIB, `${more / MIB} MiB more`);

  // Killed within a backup, the signer leaves what it leaves when it is killed at any time.
  const others = readdirSync(place.dir).sort();
  const parts = client.backup();
  for (let bytes = 0; bytes < 4 * MIB; ) bytes += (await parts.next()).value?.length ?? Number.POSITIVE_INFINITY;
  assert.equal(readdirSync(place.dir).sort(), others);
  signer.kill('SIGKILL');
  await signer.ended;
  const ended = await (async () => {
    for await (const _ of parts);
  })().catch((error) => error.code);
  assert.is(ended, 'signer_unreachable');
  await client.close();
  const again = startSigner(place.args);
  assert.ok(await again.ready, again.output());
  again.kill('SIGTERM');
  await again.ended;
  const left = readdirSync(place.dir).filter((name) => !name.startsWith('signer.'));
  assert.equal(left.sort(), ['keystore.json', 'policy.json']);

  const dir = join(home, 'restored-long');
  const restored = await run(['restore', file, '--dir', dir], [mnemonic, passphrase]);
  assert.is(restored.code, 0, restored.err);
  const copy = new Sqlite(signerFiles(dir).journal);
  assert.equal(copy.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  const count = copy.prepare('SELECT count(*) FROM signatures WHERE network = ?').pluck();
  assert.is(count.get(LONG_NETWORK), ROWS);
  assert.ok(Number(count.get('test:one')) >= 2);
  copy.close();
});

test.run();
