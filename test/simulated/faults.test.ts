import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFaults, type FaultKind, faultKinds } from '../simulated/faults.ts';
import { openRpcClient, type RpcClient } from '../support/rpc-client.ts';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

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

let node: SimulatedNode;
test.before.each(async () => {
  node = await startSimulatedNode({ family: 'evm', seed: 'faults', finalityDistance: 20 });
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

test('control methods are never hit', async () => {
  node.faults.set({ rates: Object.fromEntries(faultKinds.map((kind) => [kind, 1])) });
  assert.is((await node.ask('eth_blockNumber')).error?.message, 'internal error');
  assert.is(((await node.ask('sandbox_mine')).result as Json).number, 1);
  assert.equal(node.faults.report().injected, { rpc_error: 1 });
});

test.run();
