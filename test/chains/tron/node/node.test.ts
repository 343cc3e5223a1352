/** The client with a java-tron that lies, lags, or is configured differently than expected. */
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Node, NodeOptions } from '../../../../src/chains/chain.ts';
import { solidUrlOf } from '../../../../src/chains/tron/node/http.ts';
import { openNode } from '../../../../src/chains/tron/node/node.ts';
import { tronWire } from '../../../../src/chains/tron/wire.ts';
import type { BlockRef } from '../../../../src/core/block.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { faultOf, tokenFaultOf } from '../../../conformance/chain.ts';
import { type PostProxy, startPostProxy } from '../../../support/post-proxy.ts';
import { accountKey, type SimulatedNode, startSimulatedNode, tronTokens } from '../../../support/simulated-node.ts';

const test = suite('TRON node');
const payee = accountKey('payee');
const limits = { requestTimeoutMs: 5_000, responseBytesMax: 1_000_000, idleMsMax: 5_000, concurrencyMax: 4 };
const BLOCK = '/wallet/getblock';
const INFOS = '/wallet/gettransactioninfobyblocknum';
const INFO = '/wallet/gettransactioninfobyid';
const CONSTANT = '/wallet/triggerconstantcontract';
const SOLID = '/walletsolidity/getblock';

let tron: SimulatedNode;
let proxy: PostProxy;
let node: Node;
let tx: string;
/** Holds one payment of 5 units to `payee`. */
let block: BlockRef;

const open = (options: Partial<NodeOptions> = {}): Node =>
  openNode({ url: proxy.url, tokens: tronTokens, ...limits, ...options });

test.before(async () => {
  tron = await startSimulatedNode({ family: 'tron', seed: 'client', finalityDistance: 2 });
  tron.world.mine(2);
  tx = tron.pay(payee, 5n);
  tron.world.mine(1);
  for (let left = 3; left > 0; left--) tron.world.mine(1);
  proxy = await startPostProxy(tron.url);
  node = open();
  const [held] = await node.range(2, 2);
  if (!held) throw new Error('the block is there');
  block = held;
});
test.after(async () => {
  await node.close();
  await proxy.close();
  await tron.close();
});
test.after.each(() => {
  delete proxy.lies.answer;
});

/** Requests of `path` are answered with `value` from now on. */
function lie(path: string, value: unknown, only: (body: Record<string, unknown>) => boolean = () => true): void {
  proxy.lies.answer = (asked, body) => (asked === path && only(body) ? JSON.stringify(value) : undefined);
}
const change = (path: string, edit: (value: Record<string, never>) => unknown) => {
  proxy.lies.answer = (asked, _, text) => (asked === path ? JSON.stringify(edit(JSON.parse(text))) : undefined);
};
const read = async (from: Node, thorough = false) =>
  tronWire.decode(await from.content(block, thorough), tronTokens, (key) => key === payee);

const otherHash = () => `${block.hash.slice(0, -1)}${block.hash.endsWith('f') ? 'e' : 'f'}`;

test('content is requested in an order that leaves no gap: block, infos, header', async () => {
  proxy.asked.length = 0;
  assert.equal(
    (await read(node)).map(({ units }) => units),
    [5n],
  );
  assert.equal(proxy.asked, [
    [BLOCK, { id_or_num: '2', detail: true }],
    [INFOS, { num: 2 }],
    [BLOCK, { id_or_num: '2', detail: false }],
  ]);
});

test('late infos are first doubtful, then missing, and read once they exist', async () => {
  lie(INFOS, []);
  assert.is((await faultOf(read(node))).code, 'node_content_doubtful');
  assert.is((await faultOf(read(node, true))).code, 'node_infos_missing');
  delete proxy.lies.answer;
  assert.is((await read(node, true)).length, 1);
});

test('a block that was reorganised away while it was read is not used', async () => {
  for (const detail of [true, false]) {
    proxy.lies.answer = (path, body, text) =>
      path === BLOCK && body.detail === detail ? text.replace(block.hash, otherHash()) : undefined;
    assert.is((await faultOf(read(node))).code, 'node_block_unknown', detail ? 'before' : 'after');
  }
  lie(BLOCK, {}, ({ detail }) => detail === false);
  assert.is((await faultOf(read(node))).code, 'node_block_unknown', 'gone');
});

test('a header of another height or another hash is refused', async () => {
  const other = JSON.parse(await tron.post(BLOCK, { id_or_num: '1' }));
  lie(BLOCK, other);
  assert.is((await faultOf(node.range(2, 2))).code, 'node_nonsense');
  assert.is((await faultOf(node.header(block.hash))).code, 'node_nonsense');
});

test('a range whose blocks are not linked is refused', async () => {
  proxy.lies.answer = (_, body, text) => (body.id_or_num === '3' ? text.replace(block.hash, otherHash()) : undefined);
  assert.is((await faultOf(node.range(2, 3))).code, 'node_range_broken');
});

test('a transaction is attested only if its info is a success in that block', async () => {
  assert.is(await node.attest(block, [tx]), 'holds');
  change(INFO, (info) => ({ ...info, result: 'FAILED' }));
  assert.is(await node.attest(block, [tx]), 'gone', 'result');
  change(INFO, (info) => ({ ...info, receipt: { result: 'OUT_OF_TIME' } }));
  assert.is(await node.attest(block, [tx]), 'gone', 'receipt');
  change(INFO, (info) => ({ ...info, blockNumber: 3 }));
  assert.is(await node.attest(block, [tx]), 'gone', 'block');
  change(INFO, (info) => ({ ...info, id: 'ab'.repeat(32) }));
  assert.is((await faultOf(node.attest(block, [tx]))).code, 'node_nonsense');
  lie(BLOCK, {});
  assert.is(await node.attest(block, [tx]), 'unsure', 'no such height');
});

test('the chain id is the end of the first block’s id', async () => {
  const { firstBlock } = JSON.parse(readFileSync('test/vectors/tron-answers.json', 'utf8'));
  lie(BLOCK, firstBlock);
  assert.is((await node.identity()).chainId, '728126428', 'TRON’s own');
  lie(BLOCK, {});
  assert.is((await faultOf(node.identity())).code, 'node_nonsense');
});

test('tokens are asked for their decimals; every refusal has its own code', async () => {
  const { constantCalls } = JSON.parse(readFileSync('test/vectors/tron-answers.json', 'utf8'));
  for (const { what, answer, code } of constantCalls) {
    lie(CONSTANT, answer);
    if (!code) {
      assert.equal([...(await node.identity()).decimals.values()], [6, 6]);
      continue;
    }
    const fault = await tokenFaultOf(node);
    assert.is(fault.code, code, what);
    assert.is(fault.kind, code === 'token_not_a_contract' ? 'permanent' : 'transient', what);
  }
});

test('a node that is still syncing does not make the configuration wrong', async () => {
  const old = JSON.parse(await tron.post(BLOCK));
  old.block_header.raw_data.timestamp -= 3_600_000;
  proxy.lies.answer = (path, body) => {
    if (path === CONSTANT) return JSON.stringify({ result: { message: 'Smart contract is not exist.' } });
    return path === BLOCK && body.id_or_num === undefined ? JSON.stringify(old) : undefined;
  };
  const fault = await tokenFaultOf(node);
  assert.is(fault.code, 'node_syncing');
  assert.is(fault.kind, 'transient');
});

test('the solidified chain is read next to the full node, at solid_url, or not at all', async () => {
  assert.is(solidUrlOf(new URL('http://10.0.0.5:8090')).href, 'http://10.0.0.5:8091/');
  assert.is(solidUrlOf(new URL('https://gate.example/tron?key=1')).href, 'https://gate.example/tron?key=1');
  assert.is((await node.finalized())?.number, 3);
  const other = await startPostProxy(tron.url);
  const elsewhere = open({ finalityUrl: other.url });
  assert.is((await elsewhere.finalized())?.number, 3);
  assert.equal(other.asked, [[SOLID, { detail: false }]]);
  const nowhere = open({ finalityUrl: null });
  assert.is(await nowhere.finalized(), null);
  const fault = await faultOf(nowhere.holdings(['71'.repeat(20)], await nowhere.head()));
  assert.match(fault.message, /configured \(solid_url\)/);
  await elsewhere.close();
  await nowhere.close();
  await other.close();
  lie(SOLID, {});
  assert.is(await node.finalized(), null, 'nothing is solidified yet');
});

test('a closed solidified interface is reported', async () => {
  const closed = open({ finalityUrl: 'http://127.0.0.1:1' });
  const fault = await faultOf(closed.finalized());
  assert.is(fault.code, 'node_unreachable');
  assert.match(fault.message, /^\/walletsolidity\/getblock at 127\.0\.0\.1:1: .* at the network's solid_url: /);
  assert.is((await closed.head()).number, 5, 'the rest is still read');
  await closed.close();
});

test('a path prefix and a key in the query are kept; credentials never appear in messages', async () => {
  const url = new URL(proxy.url);
  url.username = 'operator';
  url.password = 'hunter2';
  const gateway = open({ url: `${url.href}gate/?key=abc` });
  proxy.lies.answer = () => '{"Error":"no"}';
  proxy.asked.length = 0;
  const fault = await faultOf(gateway.head());
  assert.is(proxy.asked[0]?.[0], '/gate/wallet/getblock?key=abc');
  assert.not.match(fault.message, /hunter2|abc/);
  await gateway.close();
});

test('silence is a time-out that names the call', async () => {
  const impatient = open({ requestTimeoutMs: 200 });
  proxy.lies.answer = () => null;
  const fault = await faultOf(impatient.head());
  assert.is(fault.code, 'node_timeout');
  assert.match(fault.message, /^\/wallet\/getblock at 127\..*rate\.limiter in its configuration/);
  await impatient.close();
});

test('a URL of another kind is refused at once', () => {
  assert.throws(
    () => open({ url: 'ftp://node' }),
    (error: unknown) => error instanceof Fault && error.code === 'node_url_invalid' && error.kind === 'permanent',
  );
});

test.run();
