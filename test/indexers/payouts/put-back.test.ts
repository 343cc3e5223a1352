/**
 * Database and signer's journal are put back while a refund that was signed since is on its way and in no block. Where
 * transactions have numbers, it is paid once.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import type { PayoutNode, SignedSpend } from '../../../src/chains/spend.ts';
import { transient } from '../../../src/core/fault.ts';
import { isRefused, type Terms } from '../../../src/core/spend.ts';
import { refundOf } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
/** How long everything waits after the machine was put back; a minute and a half more, and it is final and read. */
const WAIT_MS = 240_000;
const HELD = 'payouts_settling';
const [payee, other] = [thief.evm, 'cc'.repeat(20)];
/** Below the base fee of every block. */
const tooLow: Terms = { max_fee_per_gas: '500000000', max_priority_fee_per_gas: '1' };
test.after(closeBenches);

type Options = Readonly<{ through?: (node: PayoutNode) => PayoutNode; refundIndex?: number }>;

/** A bench whose refund wallets hold money. `putBack` starts a run after a gap. */
async function openBench({ through, refundIndex = 0 }: Options = {}) {
  const wallets = { refund: refundIndex, gas: 0 };
  const bench = await openNodeBench('evm', { settles: true, expiryMs: WAIT_MS, wallets, ...(through && { through }) });
  const { sim, walletKey, treasury, database, passMinutes } = bench;
  const wallet = walletKey('refund', 0);
  sim.world.fund(wallet.key, 100n * COIN.evm);
  sim.pay(wallet.key, 50n * USDT);
  await passMinutes(1);

  return {
    ...bench,
    wallet,
    /** Starts another run after a gap. */
    putBack(): void {
      bench.clock.advance(121_000);
      bench.restart();
    },
    /** Signs a refund of three USDT as the lost run did, and sends it. */
    async lose(id: string, to: string, nonce: number, changes: Terms = {}): Promise<SignedSpend> {
      const { chainId, tokens } = simulatedChains.evm;
      const intent = refundOf(id, 3n * USDT, { network, to });
      const terms = { nonce: String(nonce), gas_limit: '100000', ...dear, ...changes };
      const of = { chainId, tokens, treasury, feeUnitsMax: 10n ** 30n };
      const signed = evmSpending.sign({ network: of, intent, terms }, [wallet]);
      return signed;
    },
    sentCount: async (id: string) => (await database.listPayoutAttempts(id)).length,
    stateOf: async (id: string) => (await database.findPayout(id))?.state,
  };
}
const dear: Terms = { max_fee_per_gas: '5000000000', max_priority_fee_per_gas: '2000000' };
const three = [3n * USDT];

/** Gives a refund number 0, as a run does that ends before it has it signed. */
async function allotUnsigned({ database, clock, wallet }: Awaited<ReturnType<typeof openBench>>, id: string) {
  const payout = await database.findPayout(id);
  assert.ok(payout);
  await database.offerNonce(network, wallet.key, 0, clock.nowMs());
  const of = { id, generation: 0, attempt: 0, intent: payout.intent, payer: wallet.key } as const;
  const terms = { nonce: '0', gas_limit: '100000', ...dear };
  const allotted = { ...of, payerRole: 'refund', nonce: 0, terms, feeUnitsMax: 10n ** 15n } as const;
  assert.is((await database.allotAttempt({ ...allotted, nowMs: clock.nowMs() })).kind, 'allotted');
}

test('a refund that was on its way is paid once, by what was on its way; until then nothing is allotted or canceled', async () => {
  const bench = await openBench();
  const { node, look, pass, passMinutes, planRefund, paid, database, clock, wallet } = bench;
  const old = await bench.lose('rf_1', payee, 0);
  await node.broadcast(old.bytes);
  bench.putBack();

  await planRefund('rf_2', other, 2n * USDT);
  await planRefund('rf_1', payee, 3n * USDT);
  assert.equal([await look(), await look()], [HELD, HELD]);
  assert.equal([await bench.sentCount('rf_1'), await bench.sentCount('rf_2')], [0, 0]);
  await database.reportEngine(network, { code: HELD, message: 'as the engine says' }, clock.nowMs());
  assert.is(await database.cancelPayout('rf_1', clock.nowMs()), false);
  await pass(61_000);
  await pass(61_000);
  assert.equal([await bench.stateOf('rf_1'), (await database.findPayout('rf_1'))?.tx], ['succeeded', old.tx]);
  // The other one waits until every node can have heard of what may be on its way besides.
  const reported = await passMinutes(1);
  assert.equal([...new Set(reported)], [HELD]);
  assert.is(await bench.sentCount('rf_2'), 0);
  await passMinutes(4);
  assert.is(await bench.stateOf('rf_2'), 'succeeded');
  assert.equal([paid(wallet.key, payee), paid(wallet.key, other)], [three, [2n * USDT]]);
  assert.equal(await database.listFreezes(), []);
});

test('the same with two numbers on their way, of which the first pays somebody else', async () => {
  const bench = await openBench();
  const { node, look, passMinutes, planRefund, paid, wallet } = bench;
  for (const { bytes } of [await bench.lose('rf_x', other, 0), await bench.lose('rf_1', payee, 1)])
    await node.broadcast(bytes);
  bench.putBack();
  await planRefund('rf_1', payee, 3n * USDT);
  await planRefund('rf_x', other, 3n * USDT);
  assert.is(await look(), HELD);
  await passMinutes(6);
  assert.equal([await bench.stateOf('rf_1'), await bench.stateOf('rf_x')], ['succeeded', 'succeeded']);
  assert.equal([paid(wallet.key, payee), paid(wallet.key, other)], [three, three]);
});

test('a node that hears of it only minutes after the start is in time; one that hears of it later stops the next number', async () => {
  for (const minutes of [2, 6]) {
    const bench = await openBench();
    const { node, pass, passMinutes, planRefund, paid, wallet } = bench;
    const old = await bench.lose('rf_1', payee, 0);
    bench.putBack();
    const asks = minutes === 2;
    if (asks) await planRefund('rf_1', payee, 3n * USDT);
    await passMinutes(minutes);
    assert.is(await bench.sentCount('rf_1'), 0);
    await node.broadcast(old.bytes);
    if (!asks) await planRefund('rf_1', payee, 3n * USDT);
    assert.is(await bench.look(), asks ? HELD : null, `after ${minutes} minutes`);
    assert.is(await bench.sentCount('rf_1'), 0);
    await pass(61_000);
    await passMinutes(2);
    assert.is(await bench.stateOf('rf_1'), 'succeeded');
    assert.equal(paid(wallet.key, payee), three);
  }
});

test('while any node cannot be asked, nothing is signed', async () => {
  let isDown = false;
  const through = (node: PayoutNode): PayoutNode => ({
    ...node,
    async count(key) {
      if (isDown) throw transient('node_unreachable', 'the second node does not answer');
      return node.count(key);
    },
  });
  const bench = await openBench({ through });
  const { passMinutes, planRefund, paid, wallet } = bench;
  isDown = true;
  bench.putBack();
  await planRefund('rf_1', payee, 3n * USDT);
  assert.equal([...new Set(await passMinutes(6))], [HELD]);
  isDown = false;
  await passMinutes(8);
  assert.equal([await bench.stateOf('rf_1'), paid(wallet.key, payee)], ['succeeded', three]);
});

test('a number that was allotted but not signed here may have been used for another refund', async () => {
  const bench = await openBench();
  const { node, look, passMinutes, planRefund, paid, wallet } = bench;
  await planRefund('rf_2', other, 3n * USDT);
  await allotUnsigned(bench, 'rf_2');
  await node.broadcast((await bench.lose('rf_1', payee, 0, tooLow)).bytes);
  bench.putBack();
  await planRefund('rf_1', payee, 3n * USDT);
  assert.is(await look(), HELD);
  assert.equal([...new Set(await passMinutes(6))], [HELD]);
  assert.equal([paid(wallet.key, payee), await bench.sentCount('rf_1')], [[], 0]);
});

test('what has used such a number settles its refund, and the other one is paid with another number', async () => {
  const bench = await openBench();
  const { database, node, look, passMinutes, planRefund, paid, wallet } = bench;
  await planRefund('rf_2', other, 3n * USDT);
  await allotUnsigned(bench, 'rf_2');
  await node.broadcast((await bench.lose('rf_1', payee, 0)).bytes);
  bench.putBack();
  await planRefund('rf_1', payee, 3n * USDT);
  assert.is(await look(), HELD);
  await passMinutes(9);
  assert.equal([await bench.stateOf('rf_1'), await bench.stateOf('rf_2')], ['succeeded', 'succeeded']);
  assert.equal([paid(wallet.key, payee), paid(wallet.key, other)], [three, three]);
  assert.equal([await database.haltedLanes(), await database.listFreezes()], [[], []]);
});

test('what never gets into a block is excluded by emptying its wallet by hand, once another one pays', async () => {
  const bench = await openBench({ refundIndex: 1 });
  const { sim, node, database, clock, passMinutes, planRefund, paid, wallet, walletKey } = bench;
  const next = walletKey('refund', 1);
  sim.world.fund(next.key, 100n * COIN.evm);
  sim.pay(next.key, 10n * USDT);
  for (const { bytes } of [await bench.lose('rf_x', other, 0, tooLow), await bench.lose('rf_1', payee, 1, tooLow)])
    await node.broadcast(bytes);
  bench.putBack();
  await planRefund('rf_1', payee, 3n * USDT);
  assert.equal([...new Set(await passMinutes(6))], [HELD]);
  assert.equal([await bench.sentCount('rf_1'), await bench.stateOf('rf_1')], [0, 'waiting']);

  // The operator empties it with a wallet program, and lets it go on after the number that this used.
  await bench.payUnknown('by hand', next.key, 50n * USDT);
  await passMinutes(5);
  assert.is((await database.findFreeze(network))?.code, 'payout_nonce_foreign');
  const { final } = (await node.count(wallet.key)) ?? {};
  await database.resumeLane(network, wallet.key, final ?? 0, clock.nowMs());
  await passMinutes(5);
  assert.equal([await database.findFreeze(network), await bench.stateOf('rf_1')], [null, 'succeeded']);
  assert.equal([paid(wallet.key, payee), paid(next.key, payee)], [[], three]);
  // Prices fall: what is left in the pool finds nothing to pay with.
  await sim.world.mine();
  assert.equal([paid(wallet.key, payee), paid(wallet.key, other)], [[], []]);
});

test('what is known here goes on meanwhile, and may pay more for its place in a block', async () => {
  let isCheap = true;
  const through = (node: PayoutNode): PayoutNode => ({
    ...node,
    async quote(draft, nonce, outbid) {
      const quote = await node.quote(draft, nonce, outbid);
      return isCheap && !isRefused(quote) ? { ...quote, terms: { ...quote.terms, ...tooLow }, feeUnitsMax: 1n } : quote;
    },
  });
  const bench = await openBench({ through });
  const { passMinutes, planRefund, paid, wallet } = bench;
  await planRefund('rf_1', payee, 3n * USDT);
  await passMinutes(1);
  assert.is(await bench.sentCount('rf_1'), 1);
  bench.putBack();
  isCheap = false;
  await planRefund('rf_2', other, 3n * USDT);
  await passMinutes(3);
  assert.equal([await bench.stateOf('rf_1'), await bench.sentCount('rf_1')], ['succeeded', 2]);
  assert.is(await bench.sentCount('rf_2'), 0, 'what is new waits');
  await passMinutes(5);
  assert.equal([paid(wallet.key, payee), paid(wallet.key, other)], [three, three]);
});

test('a restart within two minutes waits for nothing', async () => {
  const bench = await openBench();
  bench.restart();
  await bench.planRefund('rf_1', payee, 3n * USDT);
  assert.equal([await bench.look(), await bench.look()], [null, null]);
  assert.is(await bench.sentCount('rf_1'), 1);
});

test('solana: until what may be on its way has expired, it is not canceled, and nothing new is signed, because another wallet’s lock or another id excludes nothing', async () => {
  const through = (node: PayoutNode): PayoutNode => ({
    ...node,
    quote: async (draft, ...of) =>
      draft.intent.id === 'rf_4'
        ? { refused: 'destination_frozen', message: 'it is frozen now', missing: null }
        : node.quote(draft, ...of),
  });
  const bench = await openNodeBench('solana', { settles: true, through });
  const { sim, database, node, clock, walletKey, pass, passMinutes, planRefund, paid, restart } = bench;
  const { key } = walletKey('refund', 0);
  sim.world.fund(key, 100n * COIN.solana);
  sim.pay(key, 50n * USDT);
  await passMinutes(1);
  const cancel = (id: string) => database.cancelPayout(id, clock.nowMs());
  const old = await bench.signRefund('rf_1', thief.solana, 3n * USDT);
  clock.advance(121_000);
  restart();
  for (const id of ['rf_1', 'rf_2']) await planRefund(id, thief.solana, 3n * USDT, 3_600_000);
  await planRefund('rf_3', bench.treasury, 2n * USDT);
  await planRefund('rf_4', thief.solana, 4n * USDT);
  for (let n = 0; n < 5; n++) assert.is(await pass(6_000), HELD);
  assert.equal([await cancel('rf_1'), await cancel('rf_2')], [false, false]);
  assert.equal(await node.broadcast(old.bytes), { kind: 'accepted' });
  await passMinutes(1);
  const stateOf = async (id: string) => (await database.findPayout(id))?.state;
  assert.equal([await stateOf('rf_1'), (await database.findPayout('rf_1'))?.tx], ['succeeded', old.tx]);
  assert.equal([await stateOf('rf_3'), await stateOf('rf_4')], ['waiting', 'waiting']);
  assert.equal(await database.listPayoutAttempts('rf_3'), []);
  assert.is(await cancel('rf_2'), false);
  await passMinutes(10);
  assert.is(await stateOf('rf_3'), 'succeeded');
  assert.is(await stateOf('rf_4'), 'failed');
  assert.is(await cancel('rf_2'), true);
  assert.equal(paid(key, thief.solana), [3n * USDT]);
  assert.equal(await database.listFreezes(), []);
});

test.run();
