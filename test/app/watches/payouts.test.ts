/** Refunds that nobody pays raise one alarm. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchPayouts } from '../../../src/app/watches/payouts.ts';
import type { Database } from '../../../src/database/database.ts';
import { closing } from '../../support/closing.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { refundIntent } from '../../support/intents.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { watched } from '../../support/watched.ts';

const network = 'test:one';
const MINUTE_MS = 60_000;

type Config = Parameters<typeof watchPayouts>[1];

/** Runs one check, as a process does repeatedly. @returns all alarms */
function watcher(database: Database, clock: HandClock, config: Config): () => Promise<string[]> {
  const bench = watched(watchPayouts(database, config), database, clock);
  return async () => {
    await bench.look();
    return (await database.alarms.list(10)).map(({ message }) => message);
  };
}

async function withRefund(work: (database: Database, clock: HandClock) => Promise<void>): Promise<void> {
  const clock = handClock();
  const { database } = closing(openTempDatabase());
  const nowMs = clock.nowMs();
  const intent = refundIntent({ network, to: 'b' });
  await database.payouts.plan([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs + MINUTE_MS, nowMs }]);
  await work(database, clock);
}

test('a due refund without a signer or without its network is reported at once', async () => {
  const configs: readonly Config[] = [
    { signer: null, networks: [{ key: network }] },
    { signer: {}, networks: [{ key: 'test:two' }] },
  ];
  for (const config of configs) {
    await withRefund(async (database, clock) => {
      const look = watcher(database, clock, config);
      assert.equal(await look(), [], 'it can still be canceled');
      clock.advance(2 * MINUTE_MS);
      const [message] = await look();
      assert.match(message ?? '', /Refunds on test:one are due .*the configuration has no/);
      clock.advance(2 * MINUTE_MS);
      assert.is((await look()).length, 1, 'once');
    });
  }
});

test('an engine has an hour, then its reason is reported', async () => {
  await withRefund(async (database, clock) => {
    const look = watcher(database, clock, { signer: {}, networks: [{ key: network }] });
    await database.engines.report(network, { code: 'signer_unreachable', message: 'the signer is locked' });
    clock.advance(60 * MINUTE_MS);
    assert.equal(await look(), []);
    clock.advance(2 * MINUTE_MS);
    const [message] = await look();
    assert.match(message ?? '', /the signer is locked/);
  });
});

test('a refund with an engine’s reason is not reported again', async () => {
  await withRefund(async (database, clock) => {
    clock.advance(2 * MINUTE_MS);
    const nowMs = clock.nowMs();
    const wait = { code: 'token_short', message: 'it has 3' };
    await database.payouts.recordWait({ id: 'rf_1', generation: 0, wait, nextLookAtMs: nowMs, nowMs });
    clock.advance(90 * MINUTE_MS);
    const [message, ...others] = await watcher(database, clock, { signer: {}, networks: [{ key: network }] })();
    assert.match(message ?? '', /it has 3/);
    assert.equal(others, []);
  });
});

test.run();
