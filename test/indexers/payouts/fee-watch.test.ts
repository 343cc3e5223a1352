import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFeeWatch } from '../../../indexers/payouts/fee-watch.ts';
import type { Intent } from '../../../src/core/intent.ts';
import type { Attempt, Payout } from '../../../src/core/payout.ts';
import type { NewAlarm } from '../../../src/database/alarms.ts';
import { handClock } from '../../support/hand-clock.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';

const PRICE_PAR = 2_000n * 10n ** 18n;

function open(nativePricePar: bigint | null) {
  const clock = handClock();
  const alarms: NewAlarm[] = [];
  const database = { raiseAlarm: async (alarm: NewAlarm) => void alarms.push(alarm) };
  const tokens = [{ symbol: 'USDT', address: '0x1', decimals: 6 }] as const;
  const network = {
    key: 'test:any',
    tokens,
    nativeSymbol: 'ETH',
    sweep: { ...plainSweepPolicy, nativePricePar },
  } as const;
  const watch = createFeeWatch(network, 18, database, clock);
  /** Notes attempts with these maximum fees, in wei. */
  const note = (units: bigint, feesMax: readonly bigint[], kind: Intent['kind'] = 'refund') => {
    const intent = { kind, id: 'r1', currency: 'USDT', units } as unknown as Intent;
    const attempts = feesMax.map((feeUnitsMax) => ({ feeUnitsMax }) as Attempt);
    return watch.note({ id: 'r1', intent } as Payout, attempts);
  };
  return { clock, alarms, note };
}

test('a fee above a quarter of the refund is reported, at most once an hour', async () => {
  const { alarms, note, clock } = open(PRICE_PAR);
  // 2.50 at 2000 for a coin.
  await note(2_500_000n, [312_500_000_000_000n]);
  assert.equal(alarms, [], 'a quarter');
  await note(2_500_000n, [3_700_000_000_000_000n]);
  assert.is(alarms[0]?.code, 'refund_fee_high');
  assert.match(
    alarms[0]?.message ?? '',
    /refund r1 on test:any may cost up to 0\.0037 ETH in fees, 296 % of what it pays/,
  );
  clock.advance(3_599_999);
  await note(2_500_000n, [3_700_000_000_000_000n]);
  assert.is(alarms.length, 1);
  clock.advance(1);
  await note(2_500_000n, [3_700_000_000_000_000n]);
  assert.is(alarms.length, 2);
});

test('without a price of the coin, a replacement above ten times the first offer is reported', async () => {
  const { alarms, note } = open(null);
  await note(2_500_000n, [3_700_000_000_000_000n]);
  await note(2_500_000n, [100n, 1_000n]);
  assert.equal(alarms, []);
  await note(2_500_000n, [100n, 1_000n, 1_001n]);
  assert.match(alarms[0]?.message ?? '', /more than 10 times its first offer/);
});

test('sweeps have a limit of their own', async () => {
  const { alarms, note } = open(PRICE_PAR);
  await note(1n, [1n, 10n ** 18n], 'sweep');
  assert.equal(alarms, []);
});

test.run();
