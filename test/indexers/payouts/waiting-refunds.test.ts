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

const { world, node, mine, sandbox, openWallets, openFundedWallets } = bench;
const draftsOf = (wallets: ReturnType<typeof openWallets>) => ({
  draft: async (intent: Parameters<typeof wallets.draft>[0]) => wallets.draft(intent),
  indexOf: async () => 0,
});
const NOW_MS = 1_800_000_000_000;
const BURNED = 130_285n * 100n + 345_000n;
const STAKE = ((130_285n * 5n + 3n) / 4n / 10n + 2n) * TRX;

test('the waiting refunds are priced by each way, with and without a stake, and what would not be sent is named', async () => {
  const wallets = openFundedWallets();
  const drafts = draftsOf(wallets);
  const intents = [wallets.refund('USDT', 1_000n), wallets.refund('USDT', 2_000n), wallets.refund('USDT', 10n ** 15n)];
  const price = () => priceRefunds(wallets.refund('USDT', 1n).network, { node, wallets: drafts, database });
  const nothing = { costUnits: 0n, depositUnits: 0n, ways: null, lending: null, refused: [] };
  assert.equal(await price(), { count: 0, isMore: false, ...nothing });
  await database.planPayouts(
    intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs: NOW_MS, nowMs: NOW_MS })),
  );
  const poor = await price();
  assert.is(poor.count, 3);
  // 26 staked TRX give 43.2 bytes a day.
  const bandwidth = { burnedUnits: 2n * 345_000n, stakeUnits: 2n * ((345n * 26_000n + 43_199n) / 43_200n + 1n) * TRX };
  assert.equal(poor.ways, { burnedUnits: 2n * BURNED, stakeUnits: 2n * STAKE, bandwidth });
  assert.equal([poor.lending?.count, poor.lending?.others, poor.lending?.missingUnits], [0, 2, STAKE]);
  assert.is(poor.costUnits, 2n * 130_285n * 100n, 'the free bytes of a day are counted for each');
  assert.equal(
    poor.refused.map(({ code, count }) => [code, count]),
    [['token_short', 1]],
  );
  const lines = refundSentences(testNetwork({ name: 'one', family: 'tron', tokens: [] }), poor);
  assert.match(lines[0] ?? '', /^3 refund\(s\) wait, for about 26\.057 /);
  assert.match(lines[1] ?? '', /^2 of them are not lent energy: 16287\.00 .* more stake is needed \(wallet T/);
  assert.match(lines[2] ?? '', /burns coins for all of them: 26\.747 /);
  assert.match(lines[3] ?? '', /stake for energy.*: 32574\.00 /);
  assert.match(
    lines[4] ?? '',
    /^of what it burns, 0\.69 .* are for bandwidth.*a stake of its own for bandwidth, 418\.00 /,
  );
  assert.match(lines[5] ?? '', /^1 of them would not be sent now: wallet /);

  world.fund(wallets.keyOf({ role: 'refund' }), 2n * STAKE, true);
  mine();
  const staked = await price();
  assert.is(staked.costUnits, 0n);
  assert.equal(staked.ways, poor.ways, 'what all of it costs does not depend on what is free now');
});

test('one refund is priced before it is approved, with what its coins are worth', async () => {
  const wallets = openFundedWallets();
  const asked = { node, wallets: draftsOf(wallets), database };
  const network = testNetwork({ name: 'one', family: 'tron', tokens: [], nativeSymbol: 'TRX' });
  const costs = await priceRefund({ intent: wallets.refund('USDT', 1_000n) }, asked);
  assert.equal([costs.count, costs.costUnits, costs.ways?.burnedUnits], [1, BURNED - 345_000n, BURNED]);
  assert.equal(priceSentences(network, costs).slice(0, 3), [
    'sending it now costs about 13.0285 TRX of the refund wallet',
    `it is not lent energy: 16287.00 TRX more stake is needed (${costs.lending?.whyNot})`,
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

test('what a stake of the gas wallet is lent for costs what the loan does, also where the refund wallet could not pay', async () => {
  const network = testNetwork({ name: 'one', family: 'tron', tokens: [], nativeSymbol: 'TRX' });
  const wallets = openWallets();
  const [refundKey, gasKey] = [wallets.keyOf({ role: 'refund' }), wallets.keyOf({ role: 'gas' })];
  sandbox.pay(refundKey, 1_000_000n);
  world.fund(refundKey, 1n);
  mine();
  const asked = { node, wallets: draftsOf(wallets), database };
  const price = () => priceRefund({ intent: wallets.refund('USDT', 1_000n) }, asked);
  const poor = await price();
  const [refused] = poor.refused;
  assert.is(refused?.code, 'native_short');
  assert.match(
    priceSentences(network, poor).join('; '),
    /would not be sent now: .*; it is not lent energy: 16287\.00 TRX more/,
  );

  world.fund(gasKey, 10n * TRX);
  world.fund(gasKey, STAKE + 1n * TRX, true);
  mine();
  const lent = await price();
  assert.equal(lent.refused, []);
  assert.equal(priceSentences(network, lent), [
    'sending it now costs about 0.00 TRX of the refund wallet',
    "it is lent energy from the gas wallet's stake, 16287.00 TRX for some minutes: free",
  ]);
  assert.equal(costsJson(network, lent).lending, {
    ...{ refunds: 1, stake: '16287.00 TRX', cost: '0.00 TRX', others: 0, why_not: null, missing_stake: '0.00 TRX' },
  });

  // The free bytes of its day are used up.
  for (let n = 0; n < 3; n++) await bench.carry(wallets, bench.gas('transfer', 0, BigInt(n + 1)));
  const { lending } = await price();
  assert.is(lending?.costUnits, 2n * 279_000n);
  assert.match(priceSentences(network, await price())[1] ?? '', /: 0\.558 TRX for the transactions of the loan$/);

  // What others are lent first is not free any more.
  const loan = { ...bench.gas('delegate', 0, 2n * TRX), index: undefined, refundIndex: 0, id: 'ga_other' };
  const { index: _, ...intent } = loan;
  const own = { intent, sessionId: null, servesId: null, notBeforeMs: NOW_MS, nowMs: NOW_MS };
  await database.planPayouts([own]);
  const later = await price();
  assert.equal([later.lending?.count, later.lending?.missingUnits], [0, 1n * TRX]);
  assert.ok(await database.cancelPayout('ga_other', NOW_MS));
});

test.run();
