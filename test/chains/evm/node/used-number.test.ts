/** What used a wallet's number, on nodes that keep few states, or no index of old transactions. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startLyingProxy } from '../../../support/lying-proxy.ts';
import { makePayoutBench } from '../payout-bench.ts';

const bench = await makePayoutBench();
const { anvil, open, openFundedWallets, prepare, send, mineFinal } = bench;
const proxy = await startLyingProxy(anvil);
test.before.each(() => proxy.heal());
test.after(async () => {
  await proxy.close();
  await bench.close();
});
const payee = 'cc'.repeat(20);
/** Blocks that a search reads after the transaction before. */
const SEARCHED = 65;
/** How geth answers for a state that it no longer keeps. */
const pruned = { code: -32000, message: 'missing trie node' };

/** A wallet that has paid twice, and nothing else in `blocks` blocks in between. */
async function openPaidTwice(blocks: number) {
  const wallets = await openFundedWallets();
  const txs: string[] = [];
  for (const units of [5n, 7n]) {
    const attempt = await prepare(wallets, { ...wallets.refund('USDT', units), to: payee });
    await send(attempt);
    await anvil.mine();
    txs.push(attempt.tx);
    if (txs.length === 1) await anvil.mine(blocks);
  }
  await mineFinal();
  return { payer: wallets.keyOf({ role: 'refund' }), txs: txs as [string, string] };
}

test('a node without an index of old transactions reads them in their block', async () => {
  const { payer, txs } = await openPaidTwice(1);
  const node = open({ url: proxy.httpUrl });
  const shown = await node.usedBy(payer, 1);
  assert.equal(shown, { tx: txs[1], tokens: [{ currency: 'USDT', to: payee, units: 7n }], native: null });
  for (const hidden of ['eth_getTransactionByHash', 'eth_getTransactionReceipt']) {
    proxy.lies.answer = ({ method }, answer) => (method === hidden ? { ...answer, result: null } : answer);
    assert.equal(await node.usedBy(payer, 1), shown, hidden);
  }
  proxy.lies.answer = ({ method }, answer) => {
    if (method === 'eth_getTransactionByHash') return { ...answer, result: null };
    if (method !== 'eth_getBlockReceipts') return answer;
    const { result: _, ...rest } = answer;
    return { ...rest, error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist' } };
  };
  const fault = await node.usedBy(payer, 1).catch((error: unknown) => error);
  assert.match(String(fault), `does not find ${txs[1]} of block`);
  assert.match(String(fault), 'rpc_url and witness_url that keeps the index of all transactions');
});

test('blocks in which a number was searched are not read for it again', async () => {
  const { payer, txs } = await openPaidTwice(2 * SEARCHED);
  const read: unknown[] = [];
  proxy.lies.answer = ({ method, params }, answer) => {
    if (method === 'eth_getBlockByNumber' && params[1] === true) read.push(params[0]);
    if (method !== 'eth_getTransactionCount') return answer;
    const { result: _, ...rest } = answer;
    return { ...rest, error: pruned };
  };
  const node = open({ url: proxy.httpUrl });
  for (let times = 0; times < 3; times++) assert.is(await node.usedBy(payer, 1, txs[0]), null);
  assert.equal([read.length, new Set(read).size], [SEARCHED, SEARCHED]);
});

test('a search goes on with the blocks that have become final since', async () => {
  const wallets = await openFundedWallets();
  const payer = wallets.keyOf({ role: 'refund' });
  const first = await prepare(wallets, { ...wallets.refund('USDT', 5n), to: payee });
  await send(first);
  await mineFinal();
  proxy.lies.answer = ({ method }, answer) => {
    if (method !== 'eth_getTransactionCount') return answer;
    const { result: _, ...rest } = answer;
    return { ...rest, error: pruned };
  };
  const node = open({ url: proxy.httpUrl });
  assert.is(await node.usedBy(payer, 1, first.tx), null);
  const second = await prepare(wallets, { ...wallets.refund('USDT', 7n), to: payee });
  await send(second);
  await mineFinal();
  assert.is((await node.usedBy(payer, 1, first.tx))?.tx, second.tx);
});

test.run();
