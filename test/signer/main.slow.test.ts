import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openSigner } from '../../src/signer/client.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { endAll } from '../support/processes.ts';
import { faultOf } from '../support/refusal.ts';
import { makeSignerPlace, type SignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, passphrase, refundOf, usdt } from '../support/temp-signer.ts';

const places: SignerPlace[] = [];
test.after(async () => {
  await endAll('SIGKILL');
  for (const place of places) place.remove();
});

function newPlace(): SignerPlace {
  const place = makeSignerPlace();
  places.push(place);
  return place;
}

const clientOf = ({ socket }: SignerPlace) => openSigner({ socket, timeoutMs: 20_000 });

const codeOf = (work: Promise<unknown>): Promise<string> => faultOf(work).then(({ kind, code }) => `${kind} ${code}`);

test('the signer signs, stops cleanly on SIGTERM, and returns the same bytes after the next start', async () => {
  const place = newPlace();
  const client = clientOf(place);
  assert.is(await codeOf(client.fence('test:one')), 'transient signer_unreachable');
  const first = startSigner(place.args);
  assert.ok(await first.ready, first.output());
  assert.equal([statSync(place.socket).mode & 0o777, statSync(place.dir).mode & 0o777], [0o600, 0o700]);
  const signed = await client.sign(firstOf(refundOf('rf_1', usdt(5)), 1));
  assert.is(await codeOf(client.sign(firstOf(refundOf('rf_2', usdt(5)), 1))), 'permanent signer_refused_nonce');

  const second = startSigner(place.args);
  assert.equal([await second.ready, (await second.ended).code], [false, 2], 'one signer per folder');
  assert.match(second.output(), 'signer_running');

  first.kill('SIGTERM');
  assert.equal(await first.ended, { code: 0, signal: null });
  assert.is(await codeOf(client.fence('test:one')), 'transient signer_unreachable');

  const third = startSigner(place.args);
  assert.ok(await third.ready, third.output());
  assert.equal(await client.sign(firstOf(refundOf('rf_1', usdt(5)), 1, { terms: { nonce: '9' } })), signed);
  const [entry] = await client.journal('test:one', 0, 10);
  assert.equal(
    { tx: entry?.tx, bytes: entry?.bytes, intent: entry?.intent },
    { tx: signed.tx, bytes: signed.bytes, intent: refundOf('rf_1', usdt(5)) },
  );
  // After a kill, the socket's file stays behind and does no harm.
  third.kill('SIGKILL');
  await third.ended;
  assert.ok(existsSync(place.socket));
  const fourth = startSigner(place.args);
  assert.ok(await fourth.ready, fourth.output());
  assert.equal(await client.sign(firstOf(refundOf('rf_1', usdt(5)), 1)), signed);
  await client.close();
  fourth.kill('SIGTERM');
  assert.equal(await fourth.ended, { code: 0, signal: null });
});

type Spoiled = Readonly<{
  what: string;
  code: string;
  spoil?: (place: SignerPlace) => void;
  env?: Record<string, string>;
}>;
const passphraseFile = ({ args }: SignerPlace) => args.at(-1)?.slice('file:'.length) ?? '';
const secretKeyFile = ({ args }: SignerPlace) => args[3] ?? '';
const spoiled: readonly Spoiled[] = [
  {
    what: 'a policy that others may read',
    code: 'policy_open',
    spoil: ({ dir }) => chmodSync(signerFiles(dir).policy, 0o644),
  },
  { what: 'a folder that others may open', code: 'signer_dir_open', spoil: ({ dir }) => chmodSync(dir, 0o711) },
  {
    what: 'a journal that is not a database of the signer',
    code: 'journal_foreign',
    spoil: ({ dir }) => writeFileSync(signerFiles(dir).journal, ''),
  },
  { what: 'no secret key', code: 'secret_key_invalid', spoil: (place) => rmSync(secretKeyFile(place)) },
  {
    what: 'a wrong passphrase',
    code: 'passphrase_wrong',
    spoil: (place) => writeFileSync(passphraseFile(place), 'incorrect horse'),
  },
  {
    what: 'a passphrase that others may read',
    code: 'unlock_impossible',
    spoil: (place) => chmodSync(passphraseFile(place), 0o604),
  },
  {
    what: 'a passphrase in the environment',
    code: 'secret_in_environment',
    env: { QUAYSIDE_SIGNER_PASSPHRASE: passphrase },
  },
  { what: 'an open debugger', code: 'debugger_open', env: { NODE_OPTIONS: '--inspect=127.0.0.1:0' } },
];

test('the signer does not start if something is wrong, and says what', async () => {
  const place = newPlace();
  const { keystore, policy, journal } = signerFiles(place.dir);
  const files = [keystore, policy, journal, passphraseFile(place), secretKeyFile(place)];
  const kept = files.map((file) => [file, readFileSync(file)] as const);
  for (const { what, code, spoil, env } of spoiled) {
    spoil?.(place);
    const signer = startSigner(place.args, env);
    assert.equal([await signer.ready, (await signer.ended).code], [false, 2], `${what}: ${signer.output()}`);
    assert.match(signer.output(), `"${code}"`, `${what}: ${signer.output()}`);
    assert.not.match(signer.output(), passphrase, what);
    for (const [file, bytes] of kept) {
      writeFileSync(file, bytes);
      chmodSync(file, 0o600);
    }
    chmodSync(place.dir, 0o700);
  }
});

test('no core dump contains its memory, and no signal opens a debugger', async () => {
  const place = newPlace();
  const signer = startSigner(place.args);
  assert.ok(await signer.ready, signer.output());
  assert.is(readFileSync(`/proc/${signer.pid}/coredump_filter`, 'utf8').trim(), '00000000');
  signer.kill('SIGUSR1');
  const client = clientOf(place);
  for (let at = 0; at < 5; at++) await client.fence('test:one');
  assert.not.match(signer.output(), 'Debugger');
  await client.close();
  signer.kill('SIGTERM');
  await signer.ended;
});

test.run();
