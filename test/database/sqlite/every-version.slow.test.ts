/**
 * An installation is opened as each earlier version left it, with a row in every table: nothing is lost, nothing that
 * was written changes, and it works.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent, SweepIntent } from '../../../src/core/intent.ts';
import { migrate } from '../../../src/database/sqlite/migrate.ts';
import { writeIntent } from '../../../src/database/sqlite/payouts/schema.ts';
import { installationFolder } from '../../../src/lib/installation.ts';
import { connectTo } from '../../support/temp-database.ts';

const own = join(installationFolder, 'src/database/sqlite/migrations');
const names = readdirSync(own).sort();
const PAR = '10000000000000000000';

const refund: RefundIntent = {
  ...{ kind: 'refund', id: 'rf_1', network: 'test:one', currency: 'USDT', to: 'bb', units: 5n, mac: 'c' },
};
const sweep: SweepIntent = {
  ...{ kind: 'sweep', id: 'sw_1', network: 'test:one', currency: 'USDT', from: [{ index: 0, units: 9n }] },
};

/** By migration, rows for the tables that it adds, in the columns that these tables have then. */
const rows: Readonly<Record<string, string>> = {
  '0001': `
    INSERT INTO meta VALUES ('kept', 'as it is');
    INSERT INTO networks (key, state, tip_hash, tip_number, tip_time_s, floor, read_through_s, updated_at_ms)
      VALUES ('test:one', 'following', 'h3', 3, 5000, 0, 5000, 5000000);
    INSERT INTO stores VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 'x', 0);
    INSERT INTO keys VALUES ('k1', 'm1', 'test', 'hash', 'x', 'abcd', '["sessions:read"]', 1, NULL);
    INSERT INTO nonces VALUES ('k1', 'nonce', 9000000);
    INSERT INTO endpoints (id, store_id, mode, url, extended_events, per_session, created_at_ms, removed)
      VALUES ('we_1', 'm1', 'test', 'https://shop.example/hook', '[]', 0, 2, 0);
    INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par,
        accepts, expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status,
        ended_at_s, paid_at_s, paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par, deadline_s)
      VALUES ('cs_1', 'm1', 'test', 'o1', 'b', '1000', 'USD', '${PAR}', '0', '["USDT"]', 6800, 100, 1000, 'hold', '[]',
        '["test:one"]', 4900000, 'paid', 5000, 5000, 0, 'full', 'confirmed', 1, 0, '0', '${PAR}', '0', NULL);
    UPDATE session_counts SET sessions = 1 WHERE status = 'paid';
    INSERT INTO pools (id, family, mode, source, current, next_index, taken) VALUES (1, 'evm', 'test', 'xpub', 1, 9, 1);
    INSERT INTO addresses VALUES (1, 1, 'evm', 'test', 'aa', 0, 'taken', 'cs_1'), (2, 1, 'evm', 'test', 'ab', 1, 'free', NULL);
    INSERT INTO blocks VALUES (3, 'test:one', 'h3', 'h2', 3, 5000, 1, 2);
    INSERT INTO transfers (id, block_id, network, tx, position, currency, from_key, address_id, units, decimals,
        confirmed, first_confirmed_at_ms)
      VALUES (1, 3, 'test:one', 't1', 0, 'USDT', 'ff', 1, '10000000', 6, 1, 5000000);
    INSERT INTO replays VALUES ('m1', 'test', '/create', 'idem', 'b', 'cs_1', 4900000);
    INSERT INTO events (id, store_id, session_id, type, body, created_at_ms)
      VALUES ('evt_1', 'm1', 'cs_1', 'payment.completed', '{}', 5000000);
    INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, next_attempt_at_ms, created_at_ms)
      VALUES ('whd_1', 'evt_1', 'we_1', 'waiting', 1, 5000001, 5000000);
    INSERT INTO attempts VALUES (1, 'whd_1', 1, 'auto', 5000000, 9, 500, 'HTTP 500', 'no');
    INSERT INTO alarms (id, at_ms, code, message, network, session_id)
      VALUES (1, 5000000, 'transfer_missed', 'look', 'test:one', 'cs_1');`,
  '0002': `
    INSERT INTO look_ups VALUES (1, 'cs_1', 'test:one', 'evm', 't9', 5000000, NULL, 'unknown');
    INSERT INTO page_settings (store_id, accent, embed_origins) VALUES ('m1', '#00ff00', '[]');`,
  '0003': `
    INSERT INTO refund_policies (store_id, refund_window_s, refund_daily_minor, refund_auto_minor,
        refund_cancel_window_s, refund_claim_s, refund_to_sender) VALUES ('m1', 1, 2, 3, 4, 5, 1);
    INSERT INTO refund_addresses VALUES ('cs_1', 'test:one', 'bb', 7);
    INSERT INTO refunds (id, store_id, mode, refund_id, session_id, body_hash, amount_minor, currency, network, units,
        destination, destination_from, mac, status, needs_approval, created_at_ms)
      VALUES ('rf_1', 'm1', 'test', 'own', 'cs_1', 'h', '450', 'USDT', 'test:one', '5', 'bb', 'payer', 'c',
        'processing', 0, 5);
    INSERT INTO refund_days VALUES ('m1', 'test', 3, '450');
    INSERT INTO receipt_numbers VALUES ('m1', 8);
    INSERT INTO payouts (id, kind, network, intent, session_id, state, not_before_ms, created_at_ms, updated_at_ms)
      VALUES ('rf_1', 'refund', 'test:one', '${writeIntent(refund)}', 'cs_1', 'sent', 7, 1, 2),
        ('sw_1', 'sweep', 'test:one', '${writeIntent(sweep)}', NULL, 'waiting', 7, 1, 2);
    INSERT INTO payout_attempts (payout_id, generation, attempt, network, payer, payer_role, nonce, terms,
        fee_units_max, tx, bytes, allotted_at_ms, signed_at_ms, sent_at_ms)
      VALUES ('rf_1', 0, 0, 'test:one', 'a', 'refund', 6, '{}', '9', 't2', x'01', 1, 2, 3);
    INSERT INTO lanes (network, payer, next_nonce) VALUES ('test:one', 'a', 7);
    INSERT INTO payout_engines (network, fence, journal_id, updated_at_ms) VALUES ('test:one', 4, 1, 5);
    INSERT INTO wallet_balances VALUES ('test:one', 'gas', 'a', '{}', '[]', 5);`,
  '0004': `INSERT INTO unswept_levels VALUES ('test:one', 'USDT', 1, '10000000', '0', 5);`,
  '0007': `INSERT INTO audit_log (at_ms, operator, command, target) VALUES (5, 'alice', 'networks rewind', 'test:one');`,
  '0011': `
    INSERT INTO held_money (id, session_id, kind, state, value_par, settled_par, currency, opened_at_ms)
      VALUES ('held_1', 'cs_1', 'surplus', 'open', '1', '0', 'USDT', 5);`,
  '0012': `INSERT INTO block_gaps VALUES (1, 'test:one', 1, 2, 'pruned', 5, NULL);`,
  '0021': `INSERT INTO payout_freezes VALUES ('test:one', 'by_hand', 'a look', 'alice', 5);`,
  '0023': `
    INSERT INTO own_wallets (network, role, key) VALUES ('test:one', 'refund', 'a');
    INSERT INTO outgoing_transfers (network, block_hash, block_number, tx, position, role, from_key, to_key, currency,
        units, state, seen_at_ms)
      VALUES ('test:one', 'h3', 3, 't2', 1, 'refund', 'a', 'bb', 'USDT', '5', 'known', 5);`,
  '0024': `INSERT INTO webhook_sender VALUES (1, '{}');`,
  '0027': `INSERT INTO wallet_books VALUES ('test:one', 'USDT', '95', NULL, 1);`,
  '0032': `
    INSERT INTO people (id, name, totp_step, failures, locked_until_ms, created_at_ms) VALUES ('p1', 'Ann', 0, 0, 0, 5);
    INSERT INTO memberships VALUES ('p1', 'm1', 'owner');
    INSERT INTO recovery_codes VALUES ('p1', 'h');
    INSERT INTO sign_in_links VALUES ('h', 'p1', 9000000);
    INSERT INTO web_sessions VALUES ('h', 'p1', 'a browser', '127.0.0.1', 5, 6);`,
  '0041': `
    INSERT INTO notice_targets (id, kind, name, address, severities, shows_details, zone, code, created_at_ms)
      VALUES ('nt_1', 'slack', 'ops', 'sealed', '["page"]', 0, 'UTC', 'sealed', 5);
    INSERT INTO notices (target_id, alarm_id, change, severity, created_at_ms, due_at_ms)
      VALUES ('nt_1', 1, 'opened', 'page', 5, 6);`,
  '0044': `INSERT INTO passkeys VALUES ('id', 'p1', 'Laptop', 'key', 3, 5, 6);`,
  '0045': `
    INSERT INTO archive_dictionaries VALUES (1, x'7b7d');
    INSERT INTO archived_sessions VALUES ('cs_0', 'm1', 'test', 'o0', 4000, 5000000, 0, 1, x'0300');`,
  '0047': `
    INSERT INTO payout_limits VALUES ('store:m1', '5000', NULL, NULL, 3, NULL);
    INSERT INTO payout_spends VALUES ('rf_1', 'test:one', 'm1', '450', 1);
    INSERT INTO payout_spend_steps VALUES ('network:test:one', 0, '450', 1), ('store:m1:test', 0, '450', 1);`,
  '0049': `
    INSERT INTO api_requests VALUES (1, 'm1', 'test', 'k1', 'req_1', 5, 'GET', '/api/v1/x', 404, 'route_not_found', 3);`,
  '0051': `INSERT INTO known_devices VALUES ('p1', 'h', 5, 0, 0);`,
  '0052': `
    INSERT INTO operations (id, network, wish, asked_by, asked_at_ms, state, tries)
      VALUES ('op_1', 'test:one', '{"kind":"sweep_plan"}', 'Mary', 5, 'requested', 0);`,
  '0059': `
    INSERT INTO mails (id, kind, person_id, created_at_ms, due_at_ms, tries) VALUES ('ml_1', 'account', 'p1', 5, 6, 0);`,
  '0063': `INSERT INTO payment_notes VALUES (1, 'cs_1', 5, 'Ann (dashboard)', 'call back');`,
  '0081': `INSERT INTO network_lags VALUES ('test:one', 5000000, 3);`,
  '0084': `INSERT INTO proofs VALUES (1, 'seed', 5000000, 1, 'Ann', 'the words give the seed 12345678');`,
};

/** What a later migration computes again from other rows, by table. */
const recomputed: Readonly<Record<string, readonly string[]>> = {
  delivery_queues: ['answered', 'rank', 'is_failing'],
};
const QUARTERS_OF_DAY = 96;
/** Tables that a later migration has replaced, and how their rows are read from the new one. */
const replaced: Readonly<Record<string, readonly [string, (row: Row) => Row]>> = {
  day_totals: [
    'quarter_totals',
    ({ store_id, mode, quarter, ...row }) => ({
      store_id,
      mode,
      day: Math.floor(Number(quarter) / QUARTERS_OF_DAY),
      ...row,
    }),
  ],
};
/** Later migrations may add tables without a row here, until somebody adds one of a migration after them. */
const rowsThrough = `${Object.keys(rows).sort().at(-1)}~`;
/** Not the installation's own. */
const passedOver = new Set(['migrations', 'sqlite_sequence']);

type Row = Record<string, unknown>;

/** Returns every table's rows, by its name. */
function contentOf(file: string): Map<string, Row[]> {
  const client = new Sqlite(file, { readonly: true });
  try {
    const tables = client.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    return new Map(
      tables
        .filter((name) => !passedOver.has(name))
        .map((name) => [name, client.prepare(`SELECT * FROM "${name}"`).all() as Row[]]),
    );
  } finally {
    client.close();
  }
}

/** Returns a row's columns that another row has too, as text. */
function shared(table: string, row: Row, columns: ReadonlySet<string>): string {
  const isKept = (name: string) => columns.has(name) && !recomputed[table]?.includes(name);
  return JSON.stringify(Object.entries(row).filter(([name]) => isKept(name)));
}

const folder = mkdtempSync(join(tmpdir(), 'quayside-version-'));
const [grown, file, backupDir, directory] = ['grown.db', 'quayside.db', 'backups', 'old'].map((one) =>
  join(folder, one),
) as [string, string, string, string];
mkdirSync(directory);
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Brings the growing installation to its next version, with rows in the tables that are new in it. */
function grow(name: string): void {
  copyFileSync(join(own, name), join(directory, name));
  migrate({ file: grown, backupDir, directory });
  const raw = new Sqlite(grown);
  raw.exec(rows[name.slice(0, 4)] ?? '');
  // All of it is in the file itself, which is copied.
  raw.pragma('wal_checkpoint(TRUNCATE)');
  raw.close();
}

for (const name of names) {
  test(`what the version with ${name} wrote is all there after all later migrations`, () => {
    grow(name);
    for (const side of ['', '-wal', '-shm']) rmSync(`${file}${side}`, { force: true });
    copyFileSync(grown, file);
    const before = contentOf(file);
    migrate({ file, backupDir });
    const after = contentOf(file);
    for (const [table, earlier] of before) {
      assert.ok(earlier.length > 0 || name > rowsThrough, `add a row for ${table} to this test`);
      const [newTable, read] = after.has(table) ? [table, (row: Row) => row] : (replaced[table] ?? [table, null]);
      assert.ok(read, `${table} is gone`);
      const now = (after.get(newTable) ?? []).map(read);
      const columns = new Set(Object.keys(now[0] ?? {}));
      const present = new Set(now.map((row) => shared(table, row, new Set(Object.keys(earlier[0] ?? {})))));
      for (const row of earlier)
        assert.ok(present.has(shared(table, row, columns)), `${table}: ${JSON.stringify(row)}`);
    }
    connectTo(file).close();
  });
}

test.run();
