/** Events of an earlier version: none is lost or changed, and each gets the mode of its session. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { createVault } from '../../../src/database/sqlite/vault.ts';
import { withOlderDatabase } from '../../support/older-database.ts';
import { dataKeysOf } from '../../support/secret-keys.ts';

const secret = createVault(dataKeysOf(new Uint8Array(32).fill(7))).seal('whsec_old', 'store m1, webhook secret');

const session = (id: string, mode: string): string => `
  INSERT INTO sessions (id, store_id, mode, order_id, body_hash, amount_minor, currency, due_par, tolerance_par, accepts,
      expires_at_s, top_up_grace_s, monitoring_s, late_policy, options, networks, created_at_ms, status, ended_at_s,
      paid_late, funded, firm, touched, late, seen_par, confirmed_par, late_par)
    VALUES ('${id}', 'm1', '${mode}', '${id}', 'b', '1000', 'USD', '1', '0', '["USDT"]', 800, 100, 1000, 'hold', '[]', '[]',
      0, 'expired', 900, 0, 'none', 'none', 0, 0, '0', '0', '0');`;
const events = (sessionId: string, first: number, count: number): string => `
  WITH RECURSIVE n (i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})
    INSERT INTO events (id, store_id, session_id, type, body, created_at_ms)
      SELECT 'evt_' || (1000000000000000000 + i), 'm1', '${sessionId}', 'payment.expired', '{"n":' || i || '}', i FROM n;`;
const PER_SESSION = 1500;

const idsOf = async (database: Database, mode: 'live' | 'test') => {
  const found = await database.listEvents({
    storeId: 'm1',
    mode,
    fromId: 'evt_',
    beforeId: 'evt_9',
    first: 'oldest',
    limit: 10_000,
  });
  for (const event of found) assert.is(event.mode, mode);
  return found.map(({ body }) => JSON.parse(body).n);
};
const numbers = (first: number) => Array.from({ length: PER_SESSION }, (_, at) => first + at);

test('each event is found under the mode of its session', () =>
  withOlderDatabase(
    '0017',
    `INSERT INTO stores (id, name, status, settlement_currency, tolerance_minor, top_up_grace_s, monitoring_s,
        late_policy, webhook_secret, created_at_ms)
      VALUES ('m1', 'Shop', 'approved', 'USDT', 0, 100, 1000, 'hold', '${secret}', 0);
    ${session('cs_live', 'live')} ${session('cs_test', 'test')}
    ${events('cs_live', 0, PER_SESSION)} ${events('cs_test', PER_SESSION, PER_SESSION)}`,
    async (database) => {
      assert.equal(await idsOf(database, 'live'), numbers(0));
      assert.equal(await idsOf(database, 'test'), numbers(PER_SESSION));
      const one = await database.findEvent(`evt_${1000000000000000000n + 7n}`);
      assert.equal(
        [one?.sessionId, one?.type, one?.body, one?.createdAtMs],
        ['cs_live', 'payment.expired', '{"n":7}', 7],
      );
    },
  ));

test.run();
