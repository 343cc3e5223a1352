/** How the payout engine starts, stops and paces itself, without payouts. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPayer, paceOf } from '../../../indexers/payouts/engine.ts';
import { chains } from '../../../src/chains/index.ts';
import type { PayoutNode } from '../../../src/chains/spend.ts';
import { transient } from '../../../src/core/fault.ts';
import { openLog } from '../../../src/lib/log.ts';
import type { Signer } from '../../../src/signer/signer.ts';
import { familyOf, tokens } from '../../sim/payout-signer.ts';
import { lockstepClock } from '../../support/lockstep-clock.ts';
import { plainSweepPolicy } from '../../support/plain-policies.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { until } from '../../support/until.ts';

const network = 'test:one';
const rules = chains[familyOf.sequence].spendRules;

test('an engine stops when asked to, whatever it waits for', async () => {
  const temp = openTempDatabase();
  const clock = lockstepClock().view();
  const payer = createPayer({
    network: { key: network, tokens, blockTimeMs: 5000, sweep: plainSweepPolicy },
    rules,
    node: {} as PayoutNode,
    signer: {} as Signer,
    database: temp.database,
    clock,
    log: openLog('test', 'silent'),
  });
  const stopping = new AbortController();
  const running = payer.run(stopping.signal);
  await until('it waits for its network', async () => clock.asleep() === 1);
  const [engine] = await temp.database.listEngines();
  assert.equal([engine?.reason?.code, engine?.fence], ['network_not_followed', 0]);
  stopping.abort();
  await running;
  temp.close();
});

test('a signer that is still starting is no warning, and one that stays away is one', async () => {
  const temp = openTempDatabase();
  const time = lockstepClock();
  const clock = time.view();
  const levels: number[] = [];
  const away = async () => {
    throw transient('signer_unreachable', 'nothing listens there');
  };
  const payer = createPayer({
    network: { key: network, tokens, blockTimeMs: 5000, sweep: plainSweepPolicy },
    rules,
    node: {} as PayoutNode,
    signer: { fence: away } as unknown as Signer,
    database: temp.database,
    clock,
    log: openLog('test', 'info', (line) => void levels.push(JSON.parse(line).level)),
  });
  const stopping = new AbortController();
  const running = payer.run(stopping.signal);
  for (const waitMs of [0, 5000, 5000, 10_000]) {
    await until('it waits', () => clock.asleep() === 1);
    const seen = { headNumber: 1, nodeConnected: true, nodeHeardAtMs: 0, readThroughS: 0, pid: 1 };
    await temp.database.reportNetwork({ network, state: 'following', reason: null, ...seen, nowMs: clock.nowMs() });
    time.advance(waitMs);
  }
  await until('it has waited on', () => clock.asleep() === 1);
  const [info, warn] = [30, 40];
  assert.equal(levels, [info, info, warn], 'not followed yet, signer not there yet, signer away');
  stopping.abort();
  await running;
  temp.close();
});

test('the same bytes are broadcast again every block or two, or every few seconds where they expire', () => {
  const expiring = chains[familyOf.expiry].spendRules;
  const pace = (of: typeof rules, blockTimeMs: number) => paceOf(of, blockTimeMs).resendMs;
  assert.equal([pace(rules, 12_000), pace(rules, 450), pace(rules, 60_000)], [15_000, 1000, 15_000]);
  assert.equal([pace(expiring, 3000), pace(expiring, 400)], [3000, 3000]);
  assert.equal([paceOf(rules, 12_000).outbidMs, paceOf(rules, 450).outbidMs], [120_000, 30_000]);
});

test.run();
