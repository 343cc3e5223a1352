/**
 * JSON-RPC over HTTP and WebSocket, as a client of an EVM node uses it: answers that are late, partial or another's,
 * batches that a node refuses, and connections that go wrong.
 */
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { WebSocketServer } from 'ws';
import { openNode } from '../../../src/chains/evm/node/node.ts';
import { fairClock } from '../../support/fair-clock.ts';
import { Failure } from '../../support/liar.ts';
import type { Json } from '../../support/recordings.ts';
import { faultOf } from '../../support/refusal.ts';
import { until } from '../../support/until.ts';
import { lyingSuiteOf } from '../lying-bench.ts';

const { test, over, both } = lyingSuiteOf('JSON-RPC', 'evm');

const limits = {
  tokens: [],
  requestTimeoutMs: 60_000,
  responseBytesMax: 100_000,
  idleMsMax: 60_000,
  concurrencyMax: 2,
};
/** Where a request is to be sent first, and then not answered in time. */
const HASTY_MS = 2_500;

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

// ── Answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

both('an error text cannot break a log line', async (node, { tell, read }) => {
  tell(() => new Failure(1, `a\nb\u0007${'x'.repeat(5_000)}`));
  const { message } = await faultOf(read(node, false));
  assert.ok(message.length < 500);
  assert.match(message, /^[\x20-\x7e…]*$/);
});

over(
  'ws',
  'an answer beyond the limit is refused, and the next one is read',
  async (node, { liar, block }) => {
    liar.lies.text = (text) => text + ' '.repeat(200_000);
    assert.is((await faultOf(node.head())).code, 'node_response_too_large');
    liar.heal();
    await until('the node is read again', () =>
      node.header(block.hash).then(
        (found) => found?.hash === block.hash,
        () => false,
      ),
    );
  },
  { responseBytesMax: 100_000 },
);

both('a batch may be answered in any order, but only as a whole', async (node, { liar, block, sibling }) => {
  const ask = () => node.range(sibling.number, block.number);
  const asBatch = (change: (all: Json[]) => unknown) => {
    liar.lies.text = (text) => (text.startsWith('[') ? JSON.stringify(change(JSON.parse(text))) : text);
  };
  asBatch((all) => all.toReversed());
  assert.equal(await ask(), [sibling, block]);
  asBatch((all) => all.slice(1));
  assert.is((await faultOf(ask())).code, 'node_nonsense');
  const error = { code: -32005, message: 'daily quota exceeded' };
  asBatch(([{ id }]) => ({ jsonrpc: '2.0', id, error }));
  assert.is((await faultOf(ask())).code, 'node_rate_limited');
});

const limit = { code: -32600, message: 'batch too large' };
/** How nodes and gateways refuse a batch of more calls than they take: the text, and the HTTP status. */
const refusals: readonly (readonly [string, (answers: readonly Json[]) => unknown, number?])[] = [
  ['a list of one error', ([first]) => [{ jsonrpc: '2.0', id: first?.id, error: limit }]],
  ['an error for the whole', ([first]) => ({ jsonrpc: '2.0', id: first?.id, error: limit })],
  ['an error without an id', () => ({ jsonrpc: '2.0', id: null, error: limit })],
  ['an error for each call', (all) => all.map(({ id }) => ({ jsonrpc: '2.0', id, error: limit }))],
  [
    'what fits, and an error for each other call',
    (all) =>
      all.map((answer, at) =>
        at < 3 ? answer : { jsonrpc: '2.0', id: answer.id, error: { code: -32003, message: 'response too large' } },
      ),
  ],
  ['HTTP status 413', () => ({ error: 'request entity too large' }), 413],
  ['HTTP status 429', () => ({ error: 'at most 3 calls in a batch' }), 429],
];
for (const [how, refuse, status] of refusals) {
  const scheme =
    status === undefined ? both : (title: string, run: Parameters<typeof both>[1]) => over('http', title, run);
  scheme(
    `a node that takes 3 calls in a batch and refuses more with ${how} gets smaller ones from then on`,
    async (node, { liar, block, sibling }) => {
      let refused = 0;
      liar.lies.text = (text) => {
        const value = JSON.parse(text);
        delete liar.lies.status;
        if (!Array.isArray(value) || value.length <= 3) return text;
        refused += 1;
        if (status !== undefined) liar.lies.status = status;
        return JSON.stringify(refuse(value));
      };
      assert.equal([...(await node.identity()).decimals.values()].length, 2);
      const chain = await node.range(0, block.number);
      assert.equal(chain.slice(-2), [sibling, block]);
      assert.ok(refused > 0 && refused <= 4, `${refused} batches were refused`);
      const before = refused;
      assert.equal(await node.range(0, block.number), chain);
      assert.is(refused, before, 'the size stays');
    },
  );
}

const envelopes: readonly (readonly [string, (answer: Json) => string])[] = [
  ['last, as Nethermind writes it', ({ id, ...rest }) => JSON.stringify({ ...rest, id })],
  ['in the middle', ({ id, result, error }) => JSON.stringify({ error, id, note: 'x'.repeat(200), result })],
  [
    'after spaces',
    (answer) => `\n { "jsonrpc" : "2.0" , "id" : ${answer.id} , "result" : ${JSON.stringify(answer.result)} }\n`,
  ],
];
both('the id may be anywhere', async (node, { liar, block, read }) => {
  for (const [where, write] of envelopes) {
    liar.lies.text = (text, calls) => {
      const value = JSON.parse(text);
      return calls.length === 0 || Array.isArray(value) ? text : write(value);
    };
    assert.equal(await node.header(block.hash), block, where);
    assert.is((await read(node, false)).length, 2, where);
  }
});

for (const [scheme, code, requestTimeoutMs] of [
  ['http', 'node_nonsense', 60_000],
  ['ws', 'node_timeout', HASTY_MS],
] as const) {
  over(
    scheme,
    'an answer to another request is never taken for this one',
    async (node, { liar, block }) => {
      for (const spoilt of ['eth_getLogs', 'eth_getBlockByHash']) {
        liar.lies.text = (text, calls) => (calls.includes(spoilt) ? text.replace(/"id":\d+/, '"id":4242') : text);
        // `thorough` always requests the header first.
        assert.is((await faultOf(node.content(block, spoilt !== 'eth_getLogs'))).code, code, spoilt);
      }
    },
    { requestTimeoutMs },
  );
}

// ── A WebSocket that goes wrong ──────────────────────────────────────────────────────────────────────────────────────

over(
  'ws',
  'a half-open connection is detected, made again, and wakes the listeners',
  async (node, { liar, block }) => {
    let notified = 0;
    node.onChange(() => {
      notified += 1;
    });
    await node.head();
    await until('the subscription is granted', () => node.health().connected);
    const before = { notified, connections: liar.connections() };
    liar.freeze();
    const fault = await faultOf(node.head());
    assert.is(fault.code, 'node_unreachable');
    assert.match(fault.message, 'no sign of life');
    await until(
      'a new connection notifies',
      () => liar.connections() > before.connections && notified > before.notified,
    );
    assert.equal(await node.header(block.hash), block);
  },
  { idleMsMax: 600 },
);

over(
  'ws',
  'a quiet connection is kept as long as the node answers pings',
  async (node, { liar }) => {
    await node.head();
    await until('the subscription is granted', () => node.health().connected);
    const connections = liar.connections();
    const heard = node.health().heardAtMs;
    await until('ten idle limits have passed', () => node.health().heardAtMs - heard > 2_000);
    assert.is(liar.connections(), connections);
    assert.is(node.health().connected, true);
  },
  { idleMsMax: 200 },
);

over(
  'ws',
  'a node that refuses the subscription is still read, and asked again',
  async (node, { liar, tell, block }) => {
    const refusal = new Failure(-32601, 'notifications not supported');
    tell((call) => (call === 'eth_subscribe' ? refusal : undefined));
    assert.equal(await node.header(block.hash), block);
    assert.is(node.health().connected, false, 'nothing is pushed');
    liar.heal();
    await until('the subscription is granted', () => node.health().connected);
    assert.is(liar.connections() > 0, true);
  },
  { idleMsMax: 600 },
);

over(
  'ws',
  'a message that is not JSON, or answers no request, ends the connection with a named fault',
  async (node, { liar }) => {
    for (const text of [
      'service unavailable',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}',
      '[]',
      '7',
    ]) {
      await until('the subscription is granted', () => node.health().connected);
      liar.lies.text = () => null;
      const pending = faultOf(node.head());
      // The request is sent before the text arrives.
      liar.say(text);
      assert.is((await pending).code, 'node_nonsense', text);
      liar.heal();
    }
  },
);

over('ws', 'notifications in any shape are wake-ups only', async (node, { liar, block }) => {
  await until('the subscription is granted', () => node.health().connected);
  const connections = liar.connections();
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
    liar.say(text);
    await until('the listener is called', () => notified === before + 1);
  }
  assert.equal(await node.header(block.hash), block);
  assert.is(liar.connections(), connections, 'the connection was kept');
});

test('credentials in the URL are sent, and appear in no message', async () => {
  const { host, openings, close } = await startScriptedNode(() => {});
  const url = `ws://me:hunter2@${host}/v3/c0ffee?key=s3cret`;
  const node = openNode({ ...limits, url, requestTimeoutMs: HASTY_MS });
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
  for (const [server, why, requestTimeoutMs] of [
    [mute, /did not answer|timed out|no answer/i, 300],
    [http, /401/, 60_000],
  ] as const) {
    const node = openNode({ ...limits, url: `ws://127.0.0.1:${await portOf(server)}`, requestTimeoutMs });
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
  const node = openNode({ ...limits, url: `ws://${host}`, requestTimeoutMs: HASTY_MS });
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
  const node = openNode({ ...limits, url: `ws://127.0.0.1:${port}`, idleMsMax: 600 }, fairClock);
  assert.is(await node.header(`0x${'1'.repeat(64)}`), null);
  assert.is(node.health().connections, 1);
  await node.close();
  for (const client of sockets.clients) client.terminate();
  await new Promise((resolve) => sockets.close(resolve));
});

test.run();
