/** What a success at an endpoint looks through to send refused deliveries again. */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { REPLAY_ATTEMPTS_MAX, refusalStatuses } from '../../../src/core/endpoint.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

test('deliveries that used up their attempts, or failed otherwise, are not in the index of refused ones', () => {
  const temp = openTempDatabase();
  const client = new Sqlite(temp.file);
  try {
    client.pragma('foreign_keys = OFF');
    const insert = client.prepare(
      `INSERT INTO deliveries (id, event_id, endpoint_id, session_id, state, attempts, last_status, created_at_ms)
       VALUES (:id, :id, 'e1', 'cs_1', 'failed', :attempts, :status, 0)`,
    );
    const add = (name: string, status: number, attempts: number) =>
      insert.run({ id: `${name} ${status} ${attempts}`, status, attempts });
    for (const status of refusalStatuses) {
      for (const attempts of [1, REPLAY_ATTEMPTS_MAX - 1]) add('again', status, attempts);
      for (const attempts of [REPLAY_ATTEMPTS_MAX, REPLAY_ATTEMPTS_MAX + 1]) add('over', status, attempts);
    }
    add('unavailable', 503, 1);
    // https://sqlite.org/dbstat.html: the cells of an index of one page are its entries.
    const entries = client.prepare("SELECT sum(ncell) FROM dbstat WHERE name = 'deliveries_refused'").pluck().get();
    assert.is(entries, 2 * refusalStatuses.length);
  } finally {
    client.close();
    temp.close();
  }
});

test.run();
