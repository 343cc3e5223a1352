/**
 * Payment addresses are swept on a real EVM node, by the operator's own words: planned, given gas, sent, final.
 * Everything of Quayside runs as it does for an operator.
 *
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Json } from '../support/instance.ts';
import { openRefundShop } from '../support/refund-shop.ts';
import { until } from '../support/until.ts';

const bench = await openRefundShop();
const { anvil, usdt, usdc, quayside, shop, paidSession, treasury } = bench;
test.after(() => bench.close());

const sweep = (...words: string[]): Promise<Json> => quayside.cli('sweep', ...words);
const untilFinal = (amount: string) =>
  until(`${amount} is final`, async () => {
    const [network] = await sweep('status');
    return network.unswept.some((one: Json) => one.amount === amount);
  });
const eventTypes = [
  'payment.detected',
  'payment.partially_paid',
  'payment.completed',
  'payment.late',
  'payment.reversed',
];
const eventsOf = (session: Json) => eventTypes.map((type) => shop.events(session, type).length);
const views = (sessions: readonly Json[]) =>
  Promise.all(
    sessions.map(async (session) => {
      const { payments, payment_status, amount_received } = await shop.show(session);
      return { payments: payments.length, payment_status, amount_received };
    }),
  );

let sessions: readonly Json[];
test.before(async () => {
  sessions = [
    await paidSession(2_500),
    await paidSession(4_000),
    await paidSession(500),
    await paidSession(3_000, 'USDC'),
  ];
  await anvil.mine(48);
  await Promise.all([untilFinal('70.00 USDT'), untilFinal('30.00 USDC')]);
});

test('a plan spends nothing, and says what is swept, what is left, and why', async () => {
  const [poor] = await sweep('plan');
  assert.equal(poor.sweeps, []);
  assert.match(poor.left[0].detail, /^native_short: .*send that amount to it/, 'the gas wallet has nothing yet');
  await anvil.rpc('anvil_setBalance', [bench.gasWallet, `0x${(10n ** 18n).toString(16)}`]);
  const [network] = await sweep('plan');
  assert.is(network.treasury.toLowerCase(), treasury);
  const amounts = network.sweeps.map(({ amount, why, addresses, gas }: Json) => [
    amount,
    why,
    addresses.length,
    gas.length,
  ]);
  assert.equal(amounts, [
    ['40.00 USDT', 'value', 1, 1],
    ['25.00 USDT', 'value', 1, 1],
    ['30.00 USDC', 'value', 1, 1],
  ]);
  assert.equal(
    network.left.map(({ amount, why }: Json) => [amount, why]),
    [['5.00 USDT', 'too_small']],
  );
  assert.equal(await quayside.cli('payouts', 'list'), []);
  await sweep('run').then(
    () => assert.unreachable('nobody has agreed'),
    (error: Error) => assert.match(error.message, /--yes is needed/),
  );
  assert.equal(await quayside.cli('payouts', 'list'), []);
});

test('two runs at once give gas and sweep each address once; the treasury has it, and a second run finds nothing', async () => {
  const before = await views(sessions);
  const events = sessions.map(eventsOf);
  const runs = await Promise.all([sweep('run', '--yes'), sweep('run', '--yes')]);
  const swept = runs.flatMap((run) => run.sweeps);
  assert.equal(swept.map(({ amount, state }: Json) => [amount, state]).sort(), [
    ['25.00 USDT', 'succeeded'],
    ['30.00 USDC', 'succeeded'],
    ['40.00 USDT', 'succeeded'],
  ]);
  assert.is(await usdt.balanceOf(treasury), 65_000_000n);
  assert.is(await usdc.balanceOf(treasury), 30_000_000n);
  const gas = await quayside.cli('payouts', 'list', '--kind', 'gas');
  assert.equal(
    gas.map(({ state }: Json) => state),
    ['succeeded', 'succeeded', 'succeeded'],
  );
  const again = await sweep('run', '--yes');
  assert.equal(again.sweeps, []);
  // Neither gas nor a sweep is a payment to anybody.
  assert.equal(await views(sessions), before);
  assert.equal(sessions.map(eventsOf), events);
});

test('what is too little is swept when the operator says so', async () => {
  const run = await sweep('run', '--yes', '--min', '1.00');
  assert.equal(
    run.sweeps.map(({ amount, state }: Json) => [amount, state]),
    [['5.00 USDT', 'succeeded']],
  );
  assert.is(await usdt.balanceOf(treasury), 70_000_000n);
  const [status] = await sweep('status');
  assert.equal(status.unswept, []);
  assert.is(status.sweeps.length, 4);
});

test('the books balance afterwards', async () => {
  const { balanced, problems } = await quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();
