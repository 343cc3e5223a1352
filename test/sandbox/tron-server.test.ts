/**
 * The simulated java-tron at its socket: the recorded shapes, its odd answers, its two interfaces and its control
 * methods.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { accountKey } from '../support/sandbox-node.ts';
import { startTronNode, TRON_CHAIN_ID, type TronNode, tronTokenKeys } from '../support/tron-node.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
type Json = any;

const golden: Json = JSON.parse(readFileSync('test/vectors/tron-block.json', 'utf8'));
const answers: Json = JSON.parse(readFileSync('test/vectors/tron-answers.json', 'utf8'));
const payee = accountKey('payee');
let node: TronNode;

test.before(async () => {
  node = await startTronNode({ seed: 'server', finalityDistance: 3 });
});
test.after(() => node.close());
test.after.each(() => node.faults.heal());

const ask = async (path: string, body: object = {}): Promise<Json> => JSON.parse(await node.ask(path, body));

/** Returns fields and kinds of value, at any depth; lists by their first item, hex by its length. */
function shape(value: Json, path = '', into = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(value)) {
    into.set(path, 'list');
    if (value.length > 0) shape(value[0], `${path}[]`, into);
  } else if (typeof value === 'object' && value !== null) {
    into.set(path, 'object');
    for (const [name, inner] of Object.entries(value)) shape(inner, `${path}.${name}`, into);
  } else if (typeof value === 'string' && /^([0-9a-f]{2})+$/.test(value)) {
    into.set(path, /(data|Result|raw_data_hex|resMessage)(\[\])?$/.test(path) ? 'hex' : `hex of ${value.length}`);
  } else into.set(path, typeof value);
  return into;
}

/** Where ours has a field that the recorded one has not, or of another kind; `optional` ones may be absent there. */
function differences(recorded: Json, ours: Json): string[] {
  const there = shape(recorded);
  return [...shape(ours)].flatMap(([path, kind]) =>
    there.get(path) === kind ? [] : [`${path}: ${kind}, not ${there.get(path)}`],
  );
}

const transactionOf = (name: 'direct' | 'late' | 'revert'): [Json, Json] => {
  const at = { direct: 1, late: 4, revert: 5 }[name];
  return [golden.block.transactions[at], golden.infos[at]];
};

test('headers, blocks and infos have the recorded shapes', async () => {
  node.world.mine();
  node.pay(payee, 5n);
  const { number } = node.world.mine();
  const id = String(number);
  assert.equal(differences(answers.header, await ask('/wallet/getblock', { id_or_num: id })), []);
  const block = await ask('/wallet/getblock', { id_or_num: id, detail: true });
  const [transaction, info] = transactionOf('direct');
  assert.equal(differences(transaction, block.transactions[0]), []);
  const [ours] = await ask('/wallet/gettransactioninfobyblocknum', { num: number });
  // An account without energy burns TRX for it, and then there is a fee.
  const burning = { ...golden.infos[2], log: info.log };
  assert.equal(differences(burning, ours), []);
  assert.is(ours.result, undefined, 'omitted on success');
  assert.equal(await ask('/wallet/gettransactioninfobyid', { value: ours.id }), ours);
});

test('failed transactions are recorded as such: with logs when out of time, without when reverted', async () => {
  const seen = new Map<string, [Json, Json]>();
  for (let tries = 0; seen.size < 2; tries++) {
    assert.ok(tries < 50, 'both kinds occur');
    node.pay(payee, BigInt(tries + 1), 'failed');
    const { number } = node.world.mine();
    const block = await ask('/wallet/getblock', { id_or_num: String(number), detail: true });
    const [info] = await ask('/wallet/gettransactioninfobyblocknum', { num: number });
    seen.set(block.transactions[0].ret[0].contractRet, [block.transactions[0], info]);
  }
  for (const [result, name] of [
    ['OUT_OF_TIME', 'late'],
    ['REVERT', 'revert'],
  ] as const) {
    const [transaction, info] = transactionOf(name);
    const [ours, ourInfo] = seen.get(result) ?? [];
    assert.equal(differences(transaction, ours), [], result);
    assert.equal(differences(info, ourInfo), [], result);
    assert.is(ourInfo.log !== undefined, info.log !== undefined);
    assert.equal([ourInfo.result, ourInfo.receipt.result], ['FAILED', result]);
  }
});

test('a transferFrom has its own call data, a caller other than its payer, and an info of the recorded shape', async () => {
  node.pay(payee, 5n, 'delegated');
  const { number } = node.world.mine();
  const block = await ask('/wallet/getblock', { id_or_num: String(number), detail: true });
  const [transaction, info] = transactionOf('direct');
  assert.equal(differences(transaction, block.transactions[0]), []);
  const { data, owner_address, contract_address } = block.transactions[0].raw_data.contract[0].parameter.value;
  const payer = accountKey('payer');
  assert.is(contract_address, `41${tronTokenKeys[0]}`);
  assert.is(data, `23b872dd${payer.padStart(64, '0')}${payee.padStart(64, '0')}${'5'.padStart(64, '0')}`);
  assert.is.not(owner_address, `41${payer}`);
  const [ours] = await ask('/wallet/gettransactioninfobyblocknum', { num: number });
  assert.equal(differences({ ...golden.infos[2], log: info.log }, ours), []);
  assert.equal(
    ours.log[0].topics.slice(1).map((topic: string) => topic.slice(24)),
    [payer, payee],
  );
});

test('default values are omitted', async () => {
  const { number } = node.world.mine();
  const empty = await ask('/wallet/getblock', { id_or_num: String(number), detail: true });
  assert.equal(differences(answers.emptyBlock, empty), []);
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

test('errors have status 200 and java-tron’s texts', async () => {
  const cases: readonly (readonly [string, object, RegExp])[] = [
    ['/wallet/getblock', { id_or_num: 5 }, /JsonFormat\$ParseException .* Expected string/],
    ['/wallet/getblock', { id_or_num: 'abc' }, /^id must be legal block hash\.$/],
    ['/wallet/getblock', { id_or_num: 'f'.repeat(64) }, /^id must be legal block hash\.$/],
    ['/wallet/getblock', { id_or_num: '-1' }, /^num must be non-positive number\.$/],
    ['/wallet/gettransactioninfobyblocknum', { num: 'x' }, /Expected number/],
  ];
  for (const [path, body, expected] of cases) {
    const response = await fetch(`${node.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    assert.is(response.status, 200);
    assert.match(((await response.json()) as Json).Error, expected);
  }
  assert.match((await ask('/wallet/getblock', [] as object)).blockID, /^0/, 'a list has no fields');
  const text = await (await fetch(`${node.url}/wallet/getblock`, { method: 'POST', body: '{' })).text();
  assert.match(JSON.parse(text).Error, /JSONException/);
  assert.is((await fetch(`${node.url}/wallet/createwitness`, { method: 'POST' })).status, 404);
  assert.is((await fetch(`${node.url}/wallet/getblock`, { method: 'DELETE' })).status, 405);
  node.faults.set({ rates: { rpc_error: 1 } });
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

test('constant calls have the recorded shape; other accounts are not contracts', async () => {
  const [usdt, usdc] = tronTokenKeys;
  const call = (contract: string, selector: string, parameter = '') =>
    ask('/wallet/triggerconstantcontract', {
      owner_address: `41${'0'.repeat(40)}`,
      contract_address: `41${contract}`,
      function_selector: selector,
      parameter,
    });
  const decimals = await call(usdc, 'decimals()');
  assert.equal(differences(answers.constantCalls[0].answer, decimals), []);
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
