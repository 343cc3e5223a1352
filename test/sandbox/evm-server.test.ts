import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../src/chains/evm/address.ts';
import { openRpcClient } from '../support/rpc-client.ts';
import {
  accountKey,
  SANDBOX_CHAIN_ID,
  type SandboxNode,
  sandboxTokens,
  startSandboxNode,
  usdcKey,
  usdtKey,
} from '../support/sandbox-node.ts';
import { until } from '../support/until.ts';

const payee = accountKey('payee');
const hex = (digits: string) => `0x${digits}`;
const nowhere = hex('11'.repeat(32));
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const topicOf = (key: string) => hex(key.padStart(64, '0'));

let node: SandboxNode;
test.before.each(async () => {
  node = await startSandboxNode({ seed: 'server test', finalityDistance: 3 });
});
test.after.each(() => node.close());

// biome-ignore lint/suspicious/noExplicitAny: looked into freely; every field used is asserted
async function result(method: string, params: unknown[] = []): Promise<any> {
  const answer = await node.ask(method, params);
  assert.is(answer.error, undefined, `${method}: ${answer.error?.message}`);
  return answer.result;
}

async function refusal(
  method: string,
  params: unknown[] = [],
): Promise<[code: number | undefined, message: string | undefined]> {
  const { error } = await node.ask(method, params);
  return [error?.code, error?.message];
}

function mineMany(count: number): void {
  for (let left = count; left > 0; left--) node.world.mine();
}

test('it reports its identity', async () => {
  assert.is(await result('eth_chainId'), hex(Number(SANDBOX_CHAIN_ID).toString(16)));
  assert.is(await result('net_version'), SANDBOX_CHAIN_ID);
  assert.match(await result('web3_clientVersion'), /^Geth\/.*sandbox/);
  assert.is(await result('eth_syncing'), false);
  assert.is(await result('eth_blockNumber'), '0x0');
});

test('blocks are found by number, tag and hash, and link', async () => {
  mineMany(6);
  const latest = await result('eth_getBlockByNumber', ['latest', false]);
  assert.is(latest.number, '0x6');
  assert.equal(await result('eth_getBlockByHash', [latest.hash, false]), latest);
  assert.equal(await result('eth_getBlockByNumber', ['0x6', false]), latest);
  const below = await result('eth_getBlockByNumber', ['0x5', false]);
  assert.is(latest.parentHash, below.hash);
  assert.is((await result('eth_getBlockByNumber', ['finalized', false])).number, '0x3');
  assert.is((await result('eth_getBlockByNumber', ['safe', false])).number, '0x3');
  assert.is((await result('eth_getBlockByNumber', ['earliest', false])).number, '0x0');
  assert.is(await result('eth_getBlockByNumber', ['0x7', false]), null);
  assert.is(await result('eth_getBlockByHash', [nowhere, false]), null);
});

test('a payment appears in block, transaction, receipt and logs alike', async () => {
  const tx = node.pay(payee, 1_234n);
  const block = hex(node.world.mine().hash);
  const short = await result('eth_getBlockByHash', [block, false]);
  const full = await result('eth_getBlockByHash', [block, true]);
  assert.equal(short.transactions, [tx]);
  const transaction = await result('eth_getTransactionByHash', [tx]);
  assert.equal(full.transactions, [transaction]);
  assert.is(transaction.to, sandboxTokens[0]?.address);
  assert.is(transaction.input, `0xa9059cbb${payee.padStart(64, '0')}${(1_234).toString(16).padStart(64, '0')}`);
  const receipt = await result('eth_getTransactionReceipt', [tx]);
  assert.is(receipt.status, '0x1');
  assert.equal(await result('eth_getBlockReceipts', [block]), [receipt]);
  assert.equal(await result('eth_getBlockReceipts', ['latest']), [receipt]);
  assert.equal(receipt.logs, [
    {
      address: hex(usdtKey),
      topics: [TRANSFER, topicOf(accountKey('payer')), topicOf(payee)],
      data: hex((1_234).toString(16).padStart(64, '0')),
      blockNumber: '0x1',
      transactionHash: tx,
      transactionIndex: '0x0',
      blockHash: block,
      blockTimestamp: short.timestamp,
      logIndex: '0x0',
      removed: false,
    },
  ]);
  assert.equal(await result('eth_getLogs', [{ blockHash: block }]), receipt.logs);
  assert.is(receipt.logsBloom, short.logsBloom);
});

test('log indexes count through the block, and a failed transaction has a receipt without logs', async () => {
  node.pay(payee, 1n, 'contract');
  const failed = node.pay(payee, 2n, 'failed');
  node.pay(payee, 1_000n, 'fee');
  node.pay(payee, 3n, 'lookalike');
  node.world.mine();
  const receipts = await result('eth_getBlockReceipts', ['latest']);
  type Receipt = { status: string; transactionHash: string; transactionIndex: string; logs: { logIndex: string }[] };
  assert.equal(
    receipts.map(({ status, transactionIndex, logs }: Receipt) => [
      status,
      transactionIndex,
      logs.map((log) => log.logIndex),
    ]),
    [
      ['0x1', '0x0', ['0x0', '0x1']],
      ['0x0', '0x1', []],
      ['0x1', '0x2', ['0x2', '0x3']],
      ['0x1', '0x3', ['0x4']],
    ],
  );
  assert.is(receipts[1].transactionHash, failed);
  const logs = await result('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }]);
  assert.equal(
    logs,
    receipts.flatMap(({ logs: own }: Receipt) => own),
  );
  const ofTokens = await result('eth_getLogs', [
    { address: sandboxTokens.map(({ address }) => address), topics: [TRANSFER] },
  ]);
  assert.equal(
    ofTokens.map(({ data, logIndex }: { data: string; logIndex: string }) => [Number(data), logIndex]),
    [
      [1, '0x0'],
      [998, '0x2'],
      [2, '0x3'],
    ],
    'the look-alike, the approval and the failed transfer are not among them',
  );
});

test('log filters work by address and by topic position', async () => {
  node.pay(payee, 1n);
  node.pay(accountKey('other'), 2n);
  node.pay(payee, 3n, 'direct', usdcKey);
  node.world.mine();
  const found = async (filter: object) =>
    (await result('eth_getLogs', [filter])).map(({ data }: { data: string }) => Number(data));
  assert.equal(await found({ address: hex(usdtKey) }), [1, 2]);
  assert.equal(await found({ address: [hex(usdtKey), hex(usdcKey)] }), [1, 2, 3]);
  assert.equal(await found({ topics: [null, null, topicOf(payee)] }), [1, 3]);
  assert.equal(await found({ topics: [TRANSFER, [], [topicOf(payee), topicOf(accountKey('other'))]] }), [1, 2, 3]);
  assert.equal(await found({ topics: [nowhere] }), []);
  assert.equal(await found({ topics: [null, null, null, null] }), [], 'a log must have as many topics as the filter');
  assert.equal(await found({ fromBlock: '0x0', toBlock: '0x0' }), []);
});

test('wrong arguments are refused as go-ethereum does', async () => {
  mineMany(1);
  const rows: [method: string, params: unknown[], code: number, message: RegExp][] = [
    ['eth_nothing', [], -32601, /^the method eth_nothing does not exist\/is not available$/],
    ['toString', [], -32601, /^the method toString does not exist/],
    ['constructor', [], -32601, /^the method constructor does not exist/],
    ['eth_getBlockByNumber', [], -32602, /^missing value for required argument 0$/],
    ['eth_getBlockByNumber', ['latest'], -32602, /^missing value for required argument 1$/],
    ['eth_getBlockByNumber', ['1', false], -32602, /^invalid argument 0: hex string without 0x prefix$/],
    ['eth_getBlockByNumber', ['0x01', false], -32602, /^invalid argument 0: hex number with leading zero digits$/],
    ['eth_getBlockByNumber', ['0x1', 'no'], -32602, /^invalid argument 1: .*bool/],
    ['eth_getBlockByNumber', ['0x1', false, 1], -32602, /^too many arguments, want at most 2$/],
    ['eth_getBlockByHash', ['0x12', false], -32602, /^invalid argument 0: hex string has length 2, want 64/],
    ['eth_getLogs', [{ blockHash: nowhere }], -32000, /^unknown block$/],
    ['eth_getLogs', [{ blockHash: nowhere, fromBlock: '0x0' }], -32602, /cannot specify both BlockHash and FromBlock/],
    ['eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x0' }], -32000, /^invalid block range params$/],
    ['eth_getLogs', [{ fromBlock: '0x2', toBlock: '0x3' }], -32000, /^invalid block range params$/],
    ['eth_getLogs', [{ topics: [null, null, null, null, null] }], -32000, /^exceed max topics$/],
    ['eth_call', [{ to: hex(usdtKey), data: '0x12345678' }, 'latest'], 3, /^execution reverted$/],
    ['eth_call', [{ to: hex(usdtKey), data: '0x313ce567' }, nowhere], -32000, /^header not found$/],
    ['eth_subscribe', ['newHeads'], -32001, /^notifications not supported$/],
  ];
  for (const [method, params, code, message] of rows) {
    const [givenCode, givenMessage] = await refusal(method, params);
    assert.is(givenCode, code, `${method} ${JSON.stringify(params)}: ${givenMessage}`);
    assert.match(givenMessage ?? '', message);
  }
  for (const method of ['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_getBlockReceipts']) {
    assert.is(await result(method, [nowhere]), null, `${method} of something unknown`);
  }
});

test('token contracts answer calls, other accounts do not', async () => {
  node.pay(payee, 42n);
  node.world.mine();
  const call = (to: string, data: string) => result('eth_call', [{ to, data }, 'latest']);
  assert.is(Number(await call(hex(usdtKey), '0x313ce567')), 6);
  assert.is(Number(await call(hex(usdcKey), '0x313ce567')), 18);
  assert.match(Buffer.from((await call(hex(usdcKey), '0x95d89b41')).slice(2), 'hex').toString(), /USDC/);
  assert.is(Number(await call(hex(usdtKey), `0x70a08231${payee.padStart(64, '0')}`)), 42);
  assert.is(await call(hex(payee), '0x313ce567'), '0x');
  assert.match(await result('eth_getCode', [hex(usdtKey), 'latest']), /^0x[0-9a-f]{2,}$/);
  assert.is(await result('eth_getCode', [hex(payee), 'latest']), '0x');
});

test('a pending transaction is known, but has no block', async () => {
  const tx = node.pay(payee, 1n);
  const waiting = await result('eth_getTransactionByHash', [tx]);
  assert.equal(
    [waiting.hash, waiting.blockHash, waiting.blockNumber, waiting.transactionIndex],
    [tx, null, null, null],
  );
  assert.is(await result('eth_getTransactionReceipt', [tx]), null);
});

test('after a reorg the orphan is known by hash only, and its transactions are in the blocks that mined them again', async () => {
  const lost = node.pay(payee, 1n);
  const orphan = hex(node.world.mine().hash);
  node.world.reorg({ depth: 1, keep: 'none' });
  assert.is((await result('eth_getBlockByHash', [orphan, false])).hash, orphan);
  assert.is((await result('eth_getLogs', [{ blockHash: orphan }])).length, 1);
  assert.is.not((await result('eth_getBlockByNumber', ['0x1', false])).hash, orphan);
  assert.is(await result('eth_getTransactionReceipt', [lost]), null);

  const kept = node.pay(payee, 2n);
  node.world.mine();
  const before = await result('eth_getTransactionReceipt', [kept]);
  node.world.reorg({ depth: 1, keep: 'all' });
  const after = await result('eth_getTransactionReceipt', [kept]);
  assert.is.not(after.blockHash, before.blockHash);
  assert.is.not(after.logs[0].logIndex, before.logs[0].logIndex);
  assert.is(after.logs[0].data, before.logs[0].data);
});

test('pruned data is an error, never an empty answer', async () => {
  await node.close();
  node = await startSandboxNode({ seed: 'short memory', finalityDistance: 3, windowBlocks: 10 });
  mineMany(30);
  assert.equal(await refusal('eth_getBlockByNumber', ['0x5', false]), [4444, 'pruned history unavailable']);
  assert.equal(await refusal('eth_getLogs', [{ fromBlock: '0x5', toBlock: 'latest' }]), [
    4444,
    'pruned history unavailable',
  ]);
  assert.is((await result('eth_getBlockByNumber', ['earliest', false])).number, '0x0');
  assert.is((await result('eth_getBlockByNumber', ['0x14', false])).number, '0x14');
});

async function post(
  body: string,
  headers: Record<string, string> = { 'content-type': 'application/json' },
  method = 'POST',
) {
  const response = await fetch(node.httpUrl, { method, headers, ...(method === 'POST' && { body }) });
  return { status: response.status, text: await response.text() };
}

test('batches and broken messages are answered as JSON-RPC says', async () => {
  const item = (id: unknown, method: string) => ({ jsonrpc: '2.0', id, method, params: [] });
  const batch = await post(
    JSON.stringify([item(1, 'eth_chainId'), item('a', 'nope'), { jsonrpc: '2.0', method: 'eth_chainId' }, 7]),
  );
  assert.is(batch.status, 200);
  const answers = JSON.parse(batch.text);
  assert.equal(
    answers.map(({ id, result: given, error }: { id: unknown; result?: unknown; error?: { code: number } }) => [
      id,
      given,
      error?.code,
    ]),
    [
      [1, '0xdbba1', undefined],
      ['a', undefined, -32601],
      [null, undefined, -32600],
    ],
  );
  const codeOf = async (body: string) => JSON.parse((await post(body)).text).error.code;
  assert.is(await codeOf('{"broken'), -32700);
  assert.is(await codeOf('[]'), -32600);
  assert.is(await codeOf('{"id":1}'), -32600);
  const many = Array.from({ length: 1001 }, (_, id) => item(id, 'eth_chainId'));
  assert.equal(JSON.parse((await post(JSON.stringify(many))).text), [
    { jsonrpc: '2.0', id: 0, error: { code: -32600, message: 'batch too large' } },
  ]);
  assert.is((await post('{"jsonrpc":"2.0","method":"eth_chainId"}')).text, '');
  assert.is((await post('', {}, 'GET')).status, 405);
  assert.is((await post('{}', { 'content-type': 'text/plain' })).status, 415);
  assert.is((await post(`{"a":"${'x'.repeat(6 * 1024 * 1024)}"}`)).status, 413);
});

test('newHeads announces once per block, and once for a whole reorg, with the block’s header', async () => {
  const client = await openRpcClient(node.wsUrl);
  const { result: heads } = await client.ask('eth_subscribe', ['newHeads']);
  assert.match(heads, /^0x[1-9a-f][0-9a-f]*$/);
  mineMany(3);
  const { added } = node.world.reorg({ depth: 2, keep: 'none', blocks: 4 });
  await until('four heads are announced', () => client.notified(heads).length >= 4);
  const numbers = client.notified(heads).map(({ number }) => Number(number));
  assert.equal(numbers, [1, 2, 3, 5]);
  const last = client.notified(heads).at(-1);
  assert.is(last.hash, hex(added.at(-1)?.hash ?? ''));
  const {
    transactions: _,
    size: __,
    uncles: ___,
    withdrawals: ____,
    ...header
  } = await result('eth_getBlockByHash', [last.hash, false]);
  assert.equal(last, header);

  assert.is((await client.ask('eth_unsubscribe', [heads])).result, true);
  assert.is((await client.ask('eth_unsubscribe', [heads])).error.message, 'subscription not found');
  mineMany(1);
  await client.ask('eth_blockNumber');
  assert.is(client.notified(heads).length, 4);
  await client.close();
});

test('a logs subscription announces new logs and removed ones', async () => {
  const client = await openRpcClient(node.wsUrl);
  const filter = { address: hex(usdtKey), topics: [TRANSFER, null, topicOf(payee)] };
  const { result: logs } = await client.ask('eth_subscribe', ['logs', filter]);
  const tx = node.pay(payee, 5n);
  node.pay(accountKey('other'), 6n);
  node.world.mine();
  node.world.reorg({ depth: 1, keep: 'all' });
  await until('three logs are announced', () => client.notified(logs).length >= 3);
  const told = client.notified(logs).map((log) => [log.transactionHash, log.removed, Number(log.data)]);
  assert.equal(told, [
    [tx, false, 5],
    [tx, true, 5],
    [tx, false, 5],
  ]);
  assert.equal((await client.ask('eth_subscribe', ['nonsense'])).error, {
    code: -32601,
    message: 'no "nonsense" subscription in eth namespace',
  });
  await client.close();
});

test('one connection cannot end another’s subscription', async () => {
  const [one, two] = await Promise.all([openRpcClient(node.wsUrl), openRpcClient(node.wsUrl)]);
  const { result: heads } = await one.ask('eth_subscribe', ['newHeads']);
  assert.is((await two.ask('eth_unsubscribe', [heads])).error.message, 'subscription not found');
  await two.close();
  mineMany(1);
  await until('the head is announced', () => one.notified(heads).length === 1);
  await one.close();
});

test('it answers pings', async () => {
  const client = await openRpcClient(node.wsUrl);
  let ponged = false;
  client.socket.on('pong', () => {
    ponged = true;
  });
  client.socket.ping();
  await until('the pong comes', () => ponged);
  await client.close();
});

test('a taken port is replaced by a free one', async () => {
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  const { port } = squatter.address() as AddressInfo;
  await node.close();
  node = await startSandboxNode({ seed: 'port', port });
  assert.is.not(new URL(node.wsUrl).port, String(port));
  assert.is(await result('eth_blockNumber'), '0x0');
  await new Promise((resolve) => squatter.close(resolve));
});

test('the control methods pay, mine and reorganise', async () => {
  const to = evmAddress.format(payee);
  const { transactionHash } = await result('sandbox_pay', [{ to, symbol: 'USDC', amount: '1000000000000000000000' }]);
  await node.ask('sandbox_pay', { to, token: hex(usdtKey), amount: '0' });
  await node.ask('sandbox_pay', { to, amount: '9', kind: 'failed' });
  const outputs = [1, 2].map((amount) => ({ to, amount: String(amount) }));
  await node.ask('sandbox_pay', { outputs, from: evmAddress.format(accountKey('batch')) });
  assert.is(node.world.pending().length, 4);
  const mined = await result('sandbox_mine', [{ blocks: 2, noise: 3 }]);
  assert.is(mined.number, 2);
  assert.is(mined.hash, hex(node.world.tip().hash));
  const truth = () => node.world.transfers().filter((transfer) => transfer.to === payee);
  assert.is(node.world.pending().length, 0);
  assert.equal(
    truth().map(({ token, units }) => [token, units]),
    [
      [usdcKey, 1000000000000000000000n],
      [usdtKey, 1n],
      [usdtKey, 2n],
    ],
  );
  assert.is(hex(truth()[0]?.transactionId ?? ''), transactionHash);
  assert.is(node.world.transfers().length, 9, 'strangers pay each other, too');
  const { removed, added } = await result('sandbox_reorg', [{ depth: 2 }]);
  assert.is(removed[1].hash, mined.hash);
  assert.is(added.length, 2);
  assert.equal(truth(), []);
  node.world.finalize();
  assert.equal(await refusal('sandbox_reorg', [{ depth: 1 }]), [-32602, 'block 2 is final']);
});

test('invalid control calls are refused with the reason', async () => {
  const rows: [method: string, params: unknown[], message: RegExp][] = [
    ['sandbox_pay', [{ to: '0x12', amount: '1' }], /"0x12" is not an address/],
    ['sandbox_pay', [{ to: hex(payee), amount: '1.5' }], /amount/],
    ['sandbox_pay', [{ to: hex(payee), amount: 5 }], /amount/],
    ['sandbox_pay', [{ to: hex(payee), amount: (2n ** 256n).toString() }], /more than any token can hold/],
    ['sandbox_pay', [{ to: hex(payee), amount: '1', symbol: 'DAI' }], /there is no token DAI, only USDT, USDC/],
    ['sandbox_pay', [{ to: hex(payee), amount: '1', kind: 'gift' }], /kind/],
    ['sandbox_pay', [], /to/],
    ['sandbox_mine', [{ blocks: 0 }], /blocks/],
    ['sandbox_reorg', [{ depth: 5 }], /still kept, not 5/],
  ];
  for (const [method, params, message] of rows) {
    const [code, given] = await refusal(method, params);
    assert.is(code, -32602, `${method} ${JSON.stringify(params)}`);
    assert.match(given ?? '', message);
  }
  assert.is(node.world.pending().length, 0);
  assert.is(node.world.tip().number, 0);
});

test('blocks are mined at an interval until the node is closed', async () => {
  node.mineEvery(5);
  await until('three blocks are mined', () => node.world.tip().number >= 3);
  await node.close();
  const { number } = node.world.tip();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.is(node.world.tip().number, number);
});

test('with a token, control requires it; reading does not', async () => {
  await node.close();
  node = await startSandboxNode({ seed: 'guarded', controlToken: 'open sesame' });
  const denied = /needs the token in sandbox\.json/;
  assert.match((await refusal('sandbox_mine'))[1] ?? '', denied);
  assert.match((await refusal('sandbox_mine', [{ auth: 'open says me' }]))[1] ?? '', denied);
  assert.is(node.world.tip().number, 0);
  assert.is((await result('sandbox_mine', [{ auth: 'open sesame' }])).number, 1);
  const mine = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sandbox_mine' });
  await post(mine, { 'content-type': 'application/json', authorization: 'Bearer open sesame' });
  assert.is(node.world.tip().number, 2);
  const client = await openRpcClient(node.wsUrl, { authorization: 'Bearer open sesame' });
  assert.is((await client.ask('sandbox_mine')).result.number, 3);
  await client.close();
  assert.is(await result('eth_blockNumber'), '0x3');
});

test.run();
