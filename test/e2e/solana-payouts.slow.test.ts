/** The sweep, restore and refund suites on Solana, what only its locks and expiry do, and the short payment suite. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { paymentConforms } from '../conformance/flow.ts';
import { refundConforms } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import type { Json } from '../support/instance.ts';
import { until } from '../support/until.ts';
import { openSolanaPayouts } from './solana.ts';

const SOL = 1_000_000_000n;

const { shop, node, payments } = await openSolanaPayouts();

// One transaction sweeps six addresses, the largest amounts first.
sweepConforms(shop, {
  paid: Array.from({ length: 8 }, (_, at) => [(at + 1) * 100, 'USDT'] as const),
  poor: /^native_short/,
  coins: 1,
  sweeps: [
    ['33.00 USDT', 6, []],
    ['3.00 USDT', 2, []],
  ],
  tooSmall: [],
  costShare: /^0\.\d\d %$/,
});

test('the gas wallet has paid the fees', () => {
  assert.ok(node.world.accounts().native(shop.gasWallet) < SOL);
});

/** A signature is valid for 150 blocks. */
const expire = () => {
  for (let left = 170; left > 0; left--) node.world.mine();
};

restoreConforms(shop, { coins: 1, expiry: { pass: expire } });
refundConforms(shop);

test('while the network drops what it takes, nothing is paid twice and nothing is stuck: a refund is rejected, ended, or goes on', async () => {
  const { quayside, paidSession, refund, show, completed, paidTo } = shop;
  const session = await paidSession(1_200);
  node.faults.set({ rates: { send_dropped: 1 } });
  const asked = async () => [
    await refund(session, '4.00'),
    await refund(session, '5.00'),
    await refund(session, '3.00'),
  ];
  const [rejected, kept, ended] = (await asked()) as [Json, Json, Json];
  const listed: Json[] = await quayside.cli('refund', 'list');
  const payoutOf = async ({ id }: Json): Promise<Json> =>
    (await quayside.cli('show', listed.find((one) => one.refund_id === id).id)).payout;
  const sent = async () => (await quayside.cli('payout', 'list', '--state', 'sent')).length;
  await until('all are sent', async () => (await sent()) === 3);
  const reject = (words: Json) =>
    quayside.cli('refund', 'reject', words.id, '--reason', 'a test').then(() => 'rejected', String);
  assert.match(await reject(await payoutOf(rejected)), 'It was not refused');
  const { id: hanging } = await payoutOf(ended);
  const resolve = (how: string) =>
    quayside.cli('payout', 'resolve', hanging, how, '--reason', 'nothing arrives').then(() => 'resolved', String);
  for (const how of ['--never', '--retry']) assert.match(await resolve(how), 'can still be included');
  // Nothing is signed again before one of them is rejected.
  await quayside.cli('payout', 'freeze', shop.network, '--reason', 'the network drops what it takes');
  expire();
  for (const one of [rejected, kept, ended]) {
    await until('it has expired', async () => (await payoutOf(one)).generation === 1);
  }
  assert.is(await reject(await payoutOf(rejected)), 'rejected');
  assert.is(await resolve('--never'), 'resolved');
  for (const { id } of [rejected, ended]) assert.is((await show(id)).status, 'failed');
  node.faults.heal();
  await quayside.cli('payout', 'thaw', shop.network, '--reason', 'the network is back');
  const again = await refund(session, '4.00');
  await completed(again.id);
  await completed(kept.id);
  const { generation, attempts } = await payoutOf(kept);
  assert.equal({ generation, attempts: attempts.length }, { generation: 1, attempts: 2 });
  assert.equal(await Promise.all([rejected, ended, kept, again].map(({ payee }) => paidTo(payee))), [
    [],
    [],
    [shop.unitsOf(500, 'USDT')],
    [shop.unitsOf(400, 'USDT')],
  ]);
});

test.run();

// Payments are counted block by block, which the suites above cannot wait for.
test.before(() => node.rest());
test.after(shop.close);
paymentConforms(payments);
