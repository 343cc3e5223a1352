/** A Solana node that has lost slots, is behind, or lists what is no list, and where its RPC is found. */
import * as assert from 'uvu/assert';
import { openNode } from '../../../../src/chains/solana/node/node.ts';
import { rpcUrlOf } from '../../../../src/chains/solana/node/urls.ts';
import { has } from '../../../support/fields.ts';
import { freePort } from '../../../support/free-port.ts';
import { Failure, type Lie } from '../../../support/liar.ts';
import { faultOf } from '../../../support/refusal.ts';
import { solanaTokens } from '../../../support/simulated-node.ts';
import { lyingSuiteOf } from '../../lying-bench.ts';

const { test, both } = lyingSuiteOf('Solana node', 'solana');

/** Lies about one call, and of `getBlock` only about one slot, if one is named. */
const about =
  (call: string, told: unknown, slot?: number): Lie =>
  (method, [asked]) =>
    method === call && (slot === undefined || asked === slot) ? told : undefined;

both('while the newest block is being written, the head is the one below it', async (node, bench) => {
  const { tell, block, sibling, read } = bench;
  for (const code of [-32004, -32014]) {
    tell(about('getBlock', new Failure(code, 'not yet'), block.number));
    assert.equal(await node.head(), sibling);
    assert.is((await faultOf(node.range(sibling.number, block.number))).kind, 'transient');
    assert.is(await node.attest(block, []), 'unsure');
  }
  // If it is null, it is lost as soon as it is asked for.
  tell(about('getBlock', null, block.number));
  assert.equal(await node.head(), sibling);
  assert.is(await node.attest(block, []), 'unsure');
  for (const ask of [() => node.range(sibling.number, block.number), () => read(node, true)]) {
    const fault = await faultOf(ask());
    has(fault, { kind: 'transient', code: 'node_block_missing' });
    assert.match(fault.message, `has lost its block of slot ${block.number} `);
    assert.match(fault.message, 'Catch up from a node that has the block');
  }
  // Of a slot that is final, no block comes any more.
  const { number = 0 } = (await node.finalized()) ?? {};
  tell(about('getBlock', new Failure(-32004, 'not yet'), number));
  assert.is((await faultOf(node.range(number, number))).code, 'node_block_missing');
});

both('a gap in the ledger is never skipped', async (node, { liar, block, sibling }) => {
  const { tell, heal } = liar;
  const below = sibling.number - 1;
  // The node knows a block whose parent it does not list.
  tell(about('getBlocks', [below, block.number]));
  const fault = await faultOf(node.range(below, block.number));
  assert.is(fault.code, 'node_block_missing');
  assert.match(fault.message, `lost blocks between slots ${below} and ${sibling.number}`);
  // The one block of the list does not link to what is held; what it names as its parent is skipped or missing.
  heal();
  await node.head();
  tell(about('getBlock', new Failure(-32007, 'Slot was skipped, or missing'), sibling.number));
  assert.is((await faultOf(node.header(block.parent))).code, 'node_block_missing');
});

both('far below the newest final slot, slots are listed by a method that stops', async (node, bench) => {
  const { tell, block, sibling } = bench;
  const asked: string[] = [];
  tell((call, [slot]) => {
    asked.push(call);
    if (call === 'getSlot') return block.number + 5_000;
    return call === 'getBlock' && slot > block.number ? null : undefined;
  });
  const near = await node.range(sibling.number, block.number);
  assert.ok(asked.includes('getBlocks'));
  await node.finalized();
  asked.length = 0;
  assert.equal(await node.range(sibling.number, block.number), near);
  assert.ok(asked.includes('getBlocksWithLimit'));
  assert.not.ok(asked.includes('getBlocks'));
  // More slots than asked for are those above the range.
  tell(about('getBlocksWithLimit', [sibling.number, block.number, block.number + 1]));
  assert.equal(await node.range(sibling.number, block.number), near);
});

both('a range that ends in a skipped slot ends before it, and one of nothing else has the next block', async (node) => {
  const numbers = async (from: number, to: number) => (await node.range(from, to)).map(({ number }) => number);
  assert.equal([await numbers(0, 2), await numbers(2, 2)], [[0, 1], [3]]);
});

both('a list of slots that does not rise, or is not a list, is nonsense', async (node, { tell, block, sibling }) => {
  const { number } = sibling;
  for (const listed of [
    ...[[block.number, number], [number, number], [number - 1, block.number], [number, '9'], [1.5]],
    ...['many', null, {}],
  ]) {
    tell(about('getBlocks', listed));
    const fault = await faultOf(node.range(number, block.number));
    assert.is(fault.code, 'node_nonsense', JSON.stringify(listed));
    assert.match(fault.message, /not a rising list of slots/);
  }
  for (const slot of [null, '5', -1, 1.5, {}]) {
    tell(about('getSlot', slot));
    assert.is((await faultOf(node.head())).code, 'node_nonsense', JSON.stringify(slot));
  }
});

both('a node that says it is behind is asked only for that', async (node, { tell }) => {
  assert.is(await node.whyBehind?.(), null);
  tell(about('getHealth', new Failure(-32005, 'Node is behind by 42 slots')));
  assert.is(await node.whyBehind?.(), 'Node is behind by 42 slots');
  // A gateway may not offer the method.
  for (const answer of [new Failure(-32601, 'Method not found'), 'ok']) {
    tell(about('getHealth', answer));
    assert.is(await node.whyBehind?.(), null);
  }
});

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
  const port = await freePort();
  const limits = { requestTimeoutMs: 60_000, responseBytesMax: 100_000, idleMsMax: 60_000, concurrencyMax: 1 };
  const faultAt = async (place: { url: string; rpcUrl?: string }) => {
    const node = openNode({ ...place, tokens: solanaTokens, ...limits });
    const fault = await faultOf(node.identity());
    await node.close();
    assert.is(fault.code, 'node_unreachable');
    return fault.message;
  };
  // The RPC's own port behind ws://, an easy slip: requests go to the port below, where nothing listens.
  const push = `ws://127.0.0.1:${port + 1}`;
  assert.match(await faultAt({ url: push }), `one port below the WebSocket's (${port + 1})`);
  assert.match(await faultAt({ url: push }), /set the network's rpc_url/);
  const own = `http://127.0.0.1:${port}`;
  for (const place of [{ url: push, rpcUrl: own }, { url: own }]) assert.not.match(await faultAt(place), /rpc_url/);
});

test.run();
