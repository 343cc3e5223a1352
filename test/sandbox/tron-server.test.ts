/**
 * The simulated java-tron at its socket: its odd answers, its two interfaces and its control methods. The shapes of its
 * answers are compared with a real one's in `tron-recorded.test.ts`.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { accountKey, type SimulatedNode, startSimulatedNode, tronTokenKeys } from '../support/simulated-node.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
type Json = any;

const payee = accountKey('payee');
let node: SimulatedNode;

test.before(async () => {
  node = await startSimulatedNode({ family: 'tron', seed: 'server', finalityDistance: 3 });
});
test.after(() => node.close());
test.after.each(() => node.faults.heal());

const ask = async (path: string, body: object = {}): Promise<Json> => JSON.parse(await node.post(path, body));

test('a transferFrom has its own call data, and a caller other than its payer', async () => {
  node.pay(payee, 5n, 'delegated');
  const { number } = node.world.mine();
  const block = await ask('/wallet/getblock', { id_or_num: String(number), detail: true });
  const { data, owner_address, contract_address } = block.transactions[0].raw_data.contract[0].parameter.value;
  const payer = accountKey('payer');
  assert.is(contract_address, `41${tronTokenKeys[0]}`);
  assert.is(data, `23b872dd${payer.padStart(64, '0')}${payee.padStart(64, '0')}${'5'.padStart(64, '0')}`);
  assert.is.not(owner_address, `41${payer}`);
  const [ours] = await ask('/wallet/gettransactioninfobyblocknum', { num: number });
  assert.equal(
    ours.log[0].topics.slice(1).map((topic: string) => topic.slice(24)),
    [payer, payee],
  );
});

test('a replaced block is unknown, with its transactions', async () => {
  const tx = node.pay(payee, 9n);
  const { hash, number } = node.world.mine();
  assert.is((await ask('/wallet/gettransactioninfobyid', { value: tx })).blockNumber, number);
  node.world.reorg({ depth: 1, keep: 'none' });
  assert.equal(await ask('/wallet/getblock', { id_or_num: hash }), {});
  assert.equal(await ask('/wallet/gettransactioninfobyid', { value: tx }), {});
});

test('the solidified interface shows the final part of the chain', async () => {
  for (let left = 6; left > 0; left--) node.world.mine();
  const tip = node.world.tip().number;
  const numberOf = (block: Json) => block.block_header.raw_data.number;
  assert.is(numberOf(await ask('/wallet/getblock')), tip);
  assert.is(numberOf(await ask('/walletsolidity/getblock')), tip - 3);
  assert.is(numberOf(await ask('/walletsolidity/getnowblock')), tip - 3);
  assert.equal(await ask('/walletsolidity/getblock', { id_or_num: String(tip - 2) }), {});
  assert.is(numberOf(await ask('/walletsolidity/getblock', { id_or_num: String(tip - 3) })), tip - 3);
});

test('control is JSON-RPC at the root', async () => {
  const before = node.world.tip().number;
  const answer = await ask('/', { jsonrpc: '2.0', id: 1, method: 'sandbox_mine', params: [{ blocks: 2 }] });
  assert.is(answer.result.number, before + 2);
  assert.is(answer.result.hash, node.world.tip().hash, 'in the family’s own format');
  assert.is((await ask('/', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })).error.code, -32601);
});

test.run();
