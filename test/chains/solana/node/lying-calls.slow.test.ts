/**
 * A Solana node that answers nonsense, too much, too late or not at all: always a named fault that says who and what.
 */
import * as assert from 'uvu/assert';
import { openNode } from '../../../../src/chains/solana/node/node.ts';
import { rpcUrlOf } from '../../../../src/chains/solana/node/urls.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { formatSignature } from '../../../../src/sandbox/solana-render.ts';
import { faultOf, tokenFaultOf } from '../../../conformance/chain.ts';
import { startAnsweringServer } from '../../../support/answering-server.ts';
import { solanaTokens } from '../../../support/simulated-node.ts';
import { lyingSuite } from '../lying-bench.ts';

/** A block or an account; the tests use only fields that exist. */
type Row = Record<string, unknown>;

const { test, both } = lyingSuite('Solana node that answers badly');

const errors: readonly (readonly [number, string, string, RegExp])[] = [
  [-32001, 'Block 5 cleaned up, does not exist on node.', 'node_history_pruned', /--limit-ledger-size/],
  [-32004, 'Block not available for slot 5', 'node_block_pending', /requested again/],
  [-32005, 'Node is behind by 42 slots', 'node_unhealthy', /wait for it/],
  [-32007, 'Slot 5 was skipped, or missing due to ledger jump', 'node_block_missing', /skipped only if/],
  [-32009, 'Slot 5 was skipped, or missing in long-term storage', 'node_block_missing', /skipped only if/],
  [-32011, 'Transaction history is not available from this node', 'node_history_disabled', /--enable-rpc/],
  [-32014, 'Block status not yet available for slot 5', 'node_status_pending', /requested again/],
  [-32015, 'Transaction version (2) is not supported', 'node_version_unsupported', /update it/],
  [-32016, 'Minimum context slot has not been reached', 'node_unhealthy', /wait for it/],
  [-32429, 'Too many requests for a specific RPC call', 'node_rate_limited', /raise its limit/],
  [-32601, 'Method not found', 'node_method_missing', /--full-rpc-api/],
  [-32603, 'Internal error', 'node_error', /look at the node's log/],
];
both('the node’s own errors are distinguished, and name method and host', async (node, { failWith, read }) => {
  for (const [code, message, expected, advice] of errors) {
    failWith('getBlock', { code, message });
    const fault = await faultOf(read(node, false));
    assert.is(fault.code, expected, message);
    assert.is(fault.kind, 'transient');
    assert.match(fault.message, /^getBlock at 127\.0\.0\.1:\d+ answered with error -\d+ "/);
    assert.match(fault.message, message);
    assert.match(fault.message, advice);
  }
});

both(
  'while the newest block is being written, the head is the one below it',
  async (node, { proxy, block, sibling }) => {
    for (const code of [-32004, -32014]) {
      proxy.lies.answer = (question, answer) =>
        question.method === 'getBlock' && question.params[0] === block.number
          ? { jsonrpc: '2.0', id: answer.id, error: { code, message: 'not yet' } }
          : answer;
      assert.equal(await node.head(), sibling);
      assert.is((await faultOf(node.range(sibling.number, block.number))).kind, 'transient');
      assert.is(await node.attest(block, []), 'unsure');
    }
  },
);

both('a gap in the ledger is never skipped', async (node, { proxy, block, sibling }) => {
  const { lies } = proxy;
  const below = sibling.number - 1;
  // The node knows a block whose parent it does not list.
  lies.answer = (question, answer) =>
    question.method === 'getBlocks' ? { ...answer, result: [below, block.number] } : answer;
  const fault = await faultOf(node.range(below, block.number));
  assert.is(fault.code, 'node_block_missing');
  assert.match(fault.message, `lost blocks between slots ${below} and ${sibling.number}`);
  // The one block of the list does not link to what is held; what it names as its parent is skipped or missing.
  await node.head();
  lies.answer = (question, answer) =>
    question.method === 'getBlock' && question.params[0] === sibling.number
      ? { jsonrpc: '2.0', id: answer.id, error: { code: -32007, message: 'Slot was skipped, or missing' } }
      : answer;
  assert.is((await faultOf(node.header(block.parent))).code, 'node_block_missing');
});

both(
  'far below the newest final slot, slots are listed by a method that stops',
  async (node, { proxy, block, sibling }) => {
    const asked: string[] = [];
    proxy.lies.answer = ({ method, params }, answer) => {
      asked.push(method);
      if (method === 'getSlot') return { ...answer, result: block.number + 5_000 };
      return method === 'getBlock' && Number(params[0]) > block.number ? { ...answer, result: null } : answer;
    };
    const near = await node.range(sibling.number, block.number);
    assert.ok(asked.includes('getBlocks'));
    await node.finalized();
    asked.length = 0;
    assert.equal(await node.range(sibling.number, block.number), near);
    assert.ok(asked.includes('getBlocksWithLimit'));
    assert.not.ok(asked.includes('getBlocks'));
    // More slots than asked for are those above the range.
    proxy.lies.answer = (question, answer) =>
      question.method === 'getBlocksWithLimit'
        ? { ...answer, result: [sibling.number, block.number, block.number + 1] }
        : answer;
    assert.equal(await node.range(sibling.number, block.number), near);
  },
);

both('a list of slots that does not rise, or is not a list, is nonsense', async (node, { lie, block, sibling }) => {
  for (const listed of [
    [block.number, sibling.number],
    [sibling.number, sibling.number],
    [sibling.number - 1, block.number],
    [sibling.number, '9'],
    [1.5],
    'many',
    null,
    {},
  ]) {
    lie('getBlocks', () => listed);
    const fault = await faultOf(node.range(sibling.number, block.number));
    assert.is(fault.code, 'node_nonsense', JSON.stringify(listed));
    assert.match(fault.message, /not a rising list of slots/);
  }
});

both('a newest slot that is not a number is nonsense', async (node, { lie }) => {
  for (const slot of [null, '5', -1, 1.5, {}]) {
    lie('getSlot', () => slot);
    assert.is((await faultOf(node.head())).code, 'node_nonsense', JSON.stringify(slot));
  }
});

both('a block that is null is lost, and a newest one that is null is not there yet', async (node, bench) => {
  const { proxy, block, sibling, lie, read } = bench;
  proxy.lies.answer = (question, answer) =>
    question.method === 'getBlock' && question.params[0] === block.number ? { ...answer, result: null } : answer;
  assert.equal(await node.head(), sibling);
  assert.is(await node.attest(block, []), 'unsure');
  for (const ask of [() => node.range(sibling.number, block.number), () => read(node, true)]) {
    const fault = await faultOf(ask());
    assert.equal({ kind: fault.kind, code: fault.code }, { kind: 'transient', code: 'node_block_missing' });
    assert.match(fault.message, `has lost its block of slot ${block.number} `);
    assert.match(fault.message, 'Catch up from a node that has the block');
  }
  lie('getBlock', () => null);
  assert.is(await node.finalized(), null);
});

both('a node that says it is behind is asked only for that', async (node, { lie, failWith }) => {
  assert.is(await node.whyBehind?.(), null);
  failWith('getHealth', { code: -32005, message: 'Node is behind by 42 slots' });
  assert.is(await node.whyBehind?.(), 'Node is behind by 42 slots');
  // A gateway may not offer the method.
  failWith('getHealth', { code: -32601, message: 'Method not found' });
  assert.is(await node.whyBehind?.(), null);
  lie('getHealth', () => 'ok');
  assert.is(await node.whyBehind?.(), null);
});

both('blocks that are not linked are refused', async (node, { lie, block, sibling }) => {
  lie('getBlock', (header, { params }) =>
    params[0] === block.number ? { ...(header as Row), previousBlockhash: block.hash } : header,
  );
  const fault = await faultOf(node.range(sibling.number, block.number));
  assert.is(fault.code, 'node_range_broken');
  assert.is(fault.kind, 'transient');
});

both('a block of another slot is not the requested one', async (node, { lie, block, sibling }) => {
  await node.head();
  lie('getBlock', (header) => ({ ...(header as Row), blockhash: sibling.hash }));
  assert.is(await node.header(block.hash), null);
  assert.is(await node.attest(block, []), 'gone');
  assert.is((await faultOf(node.content(block, false))).code, 'node_block_unknown');
});

both('statuses that are not a list of the right length attest nothing', async (node, { lie, block }) => {
  for (const value of [null, [], [null, null], {}]) {
    lie('getSignatureStatuses', () => ({ value }));
    assert.is(
      (await faultOf(node.attest(block, [formatSignature('ab'.repeat(32))]))).code,
      'node_nonsense',
      JSON.stringify(value),
    );
  }
});

both('the chain is identified by the genesis hash that the node reports', async (node, { lie }) => {
  lie('getGenesisHash', () => '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d');
  assert.is((await node.identity()).chainId, '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d');
  for (const hash of [null, 7, {}]) {
    lie('getGenesisHash', () => hash);
    assert.is((await faultOf(node.identity())).code, 'node_nonsense');
  }
});

both(
  'a token’s account without a mint in it is no token, and no list of accounts is nonsense',
  async (node, { lie }) => {
    const [usdt] = solanaTokens;
    for (const data of [null, [Buffer.alloc(82).toString('base64'), 'base64']]) {
      lie('getMultipleAccounts', (answer) => {
        const { value, ...rest } = answer as { value: Row[] };
        return { ...rest, value: value.with(0, { ...value[0], data }) };
      });
      const fault = await tokenFaultOf(node);
      assert.equal([fault.kind, fault.code], ['permanent', 'token_not_a_contract'], JSON.stringify(data));
      assert.match(fault.message, usdt.address);
    }
    for (const answer of [null, {}, { value: [] }, { value: 'none' }, { value: [null, null] }]) {
      lie('getMultipleAccounts', () => answer);
      assert.is((await faultOf(node.identity())).code, 'node_nonsense', JSON.stringify(answer));
    }
  },
);

test('the RPC is one port below the WebSocket, as Agave has it, or at the same address behind a gateway', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['ws://10.0.0.8:8900', 'http://10.0.0.8:8899/'],
    ['wss://node.example:9001/path?key=1', 'https://node.example:9000/path?key=1'],
    ['wss://gate.example/solana?key=1', 'https://gate.example/solana?key=1'],
    ['ws://me:secret@gate.example', 'http://me:secret@gate.example/'],
  ];
  for (const [push, rpc] of cases) assert.is(rpcUrlOf(new URL(push)).href, rpc);
});

test('if nothing answers at a derived RPC address, the message says how it was derived', async () => {
  const taken = await startAnsweringServer();
  const { port } = new URL(taken.origin);
  await taken.close();
  const limits = { requestTimeoutMs: 1_000, responseBytesMax: 100_000, idleMsMax: 1_000, concurrencyMax: 1 };
  const faultAt = async (place: { url: string; rpcUrl?: string }) => {
    const node = openNode({ ...place, tokens: solanaTokens, ...limits });
    const fault = await faultOf(node.identity());
    await node.close();
    assert.is(fault.code, 'node_unreachable');
    return fault.message;
  };
  // The RPC's own port behind ws://, an easy slip: requests go to the port below, where nothing listens.
  const push = `ws://127.0.0.1:${Number(port) + 1}`;
  assert.match(await faultAt({ url: push }), `one port below the WebSocket's (${Number(port) + 1})`);
  assert.match(await faultAt({ url: push }), /set the network's rpc_url/);
  for (const place of [{ url: push, rpcUrl: taken.origin }, { url: taken.origin }])
    assert.not.match(await faultAt(place), /rpc_url/);
});

test('a URL of another kind is refused at once', async () => {
  const limits = { requestTimeoutMs: 5_000, responseBytesMax: 1_000, idleMsMax: 5_000, concurrencyMax: 1 };
  for (const place of [
    { url: 'ftp://node' },
    { url: 'nonsense' },
    { url: 'ws://node:8900', rpcUrl: 'ws://node:8899' },
    { url: 'http://node:8899', rpcUrl: 'http://node:8899' },
  ]) {
    assert.throws(
      () => openNode({ ...place, tokens: [], ...limits }),
      (error: unknown) => error instanceof Fault && error.code === 'node_url_invalid' && error.kind === 'permanent',
      place.url,
    );
  }
});

test.run();
