/**
 * Attempts that are recorded in one transaction leave the same rows as one after the other, and the next deliveries are
 * leased in it.
 */
import { copyFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RecordedAttempt } from '../../../src/database/attempts.ts';
import { openDeliveryDatabase } from '../../../src/database/delivery-database.ts';
import { createRandom } from '../../../src/sandbox/random.ts';
import { connectTo, secretKey } from '../../support/temp-database.ts';
import { inShop } from '../../support/webhook-shop.ts';

const tables = ['deliveries', 'endpoints', 'attempts', 'alarms'];

function rowsOf(file: string): Record<string, unknown[]> {
  const client = new Sqlite(file, { readonly: true });
  const rows = tables.map((table) => [table, client.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()]);
  client.close();
  return Object.fromEntries(rows);
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(
    `attempts recorded together change what they change one by one, seed ${seed}`,
    inShop(async (shop) => {
      const dice = createRandom('attempts', seed);
      for (const path of ['a', 'b']) await shop.addEndpoint(`https://shop.example/${path}`);
      await shop.addEndpoint('https://other.example/c');
      for (let n = 0; n < 12; n++) await shop.cancelOne(`https://orders.example/${n % 4}`);
      const nowMs = shop.clock.nowMs();
      const claimed = await shop.database.sending.claim({ nowMs, leaseMs: 60_000, limit: 100, perEndpointMax: 50 });
      const recorded = claimed.map(({ id, attempt, trigger }, at): RecordedAttempt => {
        const status = [200, 200, 500, 410, null][dice.int(5)] ?? null;
        // Over hours, so that three answers 410 disable.
        const went = { deliveryId: id, attempt, trigger, startedAtMs: nowMs + at * 600_000, durationMs: 5 };
        const error = status === null ? 'connect' : null;
        const verdict = status === 200 ? { kind: 'delivered' as const } : { kind: 'retry' as const, atMs: nowMs + at };
        return { attempt: { ...went, status, error, responseExcerpt: null }, verdict };
      });
      assert.ok(recorded.length > 20, `${recorded.length} attempts`);

      const copy = `${shop.file}.copy`;
      const client = new Sqlite(shop.file);
      client.pragma('wal_checkpoint(TRUNCATE)');
      client.close();
      copyFileSync(shop.file, copy);
      await shop.database.sending.record(recorded);
      const database = connectTo(copy);
      for (const one of recorded) await database.sending.record([one]);
      database.close();
      assert.equal(rowsOf(shop.file), rowsOf(copy));
    }),
  );
}

test(
  'what results free is leased in their own transaction',
  inShop(async (shop) => {
    await shop.addEndpoint('https://shop.example/a');
    for (let n = 0; n < 20; n++) await shop.cancelOne();
    const rows: number[] = [];
    const onWrite = (measure: { rows: number }) => void rows.push(measure.rows);
    const options = { file: shop.file, secretKey, busyTimeoutMs: 5_000, bytesMax: null };
    const database = openDeliveryDatabase({ ...options, onWrite });
    const limits = { nowMs: shop.clock.nowMs(), leaseMs: 60_000, limit: 100, perEndpointMax: 2 };
    let claimed = await database.sending.claim(limits);
    const ids: string[] = [];
    const transactions: number[] = [];
    while (claimed.length > 0) {
      ids.push(...claimed.map(({ id }) => id));
      const recorded = claimed.map(({ id, attempt, trigger }): RecordedAttempt => {
        const went = { deliveryId: id, attempt, trigger, startedAtMs: limits.nowMs, durationMs: 5, status: 200 };
        return { attempt: { ...went, error: null, responseExcerpt: null }, verdict: { kind: 'delivered' } };
      });
      rows.length = 0;
      const recording = database.sending.record(recorded);
      claimed = await database.sending.claim({ ...limits, isWithRecording: true });
      await recording;
      transactions.push(rows.length);
    }
    database.close();
    assert.is(new Set(ids).size, 20);
    // On a busy machine, a transaction may end before the claim's turn.
    assert.is(Math.min(...transactions), 1, `transactions for results and a claim: ${transactions}`);
  }),
);

test.run();
