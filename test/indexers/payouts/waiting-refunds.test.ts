/** What waiting refunds cost on TRON: a real database, and the payout client in front of the simulated java-tron. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { refundSentences } from '../../../indexers/payouts/plan-text.ts';
import { priceRefunds } from '../../../indexers/payouts/waiting-refunds.ts';
import { makePayoutBench, TRX } from '../../chains/tron/payout-bench.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';

const bench = await makePayoutBench('waiting refunds');
const { database, close } = openTempDatabase();
test.after(async () => {
  close();
  await bench.close();
});

const { world, node, mine, openFundedWallets } = bench;
const NOW_MS = 1_800_000_000_000;
const BURNED = 130_285n * 100n + 345_000n;
const STAKE = ((130_285n * 5n + 3n) / 4n / 10n + 2n) * TRX;

test('the waiting refunds are priced by each way, with and without a stake, and what would not be sent is named', async () => {
  const wallets = openFundedWallets();
  const drafts = { draft: async (intent: Parameters<typeof wallets.draft>[0]) => wallets.draft(intent) };
  const intents = [wallets.refund('USDT', 1_000n), wallets.refund('USDT', 2_000n), wallets.refund('USDT', 10n ** 15n)];
  const price = () => priceRefunds(wallets.refund('USDT', 1n).network, { node, wallets: drafts, database });
  assert.equal(await price(), { count: 0, isMore: false, costUnits: 0n, ways: null, refused: [] });
  await database.planPayouts(
    intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs: NOW_MS, nowMs: NOW_MS })),
  );
  const poor = await price();
  assert.is(poor.count, 3);
  assert.equal(poor.ways, { burnedUnits: 2n * BURNED, stakeUnits: 2n * STAKE });
  assert.is(poor.costUnits, 2n * 130_285n * 100n, 'the free bytes of a day are counted for each');
  assert.equal(
    poor.refused.map(({ code, count }) => [code, count]),
    [['token_short', 1]],
  );
  const lines = refundSentences(testNetwork({ name: 'one', family: 'tron', tokens: [] }), poor);
  assert.match(lines[0] ?? '', /^3 refund\(s\) wait, for about 26\.057 /);
  assert.match(lines[1] ?? '', /burns coins for all of them: 26\.747 /);
  assert.match(lines[2] ?? '', /stake for energy.*: 32574\.00 /);
  assert.match(lines[3] ?? '', /^1 of them would not be sent now: wallet /);

  world.fund(wallets.keyOf({ role: 'refund' }), 2n * STAKE, true);
  mine();
  const staked = await price();
  assert.is(staked.costUnits, 0n);
  assert.equal(staked.ways, poor.ways, 'what all of it costs does not depend on what is free now');
});

test.run();
