/** A running signer is backed up through its socket by the command, and restored by the command into another folder. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { quayside } from '../support/built.ts';
import { endSigners, makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, mnemonic, passphrase, refundOf, usdt } from '../support/temp-signer.ts';

const home = mkdtempSync(join(tmpdir(), 'quayside-backup-'));
const place = makeSignerPlace();
test.after(() => {
  endSigners();
  place.remove();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the command with lines on standard input. */
async function run(words: readonly string[], lines: readonly string[] = []) {
  const child = spawn(process.execPath, [quayside, ...words], { cwd: home });
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

test('backup and restore over real processes: nothing is signed twice, and nothing before the journal is adopted', async () => {
  const first = startSigner(place.args);
  assert.ok(await first.ready, first.output());
  const client = openSigner({ socket: place.socket, timeoutMs: 20_000 });
  const signed = await client.sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  const { code, out, err } = await run(['signer', 'backup', '--dir', place.dir]);
  assert.is(code, 0, err);
  await client.close();
  first.kill('SIGTERM');
  await first.ended;
  const silent = await run(['signer', 'backup', '--dir', place.dir]);
  assert.equal([silent.code, silent.out], [1, '']);
  assert.match(silent.err, 'Check that it runs and is unlocked');

  const [file, dir] = [join(home, 'signer.backup'), join(home, 'restored')];
  writeFileSync(file, out);
  const words = ['signer', 'restore', file, '--dir', dir];
  const wrong = await run(words, [`${'abandon '.repeat(11)}about`, passphrase]);
  assert.is(wrong.code, 1);
  assert.match(wrong.err, 'this is a backup of the signer');
  const restored = await run(words, [mnemonic, passphrase]);
  assert.is(restored.code, 0, restored.err);
  assert.match(restored.out, 'quayside payouts adopt <network>');
  const again = await run(words, [mnemonic, passphrase]);
  assert.match(again.err, 'already contains');

  const second = startSigner(place.args.map((word) => (word === place.dir ? dir : word)));
  assert.ok(await second.ready, second.output());
  const other = openSigner({ socket: signerFiles(dir).socket, timeoutMs: 20_000 });
  const refusal = await other.sign(firstOf(refundOf('rf_2', usdt(5)), 2)).catch(({ message }) => message);
  assert.match(refusal, 'quayside payouts adopt');
  const [entry] = await other.journal('test:one', 0, 10);
  assert.equal([entry?.tx, entry?.intent], [signed.tx, refundOf('rf_1', usdt(5))]);
  const fence = (await other.fence('test:one')) + 1;
  assert.equal(await other.sign(firstOf(refundOf('rf_1', usdt(5)), 1, { fence })), signed);
  await other.close();
});

test.run();
