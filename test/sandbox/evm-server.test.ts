import { type AddressInfo, createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmAddress } from '../../src/chains/evm/address.ts';
import { askRpc } from '../support/evm-node.ts';
import { have } from '../support/fields.ts';
import { accountKey, type SimulatedNode, startSimulatedNode, usdcKey, usdtKey } from '../support/simulated-node.ts';

const payee = accountKey('payee');
const hex = (digits: string) => `0x${digits}`;

let node: SimulatedNode;
test.before.each(async () => {
  node = await startSimulatedNode({ family: 'evm', seed: 'server test', finalityDistance: 3 });
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

test('after a reorg the orphan is known by hash only', async () => {
  const lost = node.pay(payee, 1n);
  const orphan = hex(node.world.mine().hash);
  node.world.reorg({ depth: 1, keep: 'none' });
  assert.is((await result('eth_getBlockByHash', [orphan, false])).hash, orphan);
  assert.is((await result('eth_getLogs', [{ blockHash: orphan }])).length, 1);
  assert.is.not((await result('eth_getBlockByNumber', ['0x1', false])).hash, orphan);
  assert.is(await result('eth_getTransactionReceipt', [lost]), null);
});

test('pruned data is an error, never an empty answer', async () => {
  await node.close();
  node = await startSimulatedNode({ family: 'evm', seed: 'short memory', finalityDistance: 3, windowBlocks: 10 });
  mineMany(30);
  assert.equal(await refusal('eth_getBlockByNumber', ['0x5', false]), [4444, 'pruned history unavailable']);
  assert.is((await result('eth_getBlockByNumber', ['earliest', false])).number, '0x0');
  assert.is((await result('eth_getBlockByNumber', ['0x14', false])).number, '0x14');
});

test('a taken port is replaced by a free one', async () => {
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
  const { port } = squatter.address() as AddressInfo;
  await node.close();
  node = await startSimulatedNode({ family: 'evm', seed: 'port', port });
  assert.is.not(new URL(node.wsUrl).port, String(port));
  assert.is(await result('eth_blockNumber'), '0x0');
  await new Promise((resolve) => squatter.close(resolve));
});

test('the control methods fund, pay, mine and reorganise', async () => {
  const to = evmAddress.format(payee);
  await result('sandbox_fund', [{ to: evmAddress.format(accountKey('signer')), amount: '7' }]);
  assert.is(node.world.pending().length, 1);
  node.world.mine();
  assert.is(node.world.accounts().native(accountKey('signer')), 7n);
  const { transactionHash } = await result('sandbox_pay', [{ to, symbol: 'USDC', amount: '1000000000000000000000' }]);
  await node.ask('sandbox_pay', { to, amount: '9' });
  assert.is(node.world.pending().length, 2);
  const mined = await result('sandbox_mine', [{ blocks: 2 }]);
  assert.is(mined.number, 3);
  assert.is(mined.hash, hex(node.world.tip().hash));
  const truth = () => node.world.transfers().filter((transfer) => transfer.to === payee);
  assert.is(node.world.pending().length, 0);
  have(truth(), [
    { token: usdcKey, units: 1000000000000000000000n },
    { token: usdtKey, units: 9n },
  ]);
  assert.is(hex(truth()[0]?.transactionId ?? ''), transactionHash);
  const { removed, added } = await result('sandbox_reorg', [{ depth: 2 }]);
  assert.is(removed[1].hash, mined.hash);
  assert.is(added.length, 2);
  assert.equal(truth(), []);
  node.world.finalize();
  assert.equal(await refusal('sandbox_reorg', [{ depth: 1 }]), [-32602, 'block 3 is final']);
});

test('another user of the machine may read, but not pay', async () => {
  await node.close();
  node = await startSimulatedNode({ family: 'evm', seed: 'token', controlToken: 'a token' });
  const payment = [{ to: hex(payee), amount: '1' }];
  assert.is(await result('eth_blockNumber'), '0x0');
  const [, message] = await refusal('sandbox_pay', payment);
  assert.match(message ?? '', /needs the token in sandbox\.json/);
  for (const [bearer, code] of [
    ['another', -32000],
    ['a token', undefined],
  ] as const) {
    const { error } = await askRpc(node.httpUrl, 'sandbox_pay', payment, { authorization: `Bearer ${bearer}` });
    assert.is(error?.code, code, bearer);
  }
});

test('invalid control calls are refused with the reason', async () => {
  const rows: [method: string, params: unknown[], message: RegExp][] = [
    ['sandbox_pay', [{ to: '0x12', amount: '1' }], /"0x12" is not an address/],
    ['sandbox_pay', [{ to: hex(payee), amount: '1.5' }], /amount/],
    ['sandbox_pay', [{ to: hex(payee), amount: 5 }], /amount/],
    ['sandbox_pay', [{ to: hex(payee), amount: (2n ** 256n).toString() }], /more than any token can hold/],
    ['sandbox_pay', [{ to: hex(payee), amount: '1', symbol: 'DAI' }], /there is no token DAI, only USDT, USDC/],
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

test.run();
