/**
 * The simulated EVM node from the point of view of wallets. What it reads by hand was signed by the signer's library;
 * what it answers is read by the payout client that real nodes are read with.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withClient } from '../chains/payout-bench.ts';
import { nothingYet, quoted } from '../chains/seed-wallets.ts';
import { makeSimulatedPayouts } from '../chains/simulated-payouts.ts';

const bench = withClient(await makeSimulatedPayouts('evm'));
const { sandbox, node, signOn, mine, held, openFundedWallets, prepare, send, outcomeOf, finalOutcome } = bench;
test.after.each(() => sandbox.faults.heal());
test.after(() => bench.close());

test('replacements are accepted from 10 % more, and the one that is mined is found', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const first = await prepare(wallets, intent);
  await send(first);
  const fee = BigInt(first.terms.max_fee_per_gas ?? 0);
  const meagre = signOn(wallets, intent, { ...first.terms, max_fee_per_gas: (fee + fee / 20n).toString() });
  const answer = await node.broadcast(meagre.bytes);
  assert.is(answer.kind === 'rejected' && answer.code, 'replacement_underpriced');
  const second = await prepare(wallets, intent, [first]);
  await send(second);
  assert.is(sandbox.world.pending().length, 1);
  mine();
  const outcome = await finalOutcome(wallets, intent, [first, meagre, second]);
  assert.is(outcome.kind === 'succeeded' && outcome.tx, second.tx);
  assert.is(held(intent.to), 5n);
});

test('an offer below the base fee waits until it is replaced', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const { terms } = quoted(await node.quote(wallets.draft(intent), 0, []));
  const cheap = signOn(wallets, intent, { ...terms, max_fee_per_gas: '900000000', max_priority_fee_per_gas: '1000' });
  await send(cheap);
  mine(2);
  assert.equal(await outcomeOf(wallets, intent, [cheap]), nothingYet);
  const dear = await prepare(wallets, intent, [cheap]);
  await send(dear);
  mine();
  const outcome = await outcomeOf(wallets, intent, [cheap, dear]);
  assert.is(outcome.kind === 'waiting' && outcome.included?.tx, dear.tx);
});

test('full blocks raise the base fee by an eighth each, and an offer that it has passed waits', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const baseFee = async () =>
    Number(
      ((await sandbox.ask('eth_getBlockByNumber', ['pending', false])).result as { baseFeePerGas: string })
        .baseFeePerGas,
    );
  const before = await baseFee();
  const { terms } = quoted(await node.quote(wallets.draft(intent), 0, []));
  const tight = signOn(wallets, intent, {
    ...terms,
    max_fee_per_gas: String(before),
    max_priority_fee_per_gas: '1000',
  });
  for (let at = 0; at < 3; at++) sandbox.world.mine(1000);
  assert.is(await baseFee(), before * (9 / 8) ** 3);
  await send(tight);
  mine();
  assert.equal(await outcomeOf(wallets, intent, [tight]), nothingYet);
  const second = await prepare(wallets, intent, [tight]);
  await send(second);
  mine();
  const outcome = await finalOutcome(wallets, intent, [tight, second]);
  assert.is(outcome.kind === 'succeeded' && outcome.tx, second.tx);
  mine(20);
  assert.is(await baseFee(), before, 'empty blocks lower it again');
});

test('a suggestion far above what blocks paid is not followed', async () => {
  const wallets = await openFundedWallets();
  const draft = wallets.draft(wallets.refund('USDT', 5n));
  for (let at = 0; at < 20; at++) sandbox.world.mine(3);
  const usual = quoted(await node.quote(draft, 0, [])).terms;
  sandbox.faults.set({ rates: { tip_high: 1 } });
  assert.equal(quoted(await node.quote(draft, 0, [])).terms, usual);
});

test.run();
