/**
 * The freeze of a running signer by an operator, and its end by an approver on a machine without an installation.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSigner } from '../../src/signer/client.ts';
import { createOperatorKey } from '../../src/signer/operator-key.ts';
import { quayside, quaysideSigner } from '../support/built.ts';
import { endAll } from '../support/processes.ts';
import { makeSignerPlace, type SignerProcess, startSigner } from '../support/signer-process.ts';
import { firstOf, passphrase, policySettings, refundOf, usdt } from '../support/temp-signer.ts';
import { runTyped } from '../support/typed-program.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-signer-freeze-'));
/** The approver's machine: no configuration, no data. */
const away = join(dir, 'away');
mkdirSync(away);
const key = join(away, 'anna.key');
const approver = createOperatorKey(key, Buffer.from(passphrase));
const place = makeSignerPlace({ ...policySettings, approvers: [{ name: 'Anna', key: approver }] });
const config = join(dir, 'quayside.json');
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
writeFileSync(
  config,
  JSON.stringify({
    data_dir: 'data',
    signer: { dir: place.dir, unlock: 'external' },
    networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } },
  }),
);
let signer: SignerProcess;
const client = openSigner({ socket: place.socket, timeoutMs: 30_000 });

test.before(async () => {
  assert.is((await run(['store', 'add', 'Shop'], [], false, quayside)).code, 0);
  await start();
});
test.after(async () => {
  await client.close();
  await endAll('SIGKILL');
  place.remove();
  rmSync(dir, { recursive: true, force: true });
});

async function start() {
  signer = startSigner(place.args);
  assert.ok(await signer.ready, signer.output());
}

/** Runs the command with lines on standard input. */
const run = (words: readonly string[], lines: readonly string[] = [], isAway = false, program = quaysideSigner) =>
  runTyped(
    [program, ...words],
    lines,
    isAway ? { cwd: away, variables: {} } : { cwd: dir, variables: { QUAYSIDE_CONFIG: config } },
  );

const freeze = (reason: string) => run(['payout', 'freeze', '--reason', reason], [], false, quayside);

const ask = (id: string, nonce: number) =>
  client.sign(firstOf(refundOf(id, usdt(5)), nonce)).then(
    () => 'signed',
    (error) => error.code,
  );

test('a freeze stops the running signer, and names who ends it', async () => {
  assert.is((await run(['thaw'])).code, 1);
  assert.is(await ask('rf_1', 1), 'signed');
  const frozen = await freeze('a key was lost');
  assert.is(frozen.code, 0, frozen.stderr);
  assert.match(frozen.stdout, /a key was lost \(freeze 1\)[\s\S]*\(Anna\)/);
  assert.equal([await ask('rf_1', 1), await ask('rf_2', 2)], ['signer_refused_frozen', 'signer_refused_frozen']);
});

test('an approver signs elsewhere what is shown, and only that freeze ends by it', async () => {
  const request = await run(['thaw']);
  assert.is(request.code, 0, request.stderr);
  writeFileSync(join(away, 'thaw.json'), request.stdout);
  const approve = (lines: readonly string[]) => run(['approve', 'thaw.json', '--key', key], lines, true);
  assert.is((await approve(['no', passphrase])).code, 1);
  assert.is((await approve(['yes', 'a wrong passphrase'])).code, 1);
  const approved = await approve(['yes', passphrase]);
  assert.is(approved.code, 0, approved.stderr);
  assert.match(approved.stderr, /freeze: 1, [0-9a-f]{32}\n.*\n {2}reason: a key was lost\n/);
  const file = join(dir, 'thawed.json');
  writeFileSync(file, approved.stdout);
  const thaw = () => run(['thaw', '--approval', file, '--json']);
  const thawed = await thaw();
  assert.is(thawed.code, 0, thawed.stdout);
  assert.is(JSON.parse(thawed.stdout).approver, approver);
  assert.is(await ask('rf_2', 2), 'signed');
  await freeze('again');
  const replayed = await thaw();
  assert.equal([replayed.code, JSON.parse(replayed.stdout).error.code], [1, 'signer_refused_approval']);
  assert.is(await ask('rf_3', 3), 'signer_refused_frozen');
});

test('a request that is not in its form is signed by nobody', async () => {
  const file = join(away, 'odd.json');
  for (const text of ['', '{}', '{"request":"quayside signer thaw v1","fingerprint":"5436d724","freeze":null}']) {
    writeFileSync(file, text);
    const { code, stderr, stdout } = await run(['approve', file, '--key', key, '--json'], ['yes', passphrase], true);
    assert.equal([code, JSON.parse(stdout).error.code], [1, 'approval_file_invalid'], stderr);
  }
});

test('`payout freeze` reaches the signer, and says so where it does not; `doctor` says what is left', async () => {
  const frozen = await run(['payout', 'freeze', '--reason', 'theft', '--json'], [], false, quayside);
  assert.equal([frozen.code, JSON.parse(frozen.stdout).signer_frozen], [0, true], frozen.stderr);
  assert.is((await run(['payout', 'thaw', '--reason', 'found'], [], false, quayside)).code, 0);
  const state = await run(['doctor', '--without-nodes'], [], false, quayside);
  assert.match(state.stdout, /✗ signer: frozen by .+: again/);
  signer.kill('SIGTERM');
  await signer.ended;
  const lonely = await freeze('theft');
  assert.is(lonely.code, 1);
  assert.match(lonely.stdout, /Money out is frozen on every network[\s\S]*the signer was NOT frozen/);
});

test.run();
