/**
 * What sweeps have cost our gas wallet, of which neither the database nor the signer's journal knows, because a whole
 * machine was put back to a state from before: the payout engine with each chain's own clients in front of a simulated
 * node.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { Message, PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import {
  COIN,
  closeBenches,
  type NodeBench,
  type NodeBenchOptions,
  network,
  openNodeBench,
  READ_MS,
  thief,
} from './node-bench.ts';

const families = ['evm', 'tron', 'solana'] as const;
type Family = (typeof families)[number];
const USDT = 1_000_000n;
const MINUTES = Math.ceil((2 * SHORT_MS) / READ_MS);
/** What one deposit address gets for its sweep. */
const GAS = { evm: COIN.evm / 100n, tron: 50n * COIN.tron, solana: COIN.solana / 100n } as const;
const DEPOSITS = 3;
test.after(closeBenches);

/** A bench whose gas wallet has coins and whose first deposit addresses have tokens, and that knows all balances. */
async function openSwept(family: Family, options: NodeBenchOptions = {}): Promise<NodeBench> {
  const bench = await openNodeBench(family, options);
  const { sim, walletKey, depositKey, pass } = bench;
  for (const role of ['gas', 'refund'] as const) sim.world.fund(walletKey(role, 0).key, 10_000n * COIN[family]);
  const deposits = Array.from({ length: DEPOSITS }, (_, index) => depositKey(index).key);
  // The treasury has an account of the token.
  for (const key of [...deposits, bench.treasury]) sim.pay(key, 5n * USDT);
  for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
  await bench.addDeposits(deposits);
  return bench;
}

async function isUnstopped({ database }: NodeBench): Promise<void> {
  assert.equal([await database.listFreezes(), await database.haltedLanes()], [[], []]);
  assert.equal(
    // The shop has no sessions here.
    (await database.listAlarms(20)).map(({ code }) => code).filter((code) => code !== 'payment_without_session'),
    [],
  );
  const { unbalanced, differences } = await database.verifyLedger();
  assert.equal([unbalanced, differences], [[], []]);
}

/** Sweeps a deposit address as the signer would. @returns the transaction for which the gas wallet paid */
async function sweepUnknown({ family, sweep, giveGas, advance }: NodeBench, index: number): Promise<string> {
  const given = family === 'solana' ? null : await giveGas(`ga_${index}`, index, GAS[family]);
  advance(30_000);
  const swept = await sweep(`sw_${index}`, index, 5n * USDT);
  return given ?? swept;
}

const listed = async ({ database }: NodeBench, kind: 'gas' | 'sweep') =>
  (await database.listPayouts({ network, kind, limit: 500 })).map(({ state, tx }) => [state, tx]).sort();

for (const family of families) {
  test(`${family}: put back to before sweeps, what they cost is entered, and payouts go on without a command`, async () => {
    const bench = await openSwept(family);
    const { sim, database, walletKey, planRefund, passMinutes, paid } = bench;
    const [gas, refund] = [walletKey('gas', 0).key, walletKey('refund', 0).key];
    const before = sim.world.accounts().native(gas);
    const txs = [await sweepUnknown(bench, 0), await sweepUnknown(bench, 1)];
    const reported = await passMinutes(MINUTES);
    assert.ok(
      reported.every((code) => code === null),
      reported.join(),
    );
    const kind = family === 'solana' ? 'sweep' : 'gas';
    assert.equal(await listed(bench, kind), txs.map((tx) => ['succeeded', tx]).sort());
    let cost = 0n;
    for (const { id, intent, feeUnits } of await database.listPayouts({ network, kind, limit: 10 })) {
      const [attempt] = await database.listPayoutAttempts(id);
      assert.equal([attempt?.payer, attempt?.feeUnits], [gas, feeUnits]);
      cost += (feeUnits ?? 0n) + (intent.kind === 'gas' ? intent.units : 0n);
    }
    assert.is(cost, before - sim.world.accounts().native(gas), 'all that has left the gas wallet');
    assert.equal(await database.listOutgoing(network, 10), []);
    await isUnstopped(bench);
    sim.pay(refund, 5n * USDT);
    await planRefund('rf_1', thief[family], 2n * USDT);
    await passMinutes(3);
    assert.is((await database.findPayout('rf_1'))?.state, 'succeeded');
    assert.equal(paid(refund, thief[family]), [2n * USDT]);
    await isUnstopped(bench);
  });
}

test('tron: after a start, balances are compared with the books once nothing more on the chain is learned', async () => {
  const bench = await openSwept('tron');
  const { database, restart, pass } = bench;
  for (const index of [0, 1]) await sweepUnknown(bench, index);
  restart();
  const before = await database.listWalletBooks();
  const reported = [await pass(READ_MS), await pass(READ_MS)];
  assert.equal(reported, ['payouts_reading', 'payouts_reading'], 'the blocks of the start, then what they show');
  assert.is((await listed(bench, 'gas')).length, 2);
  assert.equal(await database.listWalletBooks(), before);
  assert.is(await pass(READ_MS), null);
  assert.not.equal(await database.listWalletBooks(), before);
  await isUnstopped(bench);
});

/** Stolen coins that are to look like what a sweep costs. */
const steal: Readonly<Record<'tron' | 'solana', (bench: NodeBench, units: bigint) => Promise<unknown>>> = {
  // Whoever has the database's key can write an address of his own beside ours.
  async tron({ addDeposits, giveGas }, units) {
    await addDeposits([thief.tron], DEPOSITS);
    return giveGas('ga_stolen', DEPOSITS, units, { to: thief.tron });
  },
  // A sweep that does something besides.
  async solana({ signSweep, node, walletKey, depositKey }, units) {
    const { bytes } = await signSweep('sw_stolen', 1, 5n * USDT);
    const signatures = bytes[0] ?? 0;
    const honest = TransactionMessage.decompile(Message.from(Buffer.from(bytes.subarray(1 + 64 * signatures))));
    const [gas, other] = [walletKey('gas', 0).key, thief.solana].map((hex) => new PublicKey(Buffer.from(hex, 'hex')));
    assert.ok(gas && other);
    honest.instructions.push(SystemProgram.transfer({ fromPubkey: gas, toPubkey: other, lamports: units }));
    const message = honest.compileToLegacyMessage().serialize();
    const signed = [walletKey('gas', 0), depositKey(1)].map(({ secret }) => ed25519.sign(message, secret));
    const whole = new Uint8Array(Buffer.concat([Buffer.of(signed.length), ...signed, message]));
    assert.equal(await node.broadcast(whole), { kind: 'accepted' });
  },
};

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: coins that are stolen as if a sweep had cost them are missed, beside sweeps that are learned`, async () => {
    const bench = await openSwept(family);
    const { sim, database, passMinutes, walletKey } = bench;
    const tx = await sweepUnknown(bench, 0);
    bench.advance(10_000);
    const held = () => sim.world.accounts().native(walletKey('gas', 0).key);
    const before = held();
    await steal[family](bench, 7n * COIN[family]);
    bench.advance(10_000);
    assert.ok(before - held() >= 7n * COIN[family]);
    await passMinutes(MINUTES);
    assert.equal(await listed(bench, family === 'tron' ? 'gas' : 'sweep'), [['succeeded', tx]]);
    assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
    const [row] = await database.listOutgoing(network, 10);
    assert.equal([row?.currency, row?.role, row?.state], ['native', 'gas', 'recorded']);
  });
}

test('tron: coins for a deposit address that the refund wallet sent, which the signer never signs, are missed', async () => {
  const bench = await openSwept('tron');
  const { database, giveGas, passMinutes, walletKey } = bench;
  await giveGas('ga_1', 0, 7n * COIN.tron, { payer: walletKey('refund', 0) });
  await passMinutes(MINUTES);
  assert.equal(await listed(bench, 'gas'), []);
  assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
});

/** A deposit address from which the engine has swept once, and which has got money for two sweeps more since. */
async function openSweptBefore(through?: NodeBenchOptions['through']) {
  const bench = await openSwept('evm', through && { through });
  const { sim, database, depositKey, clock, passMinutes } = bench;
  const { key } = depositKey(0);
  sim.world.fund(key, COIN.evm);
  const planSweep = async (id: string, units: bigint) => {
    const intent = { kind: 'sweep', id, network, currency: 'USDT', from: [{ index: 0, units }] } as const;
    const nowMs = clock.nowMs();
    await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  };
  await planSweep('sw_1', 5n * USDT);
  await passMinutes(4);
  assert.is((await database.findPayout('sw_1'))?.state, 'succeeded');
  for (const units of [4n, 3n]) sim.pay(key, units * USDT);
  await passMinutes(2);
  return { ...bench, key, planSweep, states: async () => (await listed(bench, 'sweep')).map(([state]) => state) };
}

test('evm: a deposit address that was swept before the snapshot and after it goes on without a command', async () => {
  const bench = await openSweptBefore();
  const { database, sweep, planSweep, passMinutes, paid, key, treasury, states } = bench;
  const lost = await sweep('sw_2', 0, 4n * USDT);
  await passMinutes(2);
  await planSweep('sw_3', 3n * USDT);
  await passMinutes(5);
  assert.equal(await states(), ['succeeded', 'succeeded', 'succeeded']);
  assert.equal(paid(key, treasury), [5n * USDT, 4n * USDT, 3n * USDT]);
  const learned = (await database.listPayouts({ network, kind: 'sweep', limit: 9 })).find(({ tx }) => tx === lost);
  const [attempt] = await database.listPayoutAttempts(learned?.id ?? '');
  assert.equal([attempt?.payer, attempt?.payerRole, attempt?.nonce], [key, 'collection', 1]);
  assert.ok((attempt?.feeUnits ?? 0n) > 0n);
  await isUnstopped(bench);
});

test('evm: a sweep that the lost run made of a payout which waits here settles that payout', async () => {
  const bench = await openSweptBefore();
  const { database, node, signSweep, planSweep, passMinutes, paid, key, treasury, states } = bench;
  const { tx, bytes } = await signSweep('sw_2', 0, 4n * USDT);
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  bench.advance(120_000);
  await planSweep('sw_2', 4n * USDT);
  await passMinutes(4);
  assert.equal(await states(), ['succeeded', 'succeeded']);
  assert.is((await database.findPayout('sw_2'))?.tx, tx);
  assert.equal(paid(key, treasury), [5n * USDT, 4n * USDT]);
  await isUnstopped(bench);
});

test('evm: a deposit address of which the nodes do not show that sweep is halted until they do', async () => {
  let isShown = false;
  const bench = await openSweptBefore((node) => ({
    ...node,
    usedBy: async (...asked) => (isShown ? node.usedBy(...asked) : null),
  }));
  const { database, sweep, planSweep, passMinutes, states, thawSigner } = bench;
  await sweep('sw_2', 0, 4n * USDT);
  await passMinutes(2);
  await planSweep('sw_3', 3n * USDT);
  await passMinutes(2);
  assert.equal(
    (await database.haltedLanes()).map(({ payer }) => payer),
    [bench.key],
  );
  isShown = true;
  await passMinutes(2);
  thawSigner();
  await passMinutes(4);
  assert.equal([await database.haltedLanes(), await database.listFreezes()], [[], []]);
  assert.equal(await states(), ['succeeded', 'succeeded', 'succeeded']);
});

test('evm: a thief who has a deposit address’ key hides nothing behind a sweep', async () => {
  const bench = await openSweptBefore();
  const { database, planSweep, passMinutes, payUnknown, depositKey } = bench;
  await payUnknown('stolen', thief.evm, 4n * USDT, depositKey(0));
  await passMinutes(2);
  await planSweep('sw_3', 3n * USDT);
  await passMinutes(3);
  assert.equal(
    (await database.listFreezes()).map(({ code }) => code),
    ['payout_nonce_foreign'],
  );
  assert.is((await database.haltedLanes()).length, 1);
});

test.run();
