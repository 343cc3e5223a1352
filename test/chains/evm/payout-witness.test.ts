/** Two nodes that watch one chain: outcomes stand only where both of them have them as final. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import { type Lies, startLyingProxy } from '../../support/lying-proxy.ts';
import { faultOf, makePayoutBench, nothingYet } from './payout-bench.ts';
import type { Attempt, Till } from './till.ts';

const bench = await makePayoutBench();
const { anvil, open, openFundedTill, prepare, send, fateOf, mineFinal, spendElsewhere } = bench;
const proxy = await startLyingProxy(anvil);
test.before.each(() => proxy.heal());
test.after(async () => {
  await proxy.close();
  await bench.close();
});
const paired = open({ witnessUrl: proxy.httpUrl });
/** The liar is the main node and the witness is honest. */
const pairedOther = open({ url: proxy.httpUrl, witnessUrl: anvil.httpUrl });

async function paid(): Promise<Readonly<{ till: Till; intent: RefundIntent; attempt: Attempt }>> {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 5n);
  const attempt = await prepare(till, intent);
  await send(attempt);
  await anvil.mine();
  await mineFinal();
  return { till, intent, attempt };
}

const hidden: NonNullable<Lies['answer']> = ({ method }, answer) =>
  method === 'eth_getTransactionReceipt' ? { ...answer, result: null } : answer;

test('two nodes that agree settle it', async () => {
  const { till, intent, attempt } = await paid();
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'succeeded');
});

test('a node that denies what another has seen makes nobody foreign', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = hidden;
  for (const pair of [paired, pairedOther]) {
    const fault = await faultOf(fateOf(till, intent, [attempt], pair));
    assert.is(fault.kind, 'transient');
    assert.is(fault.code, 'payout_nodes_disagree');
  }
});

test('a node that calls a success a failure settles nothing', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), status: '0x0', logs: [] } }
      : answer;
  for (const pair of [paired, pairedOther]) {
    assert.is((await faultOf(fateOf(till, intent, [attempt], pair))).code, 'payout_nodes_disagree');
  }
});

test('a node whose finality is behind holds the outcome up', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method, params }, answer) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? { ...answer, result: null } : answer;
  for (const pair of [paired, pairedOther]) {
    const fate = await fateOf(till, intent, [attempt], pair);
    assert.is(fate.kind === 'waiting' && fate.included?.tx, attempt.tx);
  }
  await anvil.mine(12);
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'succeeded', 'its depth is enough in the end');
});

test('both see what is foreign', async () => {
  const till = await openFundedTill();
  const intent = till.refund('USDT', 5n);
  const attempt = await prepare(till, intent);
  await spendElsewhere(till, 0);
  await anvil.mine();
  await mineFinal();
  assert.is((await fateOf(till, intent, [attempt], paired)).kind, 'foreign');
});

test('a witness that is silent, of another chain, or shows another block settles nothing', async () => {
  const { till, intent, attempt } = await paid();
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
    assert.is((await faultOf(fateOf(till, intent, [attempt], paired))).code, code);
  }
  proxy.heal();
  proxy.lies.status = 503;
  assert.is((await faultOf(fateOf(till, intent, [attempt], paired))).kind, 'transient');
});

test('a receipt from a block that is not the chain’s own is no inclusion', async () => {
  const { till, intent, attempt } = await paid();
  proxy.lies.answer = ({ method }, answer) =>
    method === 'eth_getTransactionReceipt'
      ? { ...answer, result: { ...(answer.result as object), blockHash: `0x${'34'.repeat(32)}` } }
      : answer;
  const alone = open({ url: proxy.httpUrl });
  assert.equal(await fateOf(till, intent, [attempt], alone), nothingYet);
});

test('a node of another chain quotes nothing and tells no number', async () => {
  const till = await openFundedTill();
  const wrong = open({ chainId: '1' });
  const wallet = till.keyOf({ role: 'refund' });
  const draft = till.draft(till.refund('USDT', 1n));
  for (const work of [() => wrong.sequence(wallet), () => wrong.balance(wallet), () => wrong.quote(draft, 0, [])]) {
    assert.is((await faultOf(work())).code, 'node_wrong_chain');
  }
});

test.run();
