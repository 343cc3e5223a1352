/** Trouble that only a WebSocket has: half-open connections, refused subscriptions, unsolicited messages. */
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { openNode } from '../../../../src/chains/evm/node/node.ts';
import { faultOf } from '../../../conformance/chain.ts';
import { until } from '../../../support/until.ts';
import { lyingSuite } from '../lying-bench.ts';

const { test, over } = lyingSuite('EVM node over a WebSocket that goes wrong');

const limits = { tokens: [], requestTimeoutMs: 5_000, responseBytesMax: 100_000, idleMsMax: 5_000, concurrencyMax: 2 };

type Request = Readonly<{ id: number; method: string }>;

/** A node that answers each request as told, and nothing by itself; subscriptions get no answer. */
async function startScriptedNode(serve: (request: Request, answer: (result: unknown) => void) => void) {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const openings: IncomingMessage[] = [];
  sockets.on('connection', (client, opening) => {
    openings.push(opening);
    client.on('message', (data) => {
      const request = JSON.parse(String(data)) as Request;
      if (request.method === 'eth_subscribe') return;
      serve(request, (result) => client.send(JSON.stringify({ jsonrpc: '2.0', id: request.id, result })));
    });
  });
  await new Promise((resolve) => sockets.once('listening', resolve));
  return {
    host: `127.0.0.1:${(sockets.address() as AddressInfo).port}`,
    openings,
    async close() {
      for (const client of sockets.clients) client.terminate();
      await new Promise((resolve) => sockets.close(resolve));
    },
  };
}

/** The port of a server that listens on loopback. */
async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

over(
  'ws',
  'a half-open connection is detected, made again, and wakes the listeners',
  async (node, { proxy, block }) => {
    let notified = 0;
    node.onChange(() => {
      notified += 1;
    });
    await node.head();
    await until('the subscription is granted', () => node.health().connected);
    const before = { notified, connections: proxy.connections() };
    proxy.freeze();
    const fault = await faultOf(node.head());
    assert.is(fault.code, 'node_unreachable');
    assert.match(fault.message, 'no sign of life');
    await until(
      'a new connection notifies',
      () => proxy.connections() > before.connections && notified > before.notified,
    );
    assert.equal(await node.header(block.hash), block);
  },
  { idleMsMax: 600 },
);

over(
  'ws',
  'a quiet connection is kept as long as the node answers pings',
  async (node, { proxy }) => {
    await node.head();
    await until('the subscription is granted', () => node.health().connected);
    const connections = proxy.connections();
    const heard = node.health().heardAtMs;
    await until('ten idle limits have passed', () => node.health().heardAtMs - heard > 2_000);
    assert.is(proxy.connections(), connections);
    assert.is(node.health().connected, true);
  },
  { idleMsMax: 200 },
);

over(
  'ws',
  'a node that refuses the subscription is still read, and asked again',
  async (node, { proxy, failWith, block }) => {
    failWith('eth_subscribe', { code: -32601, message: 'notifications not supported' });
    assert.equal(await node.header(block.hash), block);
    assert.is(node.health().connected, false, 'nothing is pushed');
    delete proxy.lies.answer;
    await until('the subscription is granted', () => node.health().connected);
    assert.is(proxy.connections() > 0, true);
  },
  { idleMsMax: 600 },
);

over(
  'ws',
  'a message that is not JSON, or answers no request, ends the connection with a named fault',
  async (node, { proxy }) => {
    for (const text of [
      'service unavailable',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
      '[]',
      '7',
    ]) {
      await until('the subscription is granted', () => node.health().connected);
      proxy.lies.text = () => null;
      const pending = faultOf(node.head());
      // The request is sent before the text arrives.
      proxy.say(text);
      assert.is((await pending).code, 'node_nonsense', text);
      delete proxy.lies.text;
    }
  },
);

over('ws', 'notifications in any shape are wake-ups only', async (node, { proxy, block }) => {
  await until('the subscription is granted', () => node.health().connected);
  const connections = proxy.connections();
  let notified = 0;
  node.onChange(() => {
    notified += 1;
  });
  for (const text of [
    '{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":{"hash":"0xlies"}}}',
    '{"params":{"subscription":"0x1"},"method":"eth_subscription","jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","method":"eth_subscription","params":{"id":1}}',
  ]) {
    const before = notified;
    proxy.say(text);
    await until('the listener is called', () => notified === before + 1);
  }
  assert.equal(await node.header(block.hash), block);
  assert.is(proxy.connections(), connections, 'the connection was kept');
});

test('credentials in the URL are sent, and appear in no message', async () => {
  const { host, openings, close } = await startScriptedNode(() => {});
  const url = `ws://me:hunter2@${host}/v3/c0ffee?key=s3cret`;
  const node = openNode({ ...limits, url, requestTimeoutMs: 300 });
  const silent = await faultOf(node.head());
  await node.close();
  await close();
  const gone = openNode({ ...limits, url });
  const unreachable = await faultOf(gone.head());
  await gone.close();
  assert.is(openings[0]?.headers.authorization, `Basic ${Buffer.from('me:hunter2').toString('base64')}`);
  assert.is(openings[0]?.url, '/v3/c0ffee?key=s3cret');
  assert.is(silent.code, 'node_timeout');
  assert.is(unreachable.code, 'node_unreachable');
  for (const { message } of [silent, unreachable]) {
    assert.match(message, host);
    for (const secret of ['hunter2', 'c0ffee', 's3cret']) assert.not.ok(message.includes(secret), message);
  }
});

test('a server without WebSocket, or that never answers the handshake, is node_unreachable', async () => {
  const accepted = new Set<Socket>();
  const mute = createServer((socket) => {
    accepted.add(socket.on('error', () => {}));
  });
  const http = createServer((socket) => {
    socket.on('error', () => {}).resume();
    socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
  });
  for (const [server, why] of [
    [mute, /did not answer|timed out|no answer/i],
    [http, /401/],
  ] as const) {
    const node = openNode({ ...limits, url: `ws://127.0.0.1:${await portOf(server)}`, requestTimeoutMs: 300 });
    const fault = await faultOf(node.head());
    assert.ok(['node_unreachable', 'node_timeout', 'node_refused'].includes(fault.code), fault.code);
    assert.match(fault.message, why);
    assert.is(node.health().connected, false);
    await node.close();
    for (const socket of accepted) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

test("an answer after its time-out is not taken for another's", async () => {
  const late: ((result: unknown) => void)[] = [];
  const { host, close } = await startScriptedNode(({ method }, answer) => {
    if (method === 'eth_getBlockByNumber') late.push(answer);
    else answer('0x1');
  });
  const node = openNode({ ...limits, url: `ws://${host}`, requestTimeoutMs: 300 });
  assert.is((await faultOf(node.head())).code, 'node_timeout');
  for (const answer of late) answer({ hash: 'too late' });
  assert.is((await faultOf(node.header('0x00'))).code, 'node_nonsense', 'the next request gets its own answer, "0x1"');
  assert.is(node.health().connections, 1);
  await node.close();
  await close();
});

test('a long answer that is still arriving is a sign of life', async () => {
  // Without pongs, only the pieces of the answer show that the node is alive.
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false });
  sockets.on('connection', (client) => {
    client.on('message', async (data) => {
      const { id, method } = JSON.parse(String(data)) as Request;
      if (method === 'eth_subscribe') return;
      client.send(`{"jsonrpc":"2.0","id":${id},"result":`, { fin: false });
      for (let piece = 0; piece < 12; piece++) {
        await wait(100);
        client.send(' '.repeat(1_000), { fin: false });
      }
      client.send('null}', { fin: true });
    });
  });
  await new Promise((resolve) => sockets.once('listening', resolve));
  const { port } = sockets.address() as AddressInfo;
  const node = openNode({ ...limits, url: `ws://127.0.0.1:${port}`, idleMsMax: 600 });
  assert.is(await node.header(`0x${'1'.repeat(64)}`), null);
  assert.is(node.health().connections, 1);
  await node.close();
  for (const client of sockets.clients) client.terminate();
  await new Promise((resolve) => sockets.close(resolve));
});

test('text that cannot be a node URL is a permanent fault', async () => {
  for (const url of ['', 'node', 'ftp://127.0.0.1', '127.0.0.1:8545']) {
    const fault = await faultOf((async () => openNode({ ...limits, url }))());
    assert.is(fault.code, 'node_url_invalid', url);
    assert.is(fault.kind, 'permanent');
  }
});

test.run();
