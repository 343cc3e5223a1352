/** Attempts that are recorded in one transaction leave the same rows as one after the other. */
import { copyFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import type { RecordedAttempt } from '../../../src/database/sending.ts';
import { createRandom } from '../../support/random.ts';
import { raw } from '../../support/raw.ts';
import { claimDue } from '../../support/record-attempt.ts';
import { connectTo } from '../../support/temp-database.ts';
import { testsIn } from '../../support/tests-in.ts';
import { inShop } from '../../support/webhook-shop.ts';

const tables = ['deliveries', 'endpoints', 'attempts', 'alarms'];

const rowsOf = (file: string): Record<string, unknown[]> =>
  raw(file, (client) =>
    Object.fromEntries(tables.map((table) => [table, client.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all()])),
  );

const test = testsIn(inShop);

for (const seed of [1, 2, 3]) {
  test(`attempts recorded together change what they change one by one, seed ${seed}`, async (shop) => {
    const dice = createRandom('attempts', seed);
    for (const path of ['a', 'b']) await shop.addEndpoint(`https://shop.example/${path}`);
    for (let n = 0; n < 12; n++) await shop.cancelOne(`https://orders.example/${n % 4}`);
    const nowMs = shop.clock.nowMs();
    const claimed = await claimDue(shop.database, nowMs);
    const recorded = claimed.map(({ id, endpointId, leaseUntilMs, attempt }, at): RecordedAttempt => {
      const status = [200, 200, 500, 403, null][dice.int(5)] ?? null;
      // Over weeks, so that an endpoint may be switched off.
      const went = { deliveryId: id, attempt, startedAtMs: nowMs + at * 86_400_000, durationMs: 5 };
      const error = status === null ? 'connect' : null;
      const verdict = status === 200 ? { kind: 'delivered' as const } : { kind: 'retry' as const, atMs: nowMs + at };
      const answered = { ...went, status, error, responseExcerpt: null };
      return { endpointId, leaseUntilMs, attempt: answered, verdict };
    });
    assert.ok(recorded.length > 20, `${recorded.length} attempts`);

    const copy = `${shop.file}.copy`;
    raw(shop.file, (client) => client.pragma('wal_checkpoint(TRUNCATE)'));
    copyFileSync(shop.file, copy);
    await shop.database.deliveries.record(recorded);
    const database = connectTo(copy);
    for (const one of recorded) await database.deliveries.record([one]);
    database.close();
    assert.equal(rowsOf(shop.file), rowsOf(copy));
  });
}

test.run();
