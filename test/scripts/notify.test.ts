/** `quayside notify`: adding somebody who is informed about alarms, proving it, testing it, removing it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startMerchantServer } from '../support/merchant-server.ts';
import { makeInstallation, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-notify-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub } };
const webhooks = { allow_cidrs: ['127.0.0.0/8'] };
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks, webhooks }));
let status = 200;
const server = await startMerchantServer((response) => response.writeHead(status).end('said'));
test.after(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

makeInstallation({ QUAYSIDE_CONFIG: file });
const run = (...words: string[]) => runQuayside(['notify', ...words], { QUAYSIDE_CONFIG: file });
async function answer(...words: string[]) {
  const { code, out, err } = await run(...words, '--json');
  assert.is(code, 0, `${words.join(' ')}: ${err}`);
  return JSON.parse(out);
}
const secretFile = (text: string, mode = 0o600): string => {
  const path = join(folder, `secret-${Math.random()}`);
  writeFileSync(path, text, { mode });
  return path;
};
const url = () => `${server.origin}/services/T/B/xyz`;

test('a target is sent a code, tells nothing before it was typed, is tested, listed and removed', async () => {
  const added = await answer('add', 'slack', '--secret-file', secretFile(url()), '--severity', 'know');
  assert.equal(added.answer, { ok: true, status: 200, text: 'said' });
  const [request] = server.received;
  const [, code = ''] = /Your code is (\d{6})/.exec(JSON.parse(request?.body ?? '{}').text) ?? [];
  const wrong = await run('prove', added.id, code === '000000' ? '000001' : '000000');
  assert.is(wrong.code, 1);
  assert.match(wrong.err, /not the code/);
  assert.is((await answer('list'))[0].proved, false);
  const early = await run('test', added.id);
  assert.is(early.code, 1);
  assert.match(early.err, /notify prove/);
  assert.is(server.received.length, 1);
  assert.equal(await answer('prove', added.id, code), { id: added.id, proved: true });
  const [listed] = await answer('list');
  assert.equal([listed.kind, listed.proved, listed.severity], ['slack', true, 'know']);
  assert.not.match(JSON.stringify(listed), /xyz|\d{6}"/);

  assert.match((await run('list')).out, /slack +know +proved/);

  const tested = await answer('test', added.id);
  assert.equal([tested.ok, tested.status, tested.text], [true, 200, 'said']);
  status = 404;
  const failed = await run('test', added.id);
  status = 200;
  assert.is(failed.code, 1);
  assert.match(failed.out, /refused {2}404/);

  const whole = await runQuayside(['status'], { QUAYSIDE_CONFIG: file });
  assert.match(whole.out, 'informed about alarms: 1 proved');

  assert.equal(await answer('remove', added.id, '--dry-run'), { id: added.id, removed: false });
  assert.equal(await answer('remove', added.id, '--reason', 'left'), { id: added.id, removed: true });
  assert.equal(await answer('list'), []);
  assert.is((await run('prove', added.id, code)).code, 3);
  const { out } = await runQuayside(['audit', 'list', '--json'], { QUAYSIDE_CONFIG: file });
  const acts = JSON.parse(out).filter(({ target }: { target: string }) => target === added.id);
  assert.equal(
    acts.map(({ command }: { command: string }) => command),
    ['notify remove', 'notify prove', 'notify add'],
  );
  assert.not.match(out, /xyz/);
});

test('what is sealed cannot be read in the file, and a webhook’s secret is shown once', async () => {
  const added = await answer('add', 'webhook', '--secret-file', secretFile(`${server.origin}/only-here-4711`));
  assert.match(added.secret, /^whsec_/);
  const files = readdirSync(join(folder, 'data')).filter((name) => name.startsWith('quayside.db'));
  const bytes = files.map((name) => readFileSync(join(folder, 'data', name), 'latin1')).join('');
  assert.ok(bytes.includes(added.id));
  assert.not.match(bytes, /only-here-4711/);
  assert.not.ok(bytes.includes(added.secret));
  assert.not.match((await run('list')).out, /whsec_/);
  await answer('remove', added.id);
});

test('a dead-man URL is proved by its answer; nothing is saved that is refused, misspelt or open to others', async () => {
  const dead = await answer('add', 'dead-man', '--secret-file', secretFile(`${server.origin}/ping`));
  assert.is((await answer('list'))[0].proved, true);
  await answer('remove', dead.id);

  const refusals: readonly (readonly [string[], number, RegExp])[] = [
    [['add', 'pigeon'], 2, /no kind of target, expected email or telegram/],
    [['add', 'slack'], 2, /--secret-file is missing/],
    [['add', 'slack', '--secret-file', join(folder, 'none')], 3, /must hold the URL/],
    [['add', 'slack', '--secret-file', secretFile(url(), 0o644)], 2, /chmod 600/],
    [['add', 'telegram', '--secret-file', secretFile('no token'), '--to', '1'], 2, /telegram: .*token/],
    [['add', 'email', '--to', 'x', '--from', 'a@b.example', '--smtp', 'smtps://m.example'], 2, /email: .*to/],
    [['add', 'email', '--to', 'a@b.example', '--from', 'a@b.example', '--smtp', 'm.example'], 2, /expected smtps:/],
    [['add', 'slack', '--secret-file', secretFile(url()), '--severity', 'loud'], 2, /expected page or act or know/],
    [['add', 'slack', '--secret-file', secretFile('http://192.0.2.1/secret-4712')], 1, /not on the public Internet/],
    [['test', 'nt_none'], 3, /notify list/],
  ];
  for (const [words, code, message] of refusals) {
    const refused = await run(...words);
    assert.is(refused.code, code, `${words.join(' ')}: ${refused.err}`);
    assert.match(refused.err, message);
    assert.not.match(refused.err, /secret-4712|no token"/);
  }
  const dry = await answer('add', 'slack', '--secret-file', secretFile(url()), '--dry-run');
  assert.is(dry.dry_run, true);
  assert.equal(await answer('list'), []);
});

test.run();
