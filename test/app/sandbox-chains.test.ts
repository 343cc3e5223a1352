/** A database without the simulated chains that it has followed does not start. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { refuseLostChains } from '../../src/app/sandbox-credentials.ts';
import { loadConfig } from '../../src/config/config.ts';
import { migrate } from '../../src/database/engine/migrate.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'quayside-chains-'));
test.after(() => rmSync(dataDir, { recursive: true, force: true }));
const config = loadConfig({ env: { QUAYSIDE_DATA_DIR: dataDir }, cwd: dataDir, beforeSandbox: true });

test('only the chain of a network that was read is missed', () => {
  refuseLostChains(config);
  const file = databaseFile(dataDir);
  migrate({ file, backupDir: null });
  refuseLostChains(config);
  const client = new Sqlite(file);
  const add = client.prepare(
    `INSERT INTO networks (key, number, state, tip_hash, tip_number, tip_time_s, updated_at_ms)
     VALUES (?, ?, 'following', ?, ?, ?, 0)`,
  );
  add.run('test:tron', 1, '0x01', 7, 1);
  add.run('test:bsc', 2, null, null, null);
  client.close();
  assert.throws(
    () => refuseLostChains(config),
    /simulated chains of tron, which are not in .*sandbox\. .*QUAYSIDE_DATA_DIR/,
  );
  mkdirSync(join(dataDir, 'sandbox'));
  writeFileSync(join(dataDir, 'sandbox', 'seed'), '');
  assert.throws(() => refuseLostChains(config), /simulated chains of tron/);
  writeFileSync(join(dataDir, 'sandbox', 'tron.jsonl'), '');
  refuseLostChains(config);
  const real = config.networks.map((network) => ({ ...network, sandbox: false }));
  rmSync(join(dataDir, 'sandbox'), { recursive: true });
  refuseLostChains({ dataDir, networks: real });
});

test.run();
