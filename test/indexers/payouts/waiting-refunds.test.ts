/** What waiting refunds cost on TRON: a real database, and the payout client in front of the simulated java-tron. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { costsJson, priceSentences, refundSentences } from '../../../indexers/payouts/plan-text.ts';
import { priceRefund, priceRefunds } from '../../../indexers/payouts/waiting-refunds.ts';
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
  assert.equal(await price(), { count: 0, isMore: false, costUnits: 0n, depositUnits: 0n, ways: null, refused: [] });
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

test('one refund is priced before it is approved, with what its coins are worth', async () => {
  const wallets = openFundedWallets();
  const asked = {
    node,
    wallets: { draft: async (intent: Parameters<typeof wallets.draft>[0]) => wallets.draft(intent) },
  };
  const network = testNetwork({ name: 'one', family: 'tron', tokens: [], nativeSymbol: 'TRX' });
  const costs = await priceRefund({ intent: wallets.refund('USDT', 1_000n) }, asked);
  assert.equal([costs.count, costs.costUnits, costs.ways?.burnedUnits], [1, BURNED - 345_000n, BURNED]);
  assert.equal(priceSentences(network, costs).slice(0, 2), [
    'sending it now costs about 13.0285 TRX of the refund wallet',
    'if the refund wallet burns coins for it: 13.3735 TRX',
  ]);
  assert.is(costsJson(network, costs).likely_cost_value, null);
  // 13.0285 TRX at 0.271 each are 3.5307 USD.
  const priced = { ...network, sweep: { ...network.sweep, nativePricePar: 271n * 10n ** 15n } };
  assert.match(priceSentences(priced, costs)[0] ?? '', /about 13\.0285 TRX \(3\.54 USD\) of/);
  assert.is(costsJson(priced, costs).likely_cost_value, '3.54 USD');
  const refused = await priceRefund({ intent: wallets.refund('USDT', 10n ** 15n) }, asked);
  assert.match(priceSentences(priced, refused).join('; '), /^price unknown: it would not be sent now: wallet T/);
});

test.run();
