/**
 * The simulated java-tron at its socket: its odd answers, its two interfaces and its control methods. The shapes of its
 * answers are compared with a real one's in `tron-recorded.test.ts`.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronWire } from '../../src/chains/tron/wire.ts';
import { accountKey } from '../support/sandbox-node.ts';
import { tronContent } from '../support/tron-content.ts';
import { startTronNode, TRON_CHAIN_ID, type TronNode, tronTokenKeys, tronTokens } from '../support/tron-node.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
type Json = any;

const payee = accountKey('payee');
let node: TronNode;

test.before(async () => {
  node = await startTronNode({ seed: 'server', finalityDistance: 3 });
});
test.after(() => node.close());
test.after.each(() => node.faults.heal());

const ask = async (path: string, body: object = {}): Promise<Json> => JSON.parse(await node.ask(path, body));

test('infos by block and by id are the same, and say so only of a failure', async () => {
  const [paid, failed] = [node.pay(payee, 5n), node.pay(payee, 6n, 'failed')];
  const { number } = node.world.mine();
  const infos = await ask('/wallet/gettransactioninfobyblocknum', { num: number });
  for (const [at, value] of [paid, failed].entries()) {
    assert.equal(await ask('/wallet/gettransactioninfobyid', { value }), infos[at]);
  }
  assert.equal(
    infos.map(({ result }: Json) => result),
    [undefined, 'FAILED'],
  );
});

test('failed transactions keep their logs on request, and are no payments', async () => {
  node.faults.set({ rates: { failed_logs: 1 } });
  node.pay(payee, 7n, 'failed');
  const { number, hash, parent, timeS } = node.world.mine();
  const [block, infos] = [
    await node.ask('/wallet/getblock', { id_or_num: String(number), detail: true }),
    await node.ask('/wallet/gettransactioninfobyblocknum', { num: number }),
  ];
  assert.is(JSON.parse(infos)[0].log.length, 1);
  const content = tronContent({ number, hash, parent, timeS }, block, infos);
  assert.equal(
    tronWire.decode(content, tronTokens, () => true),
    [],
  );
});

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

test('default values are omitted', async () => {
  const { number } = node.world.mine();
  const empty = await ask('/wallet/getblock', { id_or_num: String(number), detail: true });
  assert.equal(Object.keys(empty), ['blockID', 'block_header']);
  assert.is(empty.block_header.raw_data.txTrieRoot, '0'.repeat(64));
  const first = await ask('/wallet/getblock', { id_or_num: '0' });
  assert.is(first.block_header.raw_data.number, undefined);
  assert.is(Number.parseInt(first.blockID.slice(-8), 16), Number(TRON_CHAIN_ID));
  assert.match(first.blockID, /^0{16}/);
});

test('unknown things are {}, unknown infos [], and the first block’s infos {}', async () => {
  const beyond = node.world.tip().number + 5;
  assert.equal(await ask('/wallet/getblock', { id_or_num: String(beyond) }), {});
  assert.equal(await ask('/wallet/getblock', { id_or_num: node.world.tip().hash.replace(/.{8}$/, '00000000') }), {});
  assert.equal(await ask('/wallet/gettransactioninfobyblocknum', { num: beyond }), []);
  assert.equal(await ask('/wallet/gettransactioninfobyblocknum', { num: 0 }), {});
  assert.equal(await ask('/wallet/gettransactioninfobyid', { value: 'ab'.repeat(32) }), {});
});

test('a replaced block is unknown, with its transactions', async () => {
  const tx = node.pay(payee, 9n);
  const { hash, number } = node.world.mine();
  assert.is((await ask('/wallet/gettransactioninfobyid', { value: tx })).blockNumber, number);
  node.world.reorg({ depth: 1, keep: 'none' });
  assert.equal(await ask('/wallet/getblock', { id_or_num: hash }), {});
  assert.equal(await ask('/wallet/gettransactioninfobyid', { value: tx }), {});
});

test('a method that is switched off is not found, and other verbs are not supported', async () => {
  const post = (path: string, method = 'POST') => fetch(`${node.url}${path}`, { method });
  assert.is((await post('/wallet/createwitness')).status, 405);
  assert.is((await post('/wallet/getblock', 'DELETE')).status, 405);
  node.faults.set({ rates: { method_off: 1 } });
  const off = await post('/wallet/getblock');
  assert.equal([off.status, await off.json()], [404, { Error: 'this API is unavailable due to config' }]);
  node.faults.set({ rates: { method_off: 0, rpc_error: 1 } });
  assert.match((await ask('/wallet/getblock')).Error, /lack of computing resources/);
  node.faults.set({ rates: { rpc_error: 0, history_closed: 1 } });
  assert.match(await node.ask('/wallet/gettransactioninfobyblocknum', { num: 1 }), /^this API is closed/);
});

test('GET works as POST does', async () => {
  const { number } = node.world.mine();
  const get = async (path: string): Promise<Json> => (await fetch(`${node.url}${path}`)).json();
  assert.equal(await get('/wallet/getnowblock'), await ask('/wallet/getblock', { detail: true }));
  assert.equal(
    await get(`/wallet/getblock?id_or_num=${number}&detail=true`),
    await ask('/wallet/getblockbynum', { num: number }),
  );
  assert.equal(
    await get(`/wallet/gettransactioninfobyblocknum?num=${number}`),
    await ask('/wallet/gettransactioninfobyblocknum', { num: number }),
  );
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

test('constant calls read the chain; other accounts are not contracts', async () => {
  const [usdt, usdc] = tronTokenKeys;
  const call = (contract: string, selector: string, parameter = '') =>
    ask('/wallet/triggerconstantcontract', {
      owner_address: `41${'0'.repeat(40)}`,
      contract_address: `41${contract}`,
      function_selector: selector,
      parameter,
    });
  const decimals = await call(usdc, 'decimals()');
  assert.is(Number.parseInt(decimals.constant_result[0], 16), 18);
  node.pay(accountKey('rich'), 77n);
  node.world.mine();
  const balance = await call(usdt, 'balanceOf(address)', accountKey('rich').padStart(64, '0'));
  assert.is(BigInt(`0x${balance.constant_result[0]}`), 77n);
  const stranger = await call(accountKey('nobody'), 'decimals()');
  assert.is(stranger.result.code, 'CONTRACT_VALIDATE_ERROR');
  assert.is(Buffer.from(stranger.result.message, 'hex').toString(), 'Smart contract is not exist.');
  assert.equal((await call(usdt, 'mint()')).transaction.ret, [{ ret: 'FAILED' }]);
});

test('control is JSON-RPC at the root', async () => {
  const before = node.world.tip().number;
  const answer = await ask('/', { jsonrpc: '2.0', id: 1, method: 'sandbox_mine', params: [{ blocks: 2 }] });
  assert.is(answer.result.number, before + 2);
  assert.is(answer.result.hash, node.world.tip().hash, 'in the family’s own format');
  assert.is((await ask('/', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })).error.code, -32601);
});

test.run();
