/** Notices of an installation from before there was news: none is lost, and its targets are told no payments. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withOlderDatabase } from '../../support/older-database.ts';

const before = `
  INSERT INTO notice_targets (id, kind, name, address, severities, shows_details, zone, code, created_at_ms, proved_at_ms)
    VALUES ('nt_1', 'slack', 'ops', 'sealed', '["page","know"]', 1, 'UTC', 'sealed', 5, 6);
  INSERT INTO alarms (id, at_ms, code, message, key) VALUES (3, 1, 'wallet_low', 'why', 'wallet:a'), (4, 2, 'rates_stale', 'x', 'rates');
  INSERT INTO notices (id, target_id, alarm_id, change, severity, times, tries, created_at_ms, due_at_ms, sent_at_ms)
    VALUES (7, 'nt_1', 3, 'opened', 'act', 2, 1, 5, 90, 60), (8, 'nt_1', 3, 'ended', 'act', 0, 0, 6, NULL, NULL),
      (9, 'nt_1', 4, 'opened', 'know', 0, 0, 6, 95, NULL);`;

test('older notices are told as before, once each, and news is written beside them', () =>
  withOlderDatabase('0082', before, async (database, _reopen, file) => {
    const [target] = await database.listNoticeTargets();
    assert.equal([target?.payments, target?.showsDetails, target?.waiting], [false, true, 2]);
    const due = await database.dueNotices('nt_1', 100, 9);
    const alarm = { network: null, change: 'opened', count: 1 };
    assert.equal(due, [
      {
        ...alarm,
        id: 7,
        alarmId: 3,
        code: 'wallet_low',
        message: 'why',
        severity: 'act',
        times: 2,
        tries: 1,
        createdAtMs: 5,
      },
      {
        ...alarm,
        id: 9,
        alarmId: 4,
        code: 'rates_stale',
        message: 'x',
        severity: 'know',
        times: 0,
        tries: 0,
        createdAtMs: 6,
      },
    ]);
    const raw = new Sqlite(file);
    assert.equal(raw.prepare('SELECT id, news, count, due_at_ms, sent_at_ms FROM notices WHERE id = 8').get(), {
      id: 8,
      news: null,
      count: 1,
      due_at_ms: null,
      sent_at_ms: null,
    });
    const again = raw.prepare(
      "INSERT INTO notices (target_id, alarm_id, change, severity, created_at_ms) VALUES ('nt_1', 3, 'opened', 'act', 1)",
    );
    assert.throws(() => again.run(), /UNIQUE/);
    raw.close();
    const act = { atMs: 100, operator: 'ann', command: 'user create', reason: null };
    const membership = { role: 'operator', storeId: null } as const;
    await database.addPerson({ id: 'usr_1', name: 'Ada', membership, createdAtMs: 1 }, act);
    await database.settleNotices('nt_1', due, { kind: 'sent' }, 100);
    const [news, ...more] = await database.dueNotices('nt_1', 1_000_000, 9);
    assert.equal([news && 'kind' in news && news.kind, more], ['operator_added', []]);
  }));

test.run();
