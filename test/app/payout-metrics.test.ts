/** Metrics of money out. */
import { tmpdir } from 'node:os';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '../../src/app/metrics.ts';
import { createWriteTimes } from '../../src/app/write-times.ts';
import { handClock } from '../support/hand-clock.ts';
import { counted } from '../support/nonces.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';

test('payouts, what they wait for, freezes and balances', async () => {
  const clock = handClock();
  const { database, close } = openTempDatabase();
  const config = { networks: [testNetwork({ name: 'one', xpub: null })], dataDir: tmpdir() };
  const network = 'test:one';
  const nowMs = clock.nowMs();
  const refund = {
    kind: 'refund',
    session: { id: 'cs_1', amount: '5.00' },
    id: 'rf_1',
    network,
    currency: 'USDT',
    to: 'b',
    units: 5n,
    mac: 'c',
  } as const;
  await database.planPayouts([{ intent: refund, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  const wait = { code: 'token_short', message: 'it has 3' };
  await database.recordWait({ id: 'rf_1', generation: 0, wait, nextLookAtMs: nowMs, nowMs });
  await database.offerNonce(network, 'a', counted(0), nowMs);
  await database.offerNonce(network, 'a', counted(1), nowMs);
  await database.reportEngine(network, { code: 'signer_unreachable', message: 'no' }, nowMs);
  const freeze = { code: 'payouts_frozen', reason: 'no', frozenBy: 'anna', sinceMs: nowMs };
  await database.freezePayouts({ ...freeze, network }, null);
  await database.freezePayouts({ ...freeze, network: null }, null);
  const units = { native: 15n * 10n ** 17n, USDT: 2_500_000n };
  await database.recordBalance({ network, role: 'refund', key: 'a', units, low: ['USDT'], readAtMs: nowMs });
  const level = { network, owners: 2, openUnits: 1_000_000n, readAtMs: nowMs } as const;
  await database.recordUnswept(network, [{ ...level, currency: 'USDT', units: 7_500_000n }]);
  clock.advance(90_000);

  const { text } = await createMetrics({
    database,
    config,
    rates: { status: () => [], pegs: () => [] },
    clock,
    writeTimes: createWriteTimes(),
  }).read();
  close();
  for (const line of [
    'quayside_payouts{kind="refund",state="waiting"} 1',
    'quayside_payouts_waiting{network="test:one",reason="token_short"} 1',
    'quayside_payout_oldest_wait_seconds{network="test:one",reason="token_short"} 90',
    'quayside_payout_engine_stopped{network="test:one",reason="signer_unreachable"} 1',
    'quayside_payouts_frozen{network="test:one"} 1',
    'quayside_payouts_frozen{network=""} 1',
    'quayside_wallet_balance{network="test:one",wallet="refund",asset="native"} 1.5',
    'quayside_wallet_balance{network="test:one",wallet="refund",asset="USDT"} 2.5',
    'quayside_wallet_low{network="test:one",wallet="refund",asset="USDT"} 1',
    'quayside_unswept{network="test:one",currency="USDT",part="resting"} 7.5',
    'quayside_unswept{network="test:one",currency="USDT",part="open"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line} in\n${text}`);
  }
});

test.run();
