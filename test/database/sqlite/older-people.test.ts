/** Older installations: sessions are listed, people can be added, and those who were signed in stay so. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { withOlderDatabase } from '../../support/older-database.ts';

const SESSIONS = 120;
const rows = `
  INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s, late_policy,
      webhook_secret, created_at_ms) VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '', 0);
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SESSIONS})
    INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
        expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, ended_at_s,
        paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par)
      SELECT 'cs_' || substr('00000000000000000000000000' || i, -26), 'm1', iif(i % 2, 'live', 'test'), 'order ' || i, 'b',
        '1000', 'USD', '1', '0', '["USDT"]', 800, 100, 1000, 'hold', '[]', '[]', i, iif(i % 3, 'expired', 'canceled'), 900,
        0, 'none', 'none', 0, 0, '0', '0', '0' FROM n;`;

type Page = Awaited<ReturnType<Database['listSessions']>>;
const all = { storeId: 'm1', paidIn: null, fromMs: null, toMs: null };

test('no session is missing from the lists, and no other store or mode is in them', () =>
  withOlderDatabase('0017', rows, async (database) => {
    const seen: string[] = [];
    for (const mode of ['live', 'test'] as const) {
      let beforeId: string | null = null;
      for (;;) {
        const page: Page = await database.listSessions({ ...all, mode, status: null, beforeId, limit: 7 });
        assert.ok(page.sessions.every((session) => session.mode === mode));
        seen.push(...page.sessions.map(({ id }) => id));
        beforeId = page.goOnId;
        if (beforeId === null) break;
      }
      const canceled = await database.listSessions({ ...all, mode, status: 'canceled', beforeId: null, limit: 99 });
      assert.is(canceled.sessions.length, SESSIONS / 6);
    }
    assert.is(new Set(seen).size, SESSIONS);
    const found = await database.searchSessions(
      { kind: 'order', orderId: 'order 12' },
      { storeId: 'm1', mode: 'test', limit: 9 },
    );
    assert.equal(
      found.map(({ request }) => request.orderId),
      ['order 12', 'order 120'],
      'the whole id, then longer ones',
    );

    const act = { atMs: 1, operator: 'root', command: 'user create', reason: null };
    const membership = { role: 'owner', storeId: 'm1' } as const;
    assert.is(await database.addPerson({ id: 'usr_1', name: 'Ada', membership, createdAtMs: 1 }, act), true);
    assert.is(await database.addPerson({ id: 'usr_2', name: 'ADA', membership, createdAtMs: 1 }, act), false);
    assert.equal(
      (await database.listPeople()).map(({ name, memberships }) => [name, memberships]),
      [['Ada', [membership]]],
    );
  }));

const signedIn = `
  INSERT INTO people (id, name, totp_step, failures, locked_until_ms, created_at_ms) VALUES ('usr_1', 'Ada', 0, 0, 0, 1);
  INSERT INTO memberships (person_id, store_id, role) VALUES ('usr_1', NULL, 'operator');
  INSERT INTO web_sessions VALUES ('h', 'usr_1', 'A browser', '127.0.0.1', 5, 5);`;

test('who was signed in still is, and has to prove the second factor again', () =>
  withOlderDatabase('0038', signedIn, async (database) => {
    const found = await database.findWebSession('h', 10, { idleMs: 100, lifeMs: 100 });
    assert.is(found?.person.name, 'Ada');
    assert.is(found?.person.language, null);
    assert.is(found?.session.sudoUntilMs, 0);
    assert.match(found?.session.formToken ?? '', /^[0-9a-f]{64}$/);
  }));

test.run();
