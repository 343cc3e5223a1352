/** Deliveries of an earlier version: none is lost, and however many wait, each claim is fair to the others. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { createVault } from '../../../src/database/sqlite/vault.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { recordAttempt } from '../../support/record-attempt.ts';
import { dataKeysOf } from '../../support/secret-keys.ts';

const secret = createVault(dataKeysOf(new Uint8Array(32).fill(7))).seal('whsec_old', 'store m1, webhook secret');
const NOW_MS = 1_800_000_000_000;

const session = (id: string): string => `
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, ended_at_s,
      paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par)
    VALUES ('${id}', 'm1', 'test', '${id}', 'b', '1000', 'USD', '1', '0', '["USDT"]', 800, 100, 1000, 'hold', '[]', '[]',
      0, 'expired', 900, 0, 'none', 'none', 0, 0, '0', '0', '0');`;
const endpoint = (id: string, url: string, perSession = 0, disabledAtMs: number | null = null): string => `
  INSERT INTO endpoints VALUES ('${id}', 'm1', 'test', '${url}', '[]', ${perSession}, ${disabledAtMs ?? 'NULL'}, NULL, 0, 0);`;
/** `count` deliveries of one session, numbered from `first` on, untried and due since the first millisecond. */
const waiting = (endpointId: string, sessionId: string, first: number, count: number): string => `
  WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})
    INSERT INTO events SELECT 'evt_' || (1000000 + i), 'm1', '${sessionId}', 'payment.expired', '{"n":' || i || '}', i FROM n;
  INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, next_attempt_at_ms, created_at_ms)
    SELECT 'dlv_' || id, id, '${endpointId}', 'waiting', 0, created_at_ms, created_at_ms FROM events
    WHERE session_id = '${sessionId}';`;

/** An older installation, with these rows beside a store. */
const inOlder = (rows: readonly string[], work: (database: Database) => Promise<void>) => () =>
  withOlderDatabase(
    '0017',
    `INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s,
        late_policy, webhook_secret, created_at_ms)
      VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '${secret}', 0);
    ${rows.join('\n')}`,
    work,
  );

const claim = (database: Database, limit: number, nowMs = NOW_MS) =>
  database.claimDeliveries({ nowMs, leaseMs: 60_000, limit, perEndpointMax: 4 });

test(
  'waiting deliveries are due after the migration, those of a disabled endpoint once it is enabled',
  inOlder(
    [
      endpoint('on', 'https://Shop.example:8443?all'),
      endpoint('off', 'https://shop.example/off', 0, 5),
      endpoint('own', 'https://shop.example#x', 1),
      ...['cs_1', 'cs_2', 'cs_3'].map(session),
      waiting('on', 'cs_1', 1, 2),
      waiting('off', 'cs_2', 3, 2),
      waiting('own', 'cs_3', 5, 1),
      "UPDATE deliveries SET attempts = 1, next_attempt_at_ms = 700 WHERE id = 'dlv_evt_1000001'",
    ],
    async (database) => {
      const deliver = async () => {
        const claimed = await claim(database, 9);
        for (const { id: deliveryId, attempt, trigger } of claimed) {
          const went = { startedAtMs: NOW_MS, durationMs: 1, status: 200, error: null, responseExcerpt: null };
          await recordAttempt(database, { deliveryId, attempt, trigger, ...went }, { kind: 'delivered' });
        }
        return claimed.map(({ body, attempt }) => `${body}#${attempt}`);
      };
      assert.equal(await deliver(), ['{"n":1}#2', '{"n":5}#1']);
      assert.equal(await deliver(), ['{"n":2}#1']);
      assert.equal(await deliver(), []);
      await database.enableEndpoint('off', true, null, NOW_MS);
      assert.equal(await deliver(), ['{"n":3}#1']);
      assert.equal(await deliver(), ['{"n":4}#1']);
      assert.is((await database.stats(NOW_MS)).deliveriesWaiting, 0);
      assert.is(await database.readSenderReport(), null);
    },
  ),
);

test(
  'however many events of one session are due, those of another session are sent in the same claim',
  inOlder(
    [
      endpoint('e1', 'https://shop.example/'),
      ...['cs_dust', 'cs_other'].map(session),
      waiting('e1', 'cs_dust', 1, 1_500),
      waiting('e1', 'cs_other', 1_501, 1),
    ],
    async (database) => {
      const claimed = await claim(database, 32);
      assert.equal(
        claimed.map(({ sessionId, body }) => [sessionId, body]),
        [
          ['cs_dust', '{"n":1}'],
          ['cs_other', '{"n":1501}'],
        ],
      );
    },
  ),
);

test(
  'five thousand endpoints of single sessions on one host do not come before another host',
  inOlder(
    [
      endpoint('e1', 'https://healthy.example/'),
      session('cs_0'),
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO endpoints
           SELECT 'one' || i, 'm1', 'test', 'https://dead.example/' || i, '[]', 1, NULL, NULL, 0, 0 FROM n;`,
      "INSERT INTO events VALUES ('evt_1', 'm1', 'cs_0', 'payment.expired', '{}', 1);",
      `INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, next_attempt_at_ms, created_at_ms)
         SELECT 'dlv_' || id, 'evt_1', id, 'waiting', 0, 1, 1 FROM endpoints WHERE per_session = 1;`,
      session('cs_healthy'),
      waiting('e1', 'cs_healthy', 10, 1),
    ],
    async (database) => {
      const claimed = await claim(database, 32);
      assert.is(claimed.length, 5);
      assert.ok(claimed.some(({ endpointId }) => endpointId === 'e1'));
      assert.equal(await claim(database, 32), []);
    },
  ),
);

test('queues of an installation from before ranks are claimed as before', () =>
  withOlderDatabase(
    '0028',
    `INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s,
        late_policy, created_at_ms) VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 0);
    INSERT INTO webhook_secrets (owner, mode, secret) VALUES ('m1', 'test', '');
    INSERT INTO endpoints (id, store_id, mode, url, extended_events, per_session, created_at_ms, removed, host)
      VALUES ('we_1', 'm1', 'test', 'https://a.example/', '[]', 0, 0, 0, 'a.example'),
        ('we_2', 'm1', 'test', 'https://b.example/1', '[]', 1, 0, 0, 'b.example');
    ${session('cs_1')}
    INSERT INTO events (id, store_id, session_id, type, body, created_at_ms)
      VALUES ('evt_1', 'm1', 'cs_1', 'payment.expired', '{}', 0);
    INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, next_attempt_at_ms, created_at_ms, session_id)
      VALUES ('d1', 'evt_1', 'we_1', 'waiting', 0, 0, 0, 'cs_1'), ('d2', 'evt_1', 'we_2', 'waiting', 0, 0, 0, 'cs_1');
    INSERT INTO delivery_lines (endpoint_id, session_id, queue, host, ready_at_ms)
      VALUES ('we_1', 'cs_1', 'we_1', 'a.example', 0), ('we_2', 'cs_1', 'b.example', 'b.example', 0);
    INSERT INTO delivery_queues (queue, host, ready_at_ms, silences)
      VALUES ('we_1', 'a.example', 0, 0), ('b.example', 'b.example', 0, 7);`,
    async (database) => {
      const claims = async (unprovenMax: number) =>
        (
          await database.claimDeliveries({ nowMs: NOW_MS, leaseMs: 1_000, limit: 9, perEndpointMax: 4, unprovenMax })
        ).map(({ id }) => id);
      assert.equal(await claims(0), ['d1'], 'a standing endpoint counts as one that has answered');
      assert.equal(await claims(1), ['d2']);
      const { unanswered } = await database.webhookTrouble(NOW_MS, NOW_MS);
      assert.equal(
        unanswered.map(({ host }) => host),
        ['b.example'],
      );
    },
  ));

test('URLs of single sessions from before retirement are retired by their last event, and what was refused is tried', () =>
  withOlderDatabase(
    '0030',
    `INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s,
        late_policy, created_at_ms) VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', 0);
    INSERT INTO webhook_secrets (owner, mode, secret) VALUES ('m1', 'test', '');
    INSERT INTO endpoints (id, store_id, mode, url, extended_events, per_session, created_at_ms, removed, host)
      VALUES ('we_1', 'm1', 'test', 'https://a.example/', '[]', 0, 0, 0, 'a.example'),
        ('we_2', 'm1', 'test', 'https://b.example/1', '[]', 1, 0, 0, 'b.example'),
        ('we_3', 'm1', 'test', 'https://b.example/2', '[]', 1, 0, 0, 'b.example');
    ${session('cs_1')}
    INSERT INTO events (id, store_id, session_id, type, body, created_at_ms)
      VALUES ('evt_${NOW_MS}000000', 'm1', 'cs_1', 'payment.expired', '{}', ${NOW_MS});
    INSERT INTO deliveries (id, event_id, endpoint_id, state, attempts, created_at_ms, session_id, last_status)
      VALUES ('d1', 'evt_${NOW_MS}000000', 'we_1', 'failed', 1, ${NOW_MS}, 'cs_1', 403),
        ('d2', 'evt_${NOW_MS}000000', 'we_2', 'delivered', 1, ${NOW_MS}, 'cs_1', 200);`,
    async (database) => {
      const laterMs = NOW_MS + 3_600_000;
      assert.is(await database.retireEndpoints(laterMs, 86_400_000), 1);
      assert.equal(
        (await database.listEndpoints(null)).map(({ id }) => id),
        ['we_1', 'we_2'],
      );
      assert.is((await database.endpointHealth('we_3'))?.retiredAtMs, laterMs);
      const deliveries = await database.listDeliveries({ limit: 9 });
      assert.equal(deliveries.map(({ id, state }) => `${id} ${state}`).sort(), ['d1 failed', 'd2 delivered']);
      assert.equal(
        (await claim(database, 9, Math.max(Date.now(), laterMs))).map(({ id, attempt }) => `${id}#${attempt}`),
        ['d1#2'],
      );
    },
  ));

test.run();
