/** The bridge's client: a bridge that disconnects, refuses, or is something else. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { openNode } from '../../../../src/chains/tron/node/node.ts';
import { faultOf } from '../../../conformance/chain.ts';
import { type SimulatedNode, startSimulatedNode, tronTokens } from '../../../support/simulated-node.ts';
import { startTronBridge, type TronBridge } from '../../../support/tron-bridge.ts';
import { until } from '../../../support/until.ts';

const test = suite('TRON through the bridge');
const limits = { requestTimeoutMs: 2_000, responseBytesMax: 1_000_000, idleMsMax: 3_000, concurrencyMax: 4 };
let node: SimulatedNode;
let bridge: TronBridge;

test.before(async () => {
  node = await startSimulatedNode({ family: 'tron', seed: 'transport' });
  node.world.mine();
  bridge = await startTronBridge(node.url);
});
test.after(async () => {
  await bridge.stop();
  await node.close();
});

const open = (url: string) => openNode({ url, tokens: tronTokens, ...limits });

test('after a restart of the bridge the client reconnects, counts it, and notifies', async () => {
  const client = open(bridge.url);
  let notified = 0;
  client.onChange(() => {
    notified += 1;
  });
  await until('it is connected', () => client.health().connected);
  const before = { notified, connections: client.health().connections };
  await bridge.stop();
  const fault = await faultOf(client.head());
  assert.is(fault.code, 'node_unreachable');
  await bridge.start();
  await until('it notifies again', () => notified > before.notified);
  assert.ok(client.health().connections > before.connections);
  assert.is((await client.head()).number, 1);
  await client.close();
});

test('a wrong token is reported as such', async () => {
  const client = open(bridge.url.replace(/token=.*/, 'token=wrong'));
  await until('the refusal is known', async () => (await faultOf(client.head())).code === 'node_refused');
  assert.match(
    (await faultOf(client.head())).message,
    /^\/wallet\/getblock at 127\S+ Unexpected server response: 401.*credentials/,
  );
  await client.close();
});

test('a fault of the node keeps its code on the way', async () => {
  const client = open(bridge.url);
  node.faults.set({ rates: { http_error: 1 } });
  const fault = await faultOf(client.range(0, 1));
  assert.ok(['node_rate_limited', 'node_error'].includes(fault.code), fault.code);
  assert.match(fault.message, /reported by the bridge at 127/);
  node.faults.heal();
  assert.is((await client.range(0, 1)).length, 2);
  await client.close();
});

const answers: readonly (readonly [string, (id: number) => string])[] = [
  ['an EVM node', (id) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`],
  ['something that chats', () => 'welcome!'],
  ['a bridge whose sizes are too large', (id) => `{"id":${id},"sizes":[500],"answers":[{}]}`],
  ['a bridge whose sizes are too small', (id) => `{"id":${id},"sizes":[1],"answers":[{}]}`],
  ['a bridge that answers more than was asked', (id) => `{"id":${id},"sizes":[2,2],"answers":[{},{}]}`],
  ['a bridge whose fault has no code', (id) => `{"id":${id},"fault":{}}`],
];
for (const [what, answer] of answers) {
  test(`${what} is nonsense, by name`, async () => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await new Promise((resolve) => server.once('listening', resolve));
    server.on('connection', (socket) => {
      socket.send('{"head":{"number":1,"hash":"00"}}');
      socket.on('message', (data) => socket.send(answer(JSON.parse(String(data)).id)));
    });
    const address = server.address();
    if (!address || typeof address === 'string') throw new Error('no port');
    const client = open(`ws://127.0.0.1:${address.port}`);
    const fault = await faultOf(client.head());
    assert.is(fault.code, 'node_nonsense');
    assert.is(fault.kind, 'transient');
    await client.close();
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
}

test.run();
