import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../src/config/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-grace-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/60'/0'/0").publicExtendedKey;
const node = { url: 'ws://127.0.0.1:8546', xpub };

function gracesOf(networks: object): number[] {
  const file = join(folder, 'operator.json');
  writeFileSync(file, JSON.stringify({ networks }));
  const config = loadConfig({ env: { QUAYSIDE_CONFIG: file }, cwd: folder });
  return config.networks.map(({ inclusionGraceS }) => inclusionGraceS);
}

test('for how long after a deadline a block is in time follows from the block time', () => {
  assert.equal(gracesOf({ ethereum: node, bsc: node }), [36, 15]);
});

test.run();
