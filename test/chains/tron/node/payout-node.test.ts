/** TRON's payouts against the simulated java-tron, which checks and charges what was signed as java-tron does. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronSpending } from '../../../../src/chains/tron/spend.ts';
import { lookalikeKey } from '../../../../src/sandbox/transaction.ts';
import { accountKey, tronTokenKeys } from '../../../support/simulated-node.ts';
import { gasOf, sweepOf } from '../../payout-bench.ts';
import { nothingYet, quoted, refused } from '../../seed-wallets.ts';
import { makeTronPayouts } from '../../simulated-payouts.ts';

const TRX = 1_000_000n;
const bench = await makeTronPayouts('payouts');
const { sandbox, world, liar, network, node, open, openWallets, openFundedWallets, signOn, prepare, send, carry } =
  bench;
const { outcomeOf, mine, mineFinal, finalBlocks, outlive, held, native } = bench;
test.after.each(() => {
  sandbox.faults.heal();
  liar.heal();
});
test.after(() => bench.close());

const { treasury } = network;

const ENERGY_SUN = 100n;
const TO_HOLDER = 64_285n * ENERGY_SUN;
const TO_OTHERS = 130_285n * ENERGY_SUN;
const BYTES = 345n * 1_000n;
/** A quarter more, in whole energy. */
const withReserve = (sun: bigint): bigint => (((sun / ENERGY_SUN) * 5n + 3n) / 4n) * ENERGY_SUN;

// ── Success
// ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('paying a holder of the token takes less energy, and bytes cost TRX once the day’s are used', async () => {
  const wallets = await openFundedWallets();
  const first = wallets.refund('USDT', 5n);
  const quote = quoted(await node.quote(wallets.draft(first), null, []));
  assert.is(quote.feeUnits, TO_OTHERS, 'its bytes are free');
  assert.is(BigInt(quote.terms.fee_limit ?? 0), withReserve(TO_OTHERS));
  await carry(wallets, first);
  const intent = wallets.refund('USDT', 7n, first.to);
  const { feeUnits } = quoted(await node.quote(wallets.draft(intent), null, []));
  assert.is(feeUnits, TO_HOLDER + BYTES);
  const outcome = await carry(wallets, intent);
  assert.is(outcome.kind === 'succeeded' && outcome.feeUnits, feeUnits);
  assert.is(held(first.to), 12n);
});

test('the signer’s own reading never exceeds what was quoted', async () => {
  const wallets = await openFundedWallets();
  const gasWallet = wallets.keyOf({ role: 'gas' });
  world.fund(gasWallet, 100n * TRX);
  world.fund(gasWallet, 1_000n * TRX, true);
  world.fund(wallets.keyOf({ role: 'collection', index: 0 }), 1n);
  mine();
  for (const intent of [wallets.refund('USDT', 5n), gasOf('transfer', 1, TRX), gasOf('delegate', 0, 2n * TRX)]) {
    const { terms, feeUnits, feeUnitsMax } = quoted(await node.quote(wallets.draft(intent), null, []));
    const read = tronSpending.read(signOn(wallets, intent, terms).bytes, network);
    assert.ok(feeUnits <= feeUnitsMax);
    if (intent.kind === 'refund' || intent.form === 'transfer') assert.is(read.feeUnitsMax, feeUnitsMax);
  }
});

test('a deposit address is lent energy for its sweep, pays nothing, and the loan is reclaimed', async () => {
  const wallets = openWallets();
  const [gasWallet, owner] = [wallets.keyOf({ role: 'gas' }), wallets.keyOf({ role: 'collection', index: 2 })];
  world.fund(gasWallet, 10n * TRX);
  world.fund(gasWallet, 10_000n * TRX, true);
  sandbox.pay(owner, 5_000n);
  mine();
  const intent = sweepOf({ index: 2, units: 5_000n });
  const loan = refused(await node.quote(wallets.draft(intent), null, [])).missing?.loan;
  assert.ok(loan);
  assert.is(loan.coinUnits, 1n, 'the account must exist');
  assert.is(loan.units / TRX, (64_285n * 5n) / 4n / 10n + 2n, 'a staked TRX gives ten units of energy a day');
  const early = refused(await node.quote(wallets.draft(gasOf('delegate', 2, loan.units)), null, []));
  assert.is(early.refused, 'would_fail');
  assert.match(early.message, 'before it can be lent energy');
  assert.is((await carry(wallets, gasOf('transfer', 2, loan.coinUnits))).kind, 'succeeded');
  const greedy = refused(await node.quote(wallets.draft(gasOf('delegate', 2, 10_001n * TRX)), null, []));
  assert.match(greedy.message, 'stake 1 TRX more');
  assert.is(refused(await node.quote(wallets.draft(intent), null, [])).missing?.loan?.coinUnits, 0n);
  assert.is((await carry(wallets, gasOf('delegate', 2, loan.units))).kind, 'succeeded');
  assert.is(world.accounts().usable(owner), loan.units);

  const quote = quoted(await node.quote(wallets.draft(intent), null, []));
  assert.is(quote.feeUnits, 0n);
  assert.is(quote.terms.fee_limit, String(withReserve(TO_HOLDER)), 'the limit bounds lent energy as well');
  const before = held(treasury);
  const outcome = await carry(wallets, intent);
  assert.is(outcome.kind === 'succeeded' && outcome.feeUnits, 0n);
  assert.is(held(treasury), before + 5_000n);

  assert.is((await carry(wallets, gasOf('reclaim', 2, loan.units))).kind, 'succeeded');
  assert.is(world.accounts().usable(owner), 0n);
  const again = refused(await node.quote(wallets.draft(gasOf('reclaim', 2, loan.units)), null, []));
  assert.is(again.refused, 'would_fail');
});

test('two refunds of one amount to one payee are two transactions', async () => {
  const wallets = await openFundedWallets();
  const one = wallets.refund('USDT', 5n);
  const other = wallets.refund('USDT', 5n, one.to);
  const attempts = [await prepare(wallets, one), await prepare(wallets, other)];
  const again = open();
  const { terms } = quoted(await again.quote(wallets.draft(other), null, []));
  attempts.push(signOn(wallets, other, terms));
  assert.is(new Set(attempts.map(({ tx }) => tx)).size, 3, 'also after a restart');
  for (const attempt of attempts.slice(0, 2)) await send(attempt);
  mine(1 + finalBlocks);
  assert.is(held(one.to), 10n);
});

// ── Refused quotes ───────────────────────────────────────────────────────────────────────────────────────────────────

test('a payee that is frozen, a contract or cannot be paid is refused', async () => {
  const wallets = await openFundedWallets();
  const codeTo = async (to: string, over = node) =>
    refused(await over.quote(wallets.draft(wallets.refund('USDT', 5n, to)), null, [])).refused;
  for (const to of [
    '0'.repeat(40),
    tronTokenKeys[1],
    wallets.keyOf({ role: 'refund' }),
    lookalikeKey(tronTokenKeys[0]),
  ]) {
    assert.is(await codeTo(to), 'destination_invalid', to);
  }
  const watched = open({ url: liar.httpUrl });
  const payee = accountKey('frozen');
  for (const selector of ['e47d6060', 'fe575a87']) {
    liar.tell((path, body, { result: _refusal, ...answer }) => {
      if (!path.endsWith('triggerconstantcontract') || !body.data.startsWith(selector)) return undefined;
      return {
        ...answer,
        result: { result: true },
        constant_result: ['1'.padStart(64, '0')],
        transaction: { ret: [{}] },
      };
    });
    assert.is(await codeTo(payee, watched), 'destination_frozen');
  }
});

// ── Trouble on the chain ─────────────────────────────────────────────────────────────────────────────────────────────

test('a transaction that runs out of energy is failed once that is final, costs its limit, and is signed again', async () => {
  const wallets = await openFundedWallets();
  const payee = accountKey('trader');
  sandbox.pay(payee, 8n);
  mine();
  const intent = wallets.refund('USDT', 5n, payee);
  const attempt = await prepare(wallets, intent);
  const output = { token: tronTokenKeys[0], to: accountKey('exchange'), units: 8n };
  world.pay({ kind: 'direct', from: payee, outputs: [output] });
  mine();
  await send(attempt);
  mine();
  const { number } = world.tip();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'waiting', included: { tx: attempt.tx, number } });
  mineFinal();
  const feeUnits = 100n * TRX - native(wallets.keyOf({ role: 'refund' }));
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'failed', tx: attempt.tx, number, feeUnits });
  assert.is(feeUnits, BigInt(attempt.terms.fee_limit ?? 0));
  assert.is(held(payee), 0n);
  assert.is((await carry(wallets, intent)).kind, 'succeeded');
  assert.is(held(payee), 5n);
});

test('money in the pool is quoted on; if it never comes, neither does the payout, and it waits for the money', async () => {
  const wallets = openWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  world.fund(wallet, 100n * TRX);
  mine(2);
  sandbox.pay(wallet, 50n);
  const intent = wallets.refund('USDT', 50n);
  const attempt = await prepare(wallets, intent);
  await send(attempt);
  assert.equal((await node.balance(wallet)).tokens.USDT, 0n, 'what was sent is gone from the balance, too');
  // The node is killed: it forgets its pool.
  world.restart({ depth: 1 });
  assert.equal(await outcomeOf(wallets, intent, [attempt]), nothingYet);
  outlive();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), { kind: 'dead' });
  assert.is(refused(await node.quote(wallets.draft(intent), null, [])).refused, 'token_short');
  assert.is(held(intent.to), 0n);
});

test('nodes without a solidified chain are not used for payouts', () => {
  assert.throws(() => open({ finalityUrl: null }), /payouts need the solidified chain, and solid_url of/);
});

test.run();
