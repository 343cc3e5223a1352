/** Two nodes of one chain: an outcome counts only if both have it as final. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PayoutNode } from '../../../../src/chains/spend.ts';
import type { RefundIntent } from '../../../../src/core/intent.ts';
import { createRandom, type Random } from '../../../../src/sandbox/random.ts';
import { faultOf } from '../../../conformance/chain.ts';
import { type Lies, startLyingProxy } from '../../../support/lying-proxy.ts';
import { faultsOf, type LiedScene, spoiler, survivesLiar } from '../../random-lies.ts';
import { type Attempt, nothingYet, type SeedWallets } from '../../seed-wallets.ts';
import { makePayoutBench } from '../payout-bench.ts';

const bench = await makePayoutBench();
const { anvil, open, openFundedWallets, prepare, send, outcomeOf, finalize, spendElsewhere } = bench;
const proxy = await startLyingProxy(anvil);
test.before.each(() => proxy.heal());
test.after(async () => {
  await proxy.close();
  await bench.close();
});
const paired = open({ witnessUrl: proxy.httpUrl });
/** The liar is the main node and the witness is honest. */
const pairedOther = open({ url: proxy.httpUrl, witnessUrl: anvil.httpUrl });

async function paid(): Promise<Readonly<{ wallets: SeedWallets; intent: RefundIntent; attempt: Attempt }>> {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const attempt = await prepare(wallets, intent);
  await send(attempt);
  await anvil.mine();
  await finalize();
  return { wallets, intent, attempt };
}

test('a node that calls a success a failure determines nothing', async () => {
  const { wallets, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), status: '0x0', logs: [] } }
      : answer;
  for (const pair of [paired, pairedOther]) {
    assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], pair))).code, 'payout_nodes_disagree');
  }
});

test('a node whose finality lags delays the outcome', async () => {
  const { wallets, intent, attempt } = await paid();
  proxy.lies.answer = ({ method, params }, answer) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? { ...answer, result: null } : answer;
  for (const pair of [paired, pairedOther]) {
    const outcome = await outcomeOf(wallets, intent, [attempt], pair);
    assert.is(outcome.kind === 'waiting' && outcome.included?.tx, attempt.tx);
  }
  await anvil.mine(12);
  assert.is((await outcomeOf(wallets, intent, [attempt], paired)).kind, 'succeeded', 'its depth suffices later');
});

test('what either node has received counts as on its way; a silent one tells nothing', async () => {
  const wallets = await openFundedWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  const pendingOf = async (pair: PayoutNode) => (await pair.count(wallet))?.pending;
  assert.is(await pendingOf(paired), 0);
  await send(await prepare(wallets, wallets.refund('USDT', 5n)));
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionCount' ? { ...answer, result: '0x0' } : answer;
  assert.equal(await Promise.all([paired, pairedOther].map(pendingOf)), [1, 1]);
  proxy.heal();
  proxy.lies.status = 503;
  for (const pair of [paired, pairedOther]) assert.is((await faultOf(pair.count(wallet))).kind, 'transient');
  await anvil.mine();
});

test('a witness that is silent, on another chain, or shows another block determines nothing', async () => {
  const { wallets, intent, attempt } = await paid();
  const lies: readonly (readonly [string, NonNullable<Lies['answer']>])[] = [
    ['node_wrong_chain', ({ method }, answer) => (method === 'eth_chainId' ? { ...answer, result: '0x1' } : answer)],
    [
      'node_nonsense',
      ({ method }, answer) =>
        method === 'eth_getTransactionReceipt'
          ? { ...answer, result: { ...(answer.result as object), transactionHash: `0x${'12'.repeat(32)}` } }
          : answer,
    ],
    [
      'node_block_unknown',
      ({ method, params }, answer) =>
        method === 'eth_getBlockByNumber' && params[0] !== 'finalized' && params[0] !== 'latest'
          ? { ...answer, result: null }
          : answer,
    ],
  ];
  for (const [code, lie] of lies) {
    proxy.lies.answer = lie;
    assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], paired))).code, code);
  }
  proxy.heal();
  proxy.lies.status = 503;
  assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], paired))).kind, 'transient');
});

test('a receipt from a block that is not on the chain is not an inclusion', async () => {
  const { wallets, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), blockHash: `0x${'34'.repeat(32)}` } }
      : answer;
  const alone = open({ url: proxy.httpUrl });
  assert.equal(await outcomeOf(wallets, intent, [attempt], alone), nothingYet);
});

test('a success whose log shows another transfer is unclear', async () => {
  const { wallets, intent, attempt } = await paid();
  const alone = open({ url: proxy.httpUrl });
  const word = (digits: string) => `0x${digits.padStart(64, '0')}`;
  type Log = Readonly<{ address: string; topics: readonly string[]; data: string }>;
  const changes: Readonly<Record<string, (log: Log) => readonly Log[]>> = {
    none: () => [],
    'fewer units': (log) => [{ ...log, data: word('4') }],
    'more units': (log) => [{ ...log, data: word('6') }],
    'twice the units': (log) => [log, log],
    'another token': (log) => [{ ...log, address: bench.usdc.address }],
    'another sender': ({ topics, ...log }) => [{ ...log, topics: [topics[0] ?? '', word('1'), topics[2] ?? ''] }],
    'another payee': ({ topics, ...log }) => [{ ...log, topics: [...topics.slice(0, 2), word('1')] }],
    'another event': ({ topics, ...log }) => [{ ...log, topics: [word('1'), ...topics.slice(1)] }],
    'an indexed value': (log) => [{ ...log, topics: [...log.topics, log.data] }],
  };
  for (const [what, change] of Object.entries(changes)) {
    proxy.lies.answer = ({ method }, answer) => {
      if (method !== 'eth_getTransactionReceipt') return answer;
      const receipt = answer.result as Readonly<{ logs: readonly Log[] }>;
      return { ...answer, result: { ...receipt, logs: receipt.logs.flatMap(change) } };
    };
    assert.is((await faultOf(outcomeOf(wallets, intent, [attempt], alone))).code, 'payout_outcome_unclear', what);
  }
});

// ── Lies at random ───────────────────────────────────────────────────────────────────────────────────────────────────

const SEED = process.env.SEED ?? '1';
const ROUNDS = 50;

/** What a liar substitutes for some part of an answer. */
const substitutes: readonly unknown[] = [
  ...[null, true, false, '', '0x', '0x0', '0x1', '0x5', '0x40', `0x${'f'.repeat(64)}`, `0x${'f'.repeat(66)}`, 'zz', 7],
  ...[[], {}, `0x${'12'.repeat(32)}`],
];

/** A plausible answer, if there is one. */
function plausible(method: string, result: unknown, random: Random): unknown {
  if (method === 'eth_getTransactionCount') return `0x${random.int(4).toString(16)}`;
  if (method !== 'eth_getTransactionReceipt' || result === null) return result;
  const receipt = result as Record<string, unknown>;
  const lies = [null, { ...receipt, logs: [] }, { ...receipt, status: receipt.status === '0x1' ? '0x0' : '0x1' }];
  return lies[random.int(lies.length)];
}

async function scenes(): Promise<LiedScene[]> {
  const done = await paid();
  const waiting = await openFundedWallets();
  const unsent = waiting.refund('USDT', 3n);
  const first = await prepare(waiting, unsent);
  const robbed = await openFundedWallets();
  const lost = robbed.refund('USDT', 3n);
  const tooLate = await prepare(robbed, lost);
  const broken = await openFundedWallets();
  const reverted = broken.refund('USDC', 3n);
  const failing = await prepare(broken, reverted);
  await spendElsewhere(robbed, 0);
  await send(failing);
  await bench.usdc.stop(true, { feeWei: 10n ** 11n });
  await anvil.mine();
  await bench.usdc.stop(false);
  await finalize();
  return [
    { wallets: done.wallets, intent: done.intent, attempts: [done.attempt], truth: 'succeeded' },
    { wallets: waiting, intent: unsent, attempts: [first], truth: 'waiting' },
    { wallets: robbed, intent: lost, attempts: [tooLate], truth: 'foreign' },
    { wallets: broken, intent: reverted, attempts: [failing], truth: 'failed' },
  ];
}

test(`one honest node of two is enough: whatever the other answers, no false outcome is reported (SEED=${SEED})`, async () => {
  const random = createRandom('payout lies', SEED);
  const spoiled = spoiler(substitutes, random);
  const lie = () => {
    const isSubtle = random.chance(0.5);
    proxy.lies.answer = ({ method }, { result, ...rest }) => {
      if (rest.error || random.chance(0.4)) return { ...rest, ...(result !== undefined && { result }) };
      return { ...rest, result: isSubtle ? plausible(method, result, random) : spoiled(result) };
    };
  };
  const expected = ['succeeded', 'waiting', 'foreign', 'failed', 'payout_nodes_disagree', 'node_nonsense'];
  await survivesLiar(random, ROUNDS, await scenes(), [paired, pairedOther], lie, expected);
});

test(`a node that lies at random quotes or fails, and breaks nothing (SEED=${SEED})`, async () => {
  const random = createRandom('quote lies', SEED);
  const spoiled = spoiler(substitutes, random);
  const alone = open({ url: proxy.httpUrl });
  const wallets = await openFundedWallets();
  const draft = wallets.draft(wallets.refund('USDC', 3n));
  const asked = [
    () => alone.quote(draft, 0, []),
    () => alone.count(draft.payer),
    () => alone.balance(draft.payer),
    () => alone.broadcast(Uint8Array.of(2)),
  ];
  proxy.lies.answer = (_, answer) => {
    if (random.chance(0.5)) return answer;
    const { result, error: _unspoken, ...rest } = answer;
    if (random.chance(0.2)) return { ...rest, error: { code: -32000, message: 'internal error' } };
    return { ...rest, result: spoiled(result ?? null) };
  };
  assert.ok((await faultsOf(asked, 3 * ROUNDS)) > ROUNDS);
});

test.run();
