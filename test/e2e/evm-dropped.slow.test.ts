/**
 * A whole installation on a node that accepts every transaction and relays none for ten minutes of blocks; afterwards
 * all that it was given is in its pool.
 */
import { keccak256 } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closeBooks } from '../conformance/refund.ts';
import { startAnvil } from '../support/anvil.ts';
import type { Json } from '../support/instance.ts';
import { startLyingProxy } from '../support/lying-proxy.ts';
import { until } from '../support/until.ts';
import { ethereum, openEvmPayouts } from './evm.ts';

/** As many as ten minutes have at `block_time_ms` of the suites. */
const BLOCKS = 600;
const HIGH_BASE_FEE_WEI = 300n * 10n ** 9n;

const node = await startAnvil({ chainId: 1, slotsInAnEpoch: 2, mining: { everyS: 0.4 } });
const proxy = await startLyingProxy(node);
const { shop } = await openEvmPayouts({ ...ethereum, settings: { url: proxy.wsUrl } }, node);
const { quayside, refundWallet } = shop;
test.after(async () => {
  await shop.close();
  await proxy.close();
});

/** What the node was given since it drops everything, in order, again and again. */
const given: string[] = [];

function dropAll(): void {
  proxy.lies.question = (asked) =>
    asked.method === 'eth_sendRawTransaction' ? { ...asked, method: 'eth_blockNumber', params: [] } : asked;
  proxy.lies.answer = ({ method, params }, answer) => {
    if (method !== 'eth_sendRawTransaction') return answer;
    const raw = String(params[0]);
    given.push(raw);
    return { jsonrpc: '2.0', id: answer.id, result: keccak256(raw) };
  };
}

const relayAll = async () => {
  for (const raw of new Set(given)) await node.sendRaw(raw).catch(() => null);
};

test('a refund whose transactions are dropped for ten minutes of blocks is paid once, and nothing freezes', async () => {
  await shop.chain.pay(refundWallet, 'USDT', 1_000_000_000n);
  // Its payment would never be final while blocks come only by hand.
  await quayside.cli('store', 'set', '--refund-early-max', '1000.00');
  const session = await shop.paidSession(1_000);
  await node.mineEvery(0);
  dropAll();
  const { id, payee } = await shop.refund(session, '4.00');
  await until('the node was given it', async () => given.length > 0);
  await node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${HIGH_BASE_FEE_WEI.toString(16)}`]);
  await node.mineEvery(8);
  await until('it was outbid', async () => new Set(given).size > 1);
  await node.mineEvery(0);
  await node.mine(BLOCKS);
  const before = given.length;
  await until('the newest bytes were sent again', async () => given.length > before + 1);
  assert.equal([await shop.paidTo(payee), (await shop.show(id)).status], [[], 'processing']);

  proxy.heal();
  await relayAll();
  await node.mineEvery(1);
  await shop.completed(id);
  await relayAll();
  await node.mine(5);
  assert.equal(await shop.paidTo(payee), [4_000_000n]);
  const [listed] = (await quayside.cli('refund', 'list')).filter((one: Json) => one.refund_id === id);
  const { attempts } = (await quayside.cli('show', listed.id)).payout;
  assert.is(new Set(attempts.map(({ number }: Json) => number)).size, 1, 'one number');
  assert.equal(
    attempts.map((one: Json) => one.transaction_hash).sort(),
    [...new Set(given)].map((raw) => keccak256(raw)).sort(),
    'all that was given is known',
  );
  const { payouts } = await quayside.cli('status');
  assert.equal([payouts.frozen, payouts.halted_wallets], [[], []]);
});

closeBooks(shop);
