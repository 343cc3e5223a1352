/** A node that answers nonsense, too much, too late or not at all: always a fault that names host and method. */
import * as assert from 'uvu/assert';
import { faultOf, tokenFaultOf } from '../../../conformance/chain.ts';
import type { Answer } from '../../../support/lying-proxy.ts';
import { until } from '../../../support/until.ts';
import { lyingSuite } from '../lying-bench.ts';

/** A header or a receipt; the tests use only fields that exist. */
type Row = Record<string, unknown>;

const { test, over, both } = lyingSuite('EVM node that answers badly');

const errors: readonly (readonly [number, string, string])[] = [
  [-32000, 'unknown block', 'node_block_unknown'],
  [-39001, 'Unknown block', 'node_block_unknown'],
  [-32000, 'header not found', 'node_block_unknown'],
  [-32005, 'limit exceeded', 'node_rate_limited'],
  [429, 'Too Many Requests', 'node_rate_limited'],
  [-32601, 'the method eth_getLogs does not exist/is not available', 'node_method_missing'],
  [-32003, 'response too large', 'node_response_too_large'],
  [-32000, 'missing trie node 0ab1', 'node_history_pruned'],
  [4444, 'pruned history unavailable', 'node_history_pruned'],
  [-32603, 'Internal error', 'node_error'],
];
both("the node's own errors are distinguished, and name method and host", async (node, { failWith, read }) => {
  for (const [code, message, expected] of errors) {
    failWith('eth_getLogs', { code, message });
    const fault = await faultOf(read(node, false));
    assert.is(fault.code, expected, message);
    assert.is(fault.kind, 'transient');
    assert.match(fault.message, /^eth_getLogs at 127\.0\.0\.1:\d+ /);
    assert.match(fault.message, message);
  }
});

both('an error text cannot break a log line', async (node, { failWith, read }) => {
  failWith('eth_getLogs', { code: 1, message: `a\nb\u0007${'x'.repeat(5_000)}` });
  const { message } = await faultOf(read(node, false));
  assert.ok(message.length < 500);
  assert.match(message, /^[\x20-\x7e…]*$/);
});

both(
  'silence is a timeout that names the method, and the next answer is read',
  async (node, { proxy, block }) => {
    await node.head();
    proxy.lies.text = () => null;
    const fault = await faultOf(node.head());
    assert.is(fault.code, 'node_timeout');
    assert.match(fault.message, /^eth_getBlockByNumber at 127/);
    delete proxy.lies.text;
    assert.equal(await node.header(block.hash), block);
  },
  { requestTimeoutMs: 400 },
);

both(
  'an answer beyond the limit is refused, and the next one is read',
  async (node, { proxy, block }) => {
    proxy.lies.text = (text) => text + ' '.repeat(200_000);
    assert.is((await faultOf(node.head())).code, 'node_response_too_large');
    delete proxy.lies.text;
    await until('the node is read again', async () => {
      try {
        return (await node.header(block.hash))?.hash === block.hash;
      } catch {
        return false;
      }
    });
  },
  { responseBytesMax: 100_000 },
);

both('a batch may be answered in any order', async (node, { proxy, block, sibling }) => {
  proxy.lies.text = (text) => {
    const value = JSON.parse(text);
    return JSON.stringify(Array.isArray(value) ? value.toReversed() : value);
  };
  assert.equal(await node.range(sibling.number, block.number), [sibling, block]);
});

both(
  'a batch with a partial answer, or not answered as a batch, is a fault',
  async (node, { proxy, block, sibling }) => {
    proxy.lies.text = (text) => {
      const value = JSON.parse(text);
      return JSON.stringify(Array.isArray(value) ? value.slice(1) : value);
    };
    assert.is((await faultOf(node.range(sibling.number, block.number))).code, 'node_nonsense');
    proxy.lies.text = (text) => {
      const value = JSON.parse(text);
      const [{ id }] = Array.isArray(value) ? value : [value];
      return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32005, message: 'daily quota exceeded' } });
    };
    assert.is((await faultOf(node.range(sibling.number, block.number))).code, 'node_rate_limited');
  },
);

const limit = { code: -32600, message: 'batch too large' };
/** How nodes and gateways refuse a batch of more calls than they take: the text, and the HTTP status. */
const refusals: readonly (readonly [string, (answers: readonly Answer[]) => unknown, number?])[] = [
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
    async (node, { proxy, block, sibling }) => {
      let refused = 0;
      proxy.lies.text = (text) => {
        const value = JSON.parse(text);
        delete proxy.lies.status;
        if (!Array.isArray(value) || value.length <= 3) return text;
        refused += 1;
        if (status !== undefined) proxy.lies.status = status;
        return JSON.stringify(refuse(value));
      };
      assert.equal([...(await node.identity()).decimals.values()].length, 2);
      const from = Math.max(0, block.number - 12);
      const chain = await node.range(from, block.number);
      assert.equal(chain.slice(-2), [sibling, block]);
      assert.ok(refused > 0 && refused <= 4, `${refused} batches were refused`);
      const before = refused;
      assert.equal(await node.range(from, block.number), chain);
      assert.is(refused, before, 'the size stays');
    },
  );
}

const envelopes: readonly (readonly [string, (answer: Answer) => string])[] = [
  ['last, as Nethermind writes it', ({ id, ...rest }) => JSON.stringify({ ...rest, id })],
  ['in the middle', ({ id, result, error }) => JSON.stringify({ error, id, note: 'x'.repeat(200), result })],
  [
    'after spaces',
    (answer) => `\n { "jsonrpc" : "2.0" , "id" : ${answer.id} , "result" : ${JSON.stringify(answer.result)} }\n`,
  ],
];
for (const [where, write] of envelopes) {
  both(`the id may be ${where}`, async (node, { proxy, block, read }) => {
    proxy.lies.text = (text, methods) => {
      const value = JSON.parse(text);
      return methods.length === 0 || Array.isArray(value) ? text : write(value);
    };
    assert.equal(await node.header(block.hash), block);
    assert.is((await read(node, false)).length, 2);
  });
}

for (const [scheme, code] of [
  ['http', 'node_nonsense'],
  ['ws', 'node_timeout'],
] as const) {
  over(
    scheme,
    'an answer to another request is never taken for this one',
    async (node, { proxy, block }) => {
      for (const spoilt of ['eth_getLogs', 'eth_getBlockByHash']) {
        proxy.lies.text = (text, methods) => (methods.includes(spoilt) ? text.replace(/"id":\d+/, '"id":4242') : text);
        // `thorough` always requests the header first.
        assert.is((await faultOf(node.content(block, spoilt !== 'eth_getLogs'))).code, code, spoilt);
      }
    },
    { requestTimeoutMs: 1_000 },
  );
}

both('a block other than the requested one is refused', async (node, { block, sibling, lie }) => {
  lie('eth_getBlockByHash', (header) => ({ ...(header as Row), hash: sibling.hash }));
  assert.is((await faultOf(node.header(block.hash))).code, 'node_nonsense');
  lie('eth_getBlockByNumber', (header) => ({ ...(header as Row), number: '0x1' }));
  assert.is((await faultOf(node.range(block.number, block.number))).code, 'node_nonsense');
});

both('a header with a missing or malformed field is nonsense that names the field', async (node, { lie }) => {
  const fields = ['hash', 'parentHash', 'logsBloom', 'number', 'timestamp', 'transactions'];
  for (const field of fields) {
    for (const value of [undefined, null, '0x', 7, '0xzz']) {
      lie('eth_getBlockByNumber', (header) => ({ ...(header as Row), [field]: value }));
      const fault = await faultOf(node.head());
      assert.is(fault.code, 'node_nonsense', `${field} ${value}`);
      assert.match(fault.message, `"${field}"`);
    }
  }
});

both('a range whose blocks are not linked is refused', async (node, { block, sibling, lie }) => {
  lie('eth_getBlockByNumber', (header, { params }) =>
    params[0] === `0x${block.number.toString(16)}` ? { ...(header as Row), parentHash: block.hash } : header,
  );
  const fault = await faultOf(node.range(sibling.number, block.number));
  assert.is(fault.code, 'node_range_broken');
  assert.is(fault.kind, 'transient');
});

both('nodes without finality have no final block; other errors are faults', async (node, { lie, failWith }) => {
  const answers: readonly (readonly [number, string])[] = [
    [-32000, 'finalized block not found'],
    [-39001, 'Unknown block'],
    [-32602, 'invalid argument 0: hex string without 0x prefix'],
  ];
  for (const [code, message] of answers) {
    failWith('eth_getBlockByNumber', { code, message });
    assert.is(await node.finalized(), null, message);
  }
  lie('eth_getBlockByNumber', () => null);
  assert.is(await node.finalized(), null);
  failWith('eth_getBlockByNumber', { code: -32603, message: 'Internal error' });
  assert.is((await faultOf(node.finalized())).code, 'node_error');
});

both('the chain id is the one that the node reports', async (node, { lie }) => {
  lie('eth_chainId', () => '0x1');
  assert.is((await node.identity()).chainId, '1');
  lie('eth_chainId', () => 'one');
  assert.is((await faultOf(node.identity())).code, 'node_nonsense');
});

both(
  'decimals are those of the contract; without an answer it is not a token',
  async (node, { tokens, lie, failWith }) => {
    const [usdt] = tokens;
    lie('eth_call', () => `0x${'0'.repeat(63)}9`);
    assert.is((await node.identity()).decimals.get(usdt.address), 9);
    for (const lied of ['0x', `0x${'f'.repeat(64)}`]) {
      lie('eth_call', () => lied);
      const fault = await tokenFaultOf(node);
      assert.is(fault.code, 'token_not_a_contract');
      assert.is(fault.kind, 'permanent');
    }
    failWith('eth_call', { code: 3, message: 'execution reverted' });
    assert.is((await tokenFaultOf(node)).kind, 'permanent');
    failWith('eth_call', { code: -32603, message: 'Internal error' });
    assert.is((await tokenFaultOf(node)).kind, 'transient');
  },
);

const syncing: readonly (readonly [string, string, (result: unknown) => unknown])[] = [
  ['says that it is syncing', 'eth_syncing', () => ({ currentBlock: '0x0', highestBlock: '0x9' })],
  ['has an old head and no peers yet', 'eth_getBlockByNumber', (header) => ({ ...(header as Row), timestamp: '0x5' })],
];
for (const [how, method, change] of syncing) {
  both(`a node that ${how} does not make the configuration wrong`, async (node, { proxy }) => {
    proxy.lies.answer = (question, answer) => {
      if (question.method === method) return { ...answer, result: change(answer.result) };
      return question.method === 'eth_getCode' ? { ...answer, result: '0x' } : answer;
    };
    const fault = await tokenFaultOf(node);
    assert.is(fault.code, 'node_syncing');
    assert.is(fault.kind, 'transient');
  });
}

both('a receipt without a status attests nothing', async (node, { block, sibling, lie, failWith, read }) => {
  const tx = (await read(node, true))[0]?.tx ?? '';
  lie('eth_getTransactionReceipt', (receipt) => ({ ...(receipt as Row), status: undefined }));
  assert.is((await faultOf(node.attest(block, [tx]))).code, 'node_nonsense');
  lie('eth_getTransactionReceipt', (receipt) => ({ ...(receipt as Row), status: '0x0' }));
  assert.is(await node.attest(block, [tx]), 'gone');
  lie('eth_getTransactionReceipt', (receipt) => ({ ...(receipt as Row), blockHash: sibling.hash }));
  assert.is(await node.attest(block, [tx]), 'gone');
  failWith('eth_getTransactionReceipt', { code: -32000, message: 'an internal error' });
  assert.is((await faultOf(node.attest(block, [tx]))).kind, 'transient');
});

test.run();
