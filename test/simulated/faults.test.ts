import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFaults, type FaultKind, faultKinds } from '../simulated/faults.ts';
import { openRpcClient, type RpcClient } from '../support/rpc-client.ts';
import { accountKey, type SandboxNode, startSandboxNode } from '../support/sandbox-node.ts';
import { until } from '../support/until.ts';

const payee = accountKey('payee');

test('which requests are hit depends on the seed and not on their order', () => {
  const requests = Array.from({ length: 200 }, (_, at) => ['eth_getLogs', [{ at: at % 50 }]] as const);
  const kinds: FaultKind[] = ['hang', 'empty_content'];
  const run = (seed: string, order: typeof requests) => {
    const faults = createFaults(seed, { hang: 0.2, empty_content: 0.2 });
    const hits = order.map(([method, params]) => JSON.stringify([params, faults.strike(kinds, method, params)]));
    return hits.sort();
  };
  const once = run('seed', requests);
  assert.equal(run('seed', requests), once);
  assert.equal(run('seed', [...requests].reverse()), once);
  assert.is.not(run('another seed', requests).join(), once.join());
});

test('rates are kept, kinds do not affect each other, and healing ends all faults', () => {
  const faults = createFaults('rates', { drop: 0.3 });
  const strikes = (count: number) => {
    let hits = 0;
    for (let at = 0; at < count; at++) if (faults.strike(['cut', 'drop'], 'eth_call', [at])?.kind === 'drop') hits++;
    return hits;
  };
  const alone = strikes(2000);
  assert.ok(alone > 480 && alone < 720, `${alone} of 2000 at rate 0.3`);
  assert.is(faults.strike(['cut'], 'eth_call', []), null);
  assert.is(faults.report().injected.drop, alone);
  faults.heal();
  assert.is(strikes(100), 0);
  assert.throws(() => faults.set({ rates: { drop: 1.5 } }), /no fault "drop" at rate 1.5/);
  assert.throws(() => faults.set({ rates: { gremlins: 1 } as object }), /no fault "gremlins"/);
});

let node: SandboxNode;
test.before.each(async () => {
  node = await startSandboxNode({ seed: 'faults', finalityDistance: 20 });
});
test.after.each(() => node.close());

// biome-ignore lint/suspicious/noExplicitAny: looked into freely; every field used is asserted
type Json = any;

/** Returns the answer with one fault at full rate, then heals. */
async function hit(kind: FaultKind, method: string, params: unknown[] = []): Promise<Json> {
  node.faults.set({ rates: { [kind]: 1 } });
  try {
    return await node.ask(method, params);
  } finally {
    node.faults.heal();
  }
}

function mineMany(count: number): void {
  for (let left = count; left > 0; left--) node.world.mine();
}

test('a lagging node shows an older head in every answer', async () => {
  mineMany(29);
  const tx = node.pay(payee, 1n);
  mineMany(1);
  node.faults.set({ rates: { lag: 1 }, lagBlocks: 7 });
  assert.is((await node.ask('eth_blockNumber')).result, '0x17');
  const head = (await node.ask('eth_getBlockByNumber', ['latest', false])).result as Json;
  assert.is(head.number, '0x17');
  assert.is((await node.ask('eth_getBlockByNumber', ['0x18', false])).result, null);
  const newer = `0x${node.world.tip().hash}`;
  assert.is((await node.ask('eth_getBlockByHash', [newer, false])).result, null);
  assert.is((await node.ask('eth_getLogs', [{ blockHash: newer }])).error?.message, 'unknown block');
  assert.is((await node.ask('eth_getTransactionReceipt', [tx])).result, null);
  const beyond = await node.ask('eth_getLogs', [{ fromBlock: '0x18', toBlock: '0x19' }]);
  assert.is(beyond.error?.message, 'invalid block range params');
  node.faults.heal();
  assert.is((await node.ask('eth_blockNumber')).result, '0x1e');
});

test('a head that goes backwards moves back and forth', async () => {
  mineMany(30);
  node.faults.set({ rates: { backwards: 0.5 }, lagBlocks: 3 });
  const heads = new Set<number>();
  for (let at = 0; at < 60; at++) heads.add(Number((await node.ask('eth_blockNumber')).result));
  assert.equal([...heads].sort(), [27, 28, 29, 30]);
});

test('a known block and its transactions are denied', async () => {
  const tx = node.pay(payee, 1n);
  mineMany(1);
  assert.is((await hit('unknown_block', 'eth_getTransactionReceipt', [tx])).result, null);
  mineMany(2);
  const hash = `0x${node.world.tip().hash}`;
  assert.is((await hit('unknown_block', 'eth_getBlockByHash', [hash, false])).result, null);
  assert.is((await hit('unknown_block', 'eth_getBlockByNumber', ['0x2', false])).result, null);
  assert.is((await hit('unknown_block', 'eth_getBlockReceipts', [hash])).result, null);
  assert.is((await hit('unknown_block', 'eth_getLogs', [{ blockHash: hash }])).error.message, 'unknown block');
});

test('finality is missing, or stays at an old block; states are gone below the head', async () => {
  mineMany(30);
  const finalized = ['finalized', false];
  const missing = await hit('finality_missing', 'eth_getBlockByNumber', finalized);
  assert.equal(missing.error, { code: -32000, message: 'finalized block not found' });
  assert.is((await hit('finality_stalled', 'eth_getBlockByNumber', finalized)).result.number, '0x1');
  assert.is((await hit('finality_stalled', 'eth_getBlockByNumber', ['latest', false])).result.number, '0x1e');
  assert.is(((await node.ask('eth_getBlockByNumber', finalized)).result as Json).number, '0xa');
  const account = `0x${payee}`;
  assert.match(
    (await hit('states_gone', 'eth_getBalance', [account, '0x1d'])).error.message,
    /^historical state [0-9a-f]{64} is not available$/,
  );
  assert.is((await hit('states_gone', 'eth_getBalance', [account, '0x1e'])).result, '0x0');
});

test('a suggested tip is a thousand times what blocks paid', async () => {
  node.world.mine(5);
  assert.is(Number((await node.ask('eth_maxPriorityFeePerGas')).result), 1_000_000);
  assert.is(Number((await hit('tip_high', 'eth_maxPriorityFeePerGas')).result), 1_000_000_000);
});

test('a full block is reported as empty, or another block’s content is returned', async () => {
  node.pay(payee, 1n);
  node.world.mine();
  const { added } = node.world.reorg({ depth: 1, keep: 'all' });
  const hash = `0x${added[0]?.hash}`;
  assert.equal((await hit('empty_content', 'eth_getLogs', [{ blockHash: hash }])).result, []);
  assert.equal((await hit('empty_content', 'eth_getBlockReceipts', [hash])).result, []);
  const sibling = (await hit('sibling_content', 'eth_getLogs', [{ blockHash: hash }])).result;
  assert.is(sibling.length, 1);
  assert.is.not(sibling[0].blockHash, hash);
  const truth = (await node.ask('eth_getLogs', [{ blockHash: hash }])).result as Json;
  assert.is(truth.at(-1).blockHash, hash);
});

test('a header belongs to no chain; chain id and decimals are wrong', async () => {
  mineMany(5);
  const stray = (await hit('unlinked', 'eth_getBlockByNumber', ['0x4', false])).result;
  const below = (await node.ask('eth_getBlockByNumber', ['0x3', false])).result as Json;
  assert.is(stray.number, '0x4');
  assert.is.not(stray.parentHash, below.hash);
  assert.is((await node.ask('eth_getBlockByHash', [stray.hash, false])).result, null);
  assert.is(Number((await hit('wrong_chain', 'eth_chainId')).result), 900_002);
  const decimals = [{ to: `0x${'5a'.repeat(18)}0001`, data: '0x313ce567' }, 'latest'];
  assert.is(Number((await hit('wrong_decimals', 'eth_call', decimals)).result), 7);
});

test('over HTTP: errors, statuses, cut answers, closed connections, silence', async () => {
  assert.equal((await hit('rpc_error', 'eth_blockNumber')).error, { code: -32000, message: 'internal error' });
  const request = (signal?: AbortSignal) =>
    fetch(node.httpUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
      ...(signal && { signal }),
    });
  node.faults.set({ rates: { http_error: 1 } });
  const statuses = new Set<number>();
  for (let at = 0; at < 20; at++) statuses.add((await request()).status);
  assert.equal([...statuses].sort(), [429, 503]);
  node.faults.heal();

  node.faults.set({ rates: { cut: 1 } });
  const text = await (await request()).text();
  assert.throws(() => JSON.parse(text));
  node.faults.heal();

  node.faults.set({ rates: { drop: 1 } });
  assert.ok(
    await request().then(
      () => false,
      () => true,
    ),
    'the connection is closed',
  );
  node.faults.heal();

  node.faults.set({ rates: { hang: 1 } });
  const name = await request(AbortSignal.timeout(200)).then(
    () => 'answered',
    (error: Error) => error.name,
  );
  assert.is(name, 'TimeoutError');
  node.faults.heal();
  assert.is((await request()).status, 200);
});

/** A subscribed connection. */
async function subscribed(): Promise<{ client: RpcClient; heads: string }> {
  const client = await openRpcClient(node.wsUrl);
  return { client, heads: (await client.ask('eth_subscribe', ['newHeads'])).result };
}

const call = '{"jsonrpc":"2.0","id":"raw","method":"eth_blockNumber"}';

test('over a WebSocket: limits, silence, cut answers, closed connections', async () => {
  const { client } = await subscribed();
  node.faults.set({ rates: { http_error: 1 } });
  assert.equal((await client.ask('eth_blockNumber')).error, { code: -32005, message: 'limit exceeded' });
  node.faults.heal();
  node.faults.set({ rates: { cut: 1 } });
  client.socket.send(call);
  await until('half an answer arrives', () => client.received.some((message) => typeof message === 'string'));
  node.faults.heal();
  node.faults.set({ rates: { hang: 1 } });
  client.socket.send(call);
  await until('the fault strikes', () => node.faults.report().injected.hang === 1);
  node.faults.heal();
  await client.ask('eth_blockNumber');
  assert.not.ok(client.received.some((message) => message.id === 'raw'));
  node.faults.set({ rates: { drop: 1 } });
  let isClosed = false;
  client.socket.on('close', () => {
    isClosed = true;
  });
  client.socket.send(call);
  await until('the connection is closed', () => isClosed);
});

test('a half-open connection looks open and transmits nothing', async () => {
  const { client, heads } = await subscribed();
  const { client: other, heads: otherHeads } = await subscribed();
  node.faults.set({ rates: { half_open: 1 } });
  client.socket.send(call);
  await until('the fault strikes', () => node.faults.report().injected.half_open === 1);
  node.faults.heal();
  let ponged = false;
  client.socket.on('pong', () => {
    ponged = true;
  });
  client.socket.ping();
  client.socket.send(call);
  mineMany(1);
  await until('the other connection gets the announcement', () => other.notified(otherHeads).length === 1);
  assert.equal(client.notified(heads), []);
  assert.is(ponged, false);
  assert.is(client.socket.readyState, client.socket.OPEN);
  await client.close();
  await other.close();
});

test('announcements are lost or sent twice', async () => {
  const { client, heads } = await subscribed();
  node.faults.set({ rates: { push_twice: 1 } });
  mineMany(1);
  await until('it is announced twice', () => client.notified(heads).length === 2);
  assert.equal(client.notified(heads)[0], client.notified(heads)[1]);
  node.faults.heal();
  node.faults.set({ rates: { push_lost: 1 } });
  mineMany(3);
  node.faults.heal();
  mineMany(1);
  await until('it is announced once more', () => client.notified(heads).length === 3);
  assert.is(Number(client.notified(heads)[2].number), 5);
  await client.close();
});

test('control methods are never hit', async () => {
  node.faults.set({ rates: Object.fromEntries(faultKinds.map((kind) => [kind, 1])) });
  assert.is((await node.ask('eth_blockNumber')).error?.message, 'internal error');
  assert.is(((await node.ask('sandbox_mine')).result as Json).number, 1);
  assert.equal(node.faults.report().injected, { rpc_error: 1 });
});

test.run();
