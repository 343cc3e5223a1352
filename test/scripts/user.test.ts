/** `quayside user` on an installation: who is added, which link is printed, and what the audit log keeps of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeInstallation, runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-user-'));
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
writeFileSync(
  file,
  JSON.stringify({
    data_dir: 'data',
    dashboard_url: 'https://quayside.shop.example',
    networks: { sepolia: { url: 'ws://127.0.0.1:1', xpub } },
  }),
);
makeInstallation({ QUAYSIDE_CONFIG: file });
const run = (...words: string[]) => runQuayside(words, { QUAYSIDE_CONFIG: file });
test.after(() => rmSync(folder, { recursive: true, force: true }));

async function answer(...words: string[]) {
  const { code, out, err } = await run(...words, '--json');
  assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
  return JSON.parse(out);
}

test('a person is created with a link of the configured address, reset, given a role, listed and removed', async () => {
  const first = await answer('user', 'create', 'Ada');
  assert.match(first.link, /^https:\/\/quayside\.shop\.example\/link\/[\w-]{43}$/);
  const taken = await run('user', 'create', 'ada');
  assert.is(taken.code, 2);
  assert.match(taken.err, 'quayside user list');
  const second = await answer('user', 'reset', 'ada', '--reason', 'lost phone');
  assert.not.equal(second.link, first.link);
  const store = await answer('store', 'add', 'Shop');
  await answer('user', 'role', 'Ada', '--role', 'owner');
  const [ada] = await answer('user', 'list');
  assert.equal(ada.roles, [
    { role: 'operator', store: null },
    { role: 'owner', store: store.id },
  ]);
  assert.is(ada.ready, false);
  await answer('user', 'remove', 'Ada');
  assert.is((await run('user', 'reset', 'Ada')).code, 3);
  assert.match((await run('user', 'list')).out, 'removed');
  const entries: { command: string; target: string; reason: string | null }[] = await answer('audit', 'list');
  const own = entries.filter(({ target }) => target === ada.id).map(({ command, reason }) => [command, reason]);
  assert.equal(own, [
    ['user remove', null],
    ['user role', null],
    ['user reset', 'lost phone'],
    ['user create', null],
    ['user create', null],
  ]);
});

test('names, roles and stores that are wrong are refused with what to do', async () => {
  for (const [words, says] of [
    [['user', 'create', '  '], /is no name/],
    [['user', 'create', 'Eve', '--role', 'root'], /expected operator or owner/],
    [['user', 'reset', 'Nobody'], /quayside user list/],
  ] as const) {
    const { code, err } = await run(...words);
    assert.ok(code === 2 || code === 3);
    assert.match(err, says);
  }
});

test.run();
