/** The migrations on a copy of what an earlier version left. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tryMigrations } from '../../../src/app/upgrade/trial.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { currentVersion, migrate, readSchemaVersion } from '../../../src/database/sqlite/migrate.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { installationFolder } from '../../../src/lib/installation.ts';
import { databaseFile, readSecretKeys } from '../../../src/lib/secret-key.ts';

const own = join(installationFolder, 'src/database/sqlite/migrations');
const folder = mkdtempSync(join(tmpdir(), 'quayside-trial-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const env = {};

const OLD = 43;
/** A credited payment, with the sum of its day. */
const rows = `
  INSERT INTO networks (key, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
    VALUES ('test:one', 'following', 'h3', 3, 5000, 0, 5000, 5000000);
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy, created_at_ms)
    VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 0);
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par,
      accepts, expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status,
      ended_at_s, paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s)
    VALUES ('cs_1', 'm1', 'test', 'o1', 'b', '1000', 'USD', '5', '0', '["USDT"]', 6800, 100, 1000, 'hold', '[]',
      '["test:one"]', 4900000, 'paid', 5000, 5000, 0, 'full', 'confirmed', 1, 0, '0', '5', '0', NULL);
  UPDATE session_counts SET sessions = 1 WHERE status = 'paid';
  INSERT INTO pools (id, family, mode, source, current, next_index, taken) VALUES (1, 'evm', 'test', 'xpub', 1, 9, 1);
  INSERT INTO addresses (id, pool_id, family, mode, key, derivation_index, state, session_id)
    VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_1');
  INSERT INTO blocks VALUES (3, 'test:one', 'h3', 'h2', 3, 5000, 1, 2);
  INSERT INTO transfers (id, block_id, network, tx, position, currency, from_key, address_id, units, decimals, confirmed,
      first_confirmed_at_ms, phase)
    VALUES (1, 3, 'test:one', 't1', 0, 'USDT', 'ff', 1, '5', 18, 1, 5000000, 'in_time');
  INSERT INTO ledger_entries VALUES (1, 'payment', '1', 0, 5000000);
  INSERT INTO ledger_postings VALUES (1, 'collected', '', 'test:one', 'USDT', '5'), (1, 'received', 'cs_1', 'test:one', 'USDT', '-5');
  INSERT INTO session_assets VALUES ('m1', 'test:one', 'USDT', 'cs_1');
  INSERT INTO day_totals VALUES ('m1', 'test', 0, 'test:one', 'USDT', 1, '5', 0, '0');`;

test('a table that a migration has replaced by another one counts as kept', async () => {
  const config = {
    ...loadConfig({ env: { QUAYSIDE_DATA_DIR: folder }, cwd: folder, beforeSandbox: true }),
    dataDir: folder,
  };
  readSecretKeys(folder, env);
  const file = databaseFile(folder);
  const directory = join(folder, 'old');
  mkdirSync(directory);
  for (const name of readdirSync(own))
    if (Number(name.slice(0, 4)) <= OLD) copyFileSync(join(own, name), join(directory, name));
  migrate({ file, backupDir: null, directory });
  const client = new Sqlite(file);
  client.exec(rows);
  client.close();
  const { from, to, applied, problems } = await tryMigrations(config, env, systemClock.nowMs(), async () => {});
  assert.equal([from, to, applied.length], [OLD, currentVersion(), currentVersion() - OLD]);
  assert.equal(problems, []);
  assert.is(readSchemaVersion(file), OLD, 'the database itself is left alone');
  assert.equal(
    readdirSync(folder).filter((name) => name.startsWith('testing-')),
    [],
  );
});

test.run();
