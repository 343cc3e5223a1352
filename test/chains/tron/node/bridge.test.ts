/**
 * The bridge next to java-tron and its client, over real sockets: what it forwards, whom it refuses, and what both do
 * when another side goes wrong.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { openNode } from '../../../../src/chains/tron/node/node.ts';
import { has } from '../../../support/fields.ts';
import { faultOf } from '../../../support/refusal.ts';
import { type SimulatedNode, startSimulatedNode, tronTokens } from '../../../support/simulated-node.ts';
import { BRIDGE_TOKEN, openConsumer, startTronBridge, type TronBridge } from '../../../support/tron-bridge.ts';
import { until } from '../../../support/until.ts';

const test = suite('The bridge next to java-tron');
let node: SimulatedNode;
let bridge: TronBridge;

test.before(async () => {
  node = await startSimulatedNode({ family: 'tron', seed: 'bridge' });
  for (let block = 0; block < 5; block++) node.world.mine(3);
  bridge = await startTronBridge(node.url);
  await connectable(bridge);
});
test.after(async () => {
  await bridge.stop();
  await node.close();
});
test.after.each(() => node.faults.heal());

/** The status of a handshake that is refused; 101 when it is not. */
async function handshake(url: string, headers: Record<string, string> = {}): Promise<number> {
  try {
    const { socket, closed } = await openConsumer(url, headers);
    socket.close();
    await closed;
    return 101;
  } catch (error) {
    return Number(/response: (\d+)/.exec(String(error))?.[1]);
  }
}

const connectable = ({ url }: TronBridge) =>
  until('the bridge knows a head', async () => (await handshake(url)) === 101);

/** A bridge with limits of its own, for one test. */
async function withBridge(
  limits: Parameters<typeof startTronBridge>[1],
  work: (own: TronBridge) => Promise<void>,
): Promise<void> {
  const own = await startTronBridge(node.url, limits);
  try {
    await connectable(own);
    await work(own);
  } finally {
    await own.stop();
  }
}

test('the token is required, in the header or in the URL', async () => {
  const { origin, host } = new URL(bridge.url);
  const plain = `ws://${host}/`;
  const status = [
    await handshake(plain),
    await handshake(`${plain}?token=`),
    await handshake(`${plain}?token=${BRIDGE_TOKEN}x`),
    await handshake(plain, { authorization: 'Bearer wrong' }),
    await handshake(plain, { authorization: `Basic ${BRIDGE_TOKEN}` }),
    await handshake(plain, { authorization: `Bearer ${BRIDGE_TOKEN}` }),
    await handshake(`${plain}?token=${BRIDGE_TOKEN}`),
  ];
  assert.equal(status, [401, 401, 401, 401, 401, 101, 101]);
  assert.is((await fetch(origin.replace('ws:', 'http:'))).status, 426, 'no page for a browser');
});

test('the head is announced at once, and each new one', async () => {
  const consumer = await openConsumer(bridge.url);
  const head = () => ({ head: { number: node.world.tip().number, hash: node.world.tip().hash } });
  await until('the first head', () => consumer.messages.length === 1);
  assert.equal(consumer.messages, [head()]);
  const told = [head()];
  for (let block = 0; block < 3; block++) {
    node.world.mine();
    told.push(head());
    await until('the next head', () => consumer.messages.length === told.length);
  }
  node.world.reorg({ depth: 1, keep: 'none' });
  told.push(head());
  await until('another block at the same height', () => consumer.messages.length === told.length);
  assert.equal(consumer.messages, told);
  consumer.socket.close();
});

test('answers are java-tron’s own bytes, with their sizes, in the order of the calls', async () => {
  const { number } = node.world.tip();
  const calls: [string, object][] = [
    ['/wallet/getblock', { id_or_num: String(number - 4), detail: true }],
    ['/wallet/gettransactioninfobyblocknum', { num: number - 4 }],
    ['/walletsolidity/getblock', { detail: false }],
  ];
  const consumer = await openConsumer(bridge.url);
  let text = '';
  consumer.socket.on('message', (data) => {
    text = String(data);
  });
  consumer.say({ id: 41, calls });
  await until('the answer', () => text.startsWith('{"id":41,'));
  const own = await Promise.all(calls.map(([path, body]) => node.post(path, body)));
  assert.ok((own[0]?.length ?? 0) > 3_000);
  assert.is(text, `{"id":41,"sizes":[${own.map((one) => Buffer.byteLength(one))}],"answers":[${own.join(',')}]}`);
  consumer.socket.close();
});

test('an answer that is not JSON is forwarded as it is', async () => {
  node.faults.set({ rates: { history_closed: 1 } });
  const consumer = await openConsumer(bridge.url);
  const texts: string[] = [];
  consumer.socket.removeAllListeners('message');
  consumer.socket.on('message', (data) => texts.push(String(data)));
  consumer.say({ id: 1, calls: [['/wallet/gettransactioninfobyblocknum', { num: 3 }]] });
  await until('the answer', () => texts.some((text) => text.startsWith('{"id":1,')));
  assert.match(texts.at(-1) ?? '', /^\{"id":1,"sizes":\[55\],"answers":\[this API is closed because/);
  consumer.socket.close();
});

const refused: readonly (readonly [string, unknown, number, RegExp])[] = [
  ['another path', { id: 1, calls: [['/wallet/createwitness', {}]] }, 1008, /expected one of \/wallet\/getblock/],
  ['not JSON', 'hello', 1008, /expected JSON/],
  ['no id', { calls: [['/wallet/getblock', {}]] }, 1008, /"id": a whole number/],
  ['no calls', { id: 1, calls: [] }, 1008, /1 to 8 calls/],
  ['too many calls', { id: 1, calls: Array(9).fill(['/wallet/getblock', {}]) }, 1008, /1 to 8 calls/],
  ['a body that is not an object', { id: 1, calls: [['/wallet/getblock', 'x']] }, 1008, /an object to post/],
  ['too long a message', { id: 1, calls: [['/wallet/getblock', { x: 'x'.repeat(20_000) }]] }, 1009, /^$/],
];
for (const [title, message, code, reason] of refused) {
  test(`${title} ends the connection with a reason`, async () => {
    const consumer = await openConsumer(bridge.url);
    consumer.say(message);
    const [gotCode, gotReason] = await consumer.closed;
    assert.is(gotCode, code);
    assert.match(gotReason, reason);
  });
}

test('a consumer that falls behind is disconnected with a reason, and the others are served', async () => {
  for (let block = 0; block < 3; block++) node.world.mine(400);
  await withBridge({ unsentBytesMax: 1_000_000, connectionsMax: 2 }, async (own) => {
    const slow = await openConsumer(own.url);
    const other = await openConsumer(own.url);
    assert.is(await handshake(own.url), 503, 'there is room for two');
    slow.socket.pause();
    const number = node.world.tip().number;
    // More than the sockets between the two can buffer.
    for (let id = 0; id < 40; id++) {
      slow.say({ id, calls: [['/wallet/getblock', { id_or_num: String(number), detail: true }]] });
    }
    await until('it is disconnected', async () => (await handshake(own.url)) === 101);
    slow.socket.resume();
    const [code, reason] = await slow.closed;
    // It may have missed the reason if it resumed too late.
    assert.ok((code === 1008 && /too slow: \d+ bytes are unread/.test(reason)) || code === 1006, `${code} ${reason}`);
    other.say({ id: 7, calls: [['/wallet/getblock', { id_or_num: '1' }]] });
    await until('the other is answered', () => other.messages.some(({ id }) => id === 7));
    other.socket.close();
  });
});

test('a consumer that answers no ping is disconnected, and its slot is free', async () => {
  await withBridge({ silenceMsMax: 50, connectionsMax: 1 }, async (own) => {
    const dead = await openConsumer(own.url);
    // Unread frames leave pings unanswered.
    dead.socket.pause();
    await until('its slot is free', async () => (await handshake(own.url)) === 101);
    dead.socket.terminate();
    const alive = await openConsumer(own.url);
    let pings = 0;
    alive.socket.on('ping', () => {
      pings += 1;
    });
    await until('it has answered some pings', () => pings > 5);
    assert.is(alive.socket.readyState, alive.socket.OPEN);
    alive.socket.close();
  });
});

test('a dropped connection leaves nothing behind', async () => {
  await withBridge({ connectionsMax: 1 }, async (own) => {
    for (let round = 0; round < 5; round++) {
      const consumer = await openConsumer(own.url);
      consumer.say({ id: 1, calls: [['/wallet/getblock', { id_or_num: '1', detail: true }]] });
      consumer.socket.terminate();
      await until('a slot is free again', async () => (await handshake(own.url)) === 101);
    }
  });
});

test('requests beyond the limit are refused with a code, the others answered', async () => {
  await withBridge({ requestsMax: 2, requestTimeoutMs: 2_500 }, async (own) => {
    const consumer = await openConsumer(own.url);
    node.faults.set({ rates: { hang: 1 } });
    for (let id = 1; id <= 3; id++) consumer.say({ id, calls: [['/wallet/getblock', { id_or_num: '1' }]] });
    const faultOf = (id: number) => consumer.messages.find((message) => message.id === id)?.fault;
    await until('the third is refused', () => faultOf(3) !== undefined);
    assert.is(faultOf(3).code, 'node_busy');
    await until('the node’s silence is reported', () => faultOf(1) && faultOf(2));
    assert.is(faultOf(1).code, 'node_timeout');
    assert.match(faultOf(1).message, /^\/wallet\/getblock at 127\.0\.0\.1:\d+ did not answer within/);
    node.faults.heal();
    consumer.say({ id: 4, calls: [['/wallet/getblock', { id_or_num: '1' }]] });
    await until('afterwards it continues', () => consumer.messages.some(({ id, answers }) => id === 4 && answers));
    consumer.socket.close();
  });
});

test('while java-tron is unreachable nobody is connected; when it is back, the head is announced again', async () => {
  const consumer = await openConsumer(bridge.url);
  await until('the first head', () => consumer.messages.length === 1);
  await node.stop();
  const [code, reason] = await consumer.closed;
  assert.is(code, 1013);
  assert.match(reason, /^127\.0\.0\.1:\d+ is unreachable$/);
  assert.is(await handshake(bridge.url), 503);
  await node.start();
  await connectable(bridge);
  const again = await openConsumer(bridge.url);
  await until('the head is announced again', () => again.messages.length === 1);
  assert.equal(again.messages, consumer.messages, 'the chain is the same');
  again.socket.close();
});

test('a java-tron that refuses everything is not unreachable: its consumers stay', async () => {
  const consumer = await openConsumer(bridge.url);
  node.faults.set({ rates: { rpc_error: 1 } });
  consumer.say({ id: 1, calls: [['/wallet/getblock', {}]] });
  await until('the refusal is forwarded', () => consumer.messages.some(({ id }) => id === 1));
  assert.match(consumer.messages.at(-1).answers[0].Error, /lack of computing resources/);
  assert.is(consumer.socket.readyState, consumer.socket.OPEN);
  consumer.socket.close();
});

// ── The bridge's client ──────────────────────────────────────────────────────────────────────────────────────────────

const limits = { requestTimeoutMs: 60_000, responseBytesMax: 1_000_000, idleMsMax: 60_000, concurrencyMax: 4 };
const openClient = (url: string) => openNode({ url, tokens: tronTokens, ...limits });

test('after a restart of the bridge the client reconnects, counts it, and notifies', async () => {
  const client = openClient(bridge.url);
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
  assert.is((await client.head()).hash, node.world.tip().hash);
  await client.close();
});

test('a wrong token is reported as such', async () => {
  const client = openClient(bridge.url.replace(/token=.*/, 'token=wrong'));
  await until('the refusal is known', async () => (await faultOf(client.head())).code === 'node_refused');
  assert.match(
    (await faultOf(client.head())).message,
    /^\/wallet\/getblock at 127\S+ Unexpected server response: 401.*credentials/,
  );
  await client.close();
});

test('a fault of the node keeps its code on the way', async () => {
  const client = openClient(bridge.url);
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
    const client = openClient(`ws://127.0.0.1:${address.port}`);
    has(await faultOf(client.head()), { code: 'node_nonsense', kind: 'transient' });
    await client.close();
    for (const socket of server.clients) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });
}

test.run();
