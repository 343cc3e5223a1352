/**
 * The settings of scheduled backups.
 */
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openConfigs } from './operator-config.ts';

const { load, problems, close } = openConfigs();
test.after(close);

const account = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0");
const networks = { bsc: { url: 'ws://127.0.0.1:8546', xpub: account.publicExtendedKey } };
const folder = '/mnt/backups';

test('nothing is scheduled by default; paths are resolved from the data folder', () => {
  assert.equal(load({ networks }).backup, { nightly: null, scheduled: null, standby: null });
  const send = ['rclone', 'copyto', '{file}', 'remote:backups/{name}'];
  const backup = { nightly: '03:15', folder, passphrase_path: '/etc/passphrase', send, standby: ['cp', '{file}'] };
  assert.equal(load({ networks, backup }).backup, {
    nightly: '03:15',
    scheduled: {
      folder,
      passphraseFile: '/etc/passphrase',
      send,
    },
    standby: ['cp', '{file}'],
  });
});

test('a schedule without a folder or a passphrase, and a target that cannot be, are named', () => {
  const missing = 'null, expected a path: scheduled backups need a folder and a file with their passphrase';
  assert.equal(problems({ networks, backup: { nightly: '03:15' } }), [
    `backup.folder: ${missing}`,
    `backup.passphrase_path: ${missing}`,
  ]);
  const send = (target: unknown) => problems({ networks, backup: { folder, passphrase_path: folder, send: target } });
  for (const target of [[], [''], ['rcat', '{name}'], 'rclone', { kind: 's3' }])
    assert.is(send(target).length, 1, JSON.stringify(target));
});

test.run();
