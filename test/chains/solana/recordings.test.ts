/**
 * The production code reads every answer that was recorded from a real node to a call that it makes. A recording of
 * such a call that no test here reads fails the last test.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Node, RawContent } from '../../../src/chains/chain.ts';
import { peekId, readAnswer } from '../../../src/chains/json-rpc.ts';
import { readTokenAccount } from '../../../src/chains/solana/account.ts';
import { openNode } from '../../../src/chains/solana/node/node.ts';
import { openSlotSubscription } from '../../../src/chains/solana/node/slot-subscription.ts';
import { solanaErrors } from '../../../src/chains/solana/rpc-errors.ts';
import { readHeader, solanaWire } from '../../../src/chains/solana/wire.ts';
import { createRpcClient } from '../../../src/chains/transport/rpc-client.ts';
import { openRpcHttp } from '../../../src/chains/transport/rpc-http.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { until } from '../../support/until.ts';
import {
  closeAll,
  expectAllRead,
  GENESIS,
  key,
  limits,
  node,
  origin,
  other,
  paidBlock,
  payee,
  payer,
  place,
  readsEach,
  recording,
  recordings,
  replay,
  resultOf,
  rpc,
  solanaRpc,
  tokens,
  usdt,
} from './recordings-bench.ts';
import './recorded-payouts.ts';
import { faultOf } from '../../support/refusal.ts';

test.after(closeAll);

const mintBlock: BlockRef = {
  hash: 'BqDpAxcdrbghGFkeKK7jAEagX7b5bRcm3Euo75eY5YU9',
  parent: '61Db7nkx32QXcGDBEXTEXoopQmHKW7f418FfR3uCehCt',
  number: 2,
  timeS: 1795338734,
};

// ── Blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const headers = ['accounts', 'none', 'signatures', 'full', 'full.jsonParsed', 'full.rewards', 'finalized'];
readsEach(
  Object.fromEntries(headers.map((name) => [`getBlock.${name}`, paidBlock])),
  'a header is the same whatever else was requested',
  ({ name }, block) => assert.equal(readHeader(resultOf(name), block.number, origin), { ref: block, parentSlot: 5 }),
);

test('the first blocks and the newest', () => {
  const genesis = readHeader(resultOf('getBlock.genesis'), 0, origin);
  assert.equal(
    { hash: genesis.ref.hash, parent: genesis.ref.parent, parentSlot: genesis.parentSlot },
    { hash: GENESIS, parent: GENESIS, parentSlot: 0 },
  );
  assert.is(readHeader(resultOf('getBlock.first'), 1, origin).ref.parent, GENESIS);
  assert.is(readHeader(resultOf('getBlock.version.legacy'), 37, origin).parentSlot, 36);
});

function decode(body: string, kind: string, block: BlockRef): ChainTransfer[] {
  const content: RawContent = { block, kind, bytes: Buffer.from(body), context: { host: 'recorded' } };
  return solanaWire.decode(content, tokens, () => true);
}

readsEach(
  { 'getBlock.accounts': null, 'getBlock.full': null, 'getBlock.full.jsonParsed': null },
  'the payments of a block, in slices and whole; failed, native, foreign and Token-2022 ones are none',
  ({ name, text: body }) => {
    const paid = (kind: string) =>
      decode(body, kind, paidBlock).map(({ tx, currency, to, units }) => [tx.slice(0, 6), currency, to, units]);
    assert.equal(paid('whole'), [
      ['3ShkUD', 'USDT', key(other), 7_000_000n],
      ['5DAXmb', 'USDT', key(payee), 10_000_000n],
      ['4yskYr', 'USDT', key(payee), 11n],
      ['QRkqgz', 'USDC', key(payee), 9n],
    ]);
    // Whole transactions, which Quayside does not request, need not be readable in slices.
    if (name === 'getBlock.accounts') assert.equal(paid('slices'), paid('whole'));
  },
);

test('new tokens have no sender; a list of signatures is refused', () => {
  const minted = decode(recording('getBlock.empty').text, 'slices', mintBlock);
  assert.equal(
    minted.map(({ from, to, currency }) => [Number(`0x${from}`), to, currency]),
    [
      [0, key(payer), 'USDT'],
      [0, key(payer), 'USDC'],
    ],
  );
  const listed = () => decode(recording('getBlock.signatures').text, 'whole', paidBlock);
  assert.throws(listed, (fault: Fault) => fault.code === 'node_nonsense' && /without transactions/.test(fault.message));
});

test('head, final block and content, as they are requested from a node', async () => {
  replay.play('getSlot.confirmed', 'getSlot.finalized', 'getBlock.version.legacy', 'getBlock.finalized');
  assert.is((await node.head()).number, 37);
  assert.equal(await node.finalized(), paidBlock);
  replay.play('getBlock.accounts');
  const content = await node.content(paidBlock, false);
  assert.is(solanaWire.decode(content, tokens, (to) => to === key(payee)).length, 3);
});

test('batches: results and errors by id, and a body without any', async () => {
  const transport = openRpcHttp({ ...limits, url: new URL(replay.httpUrl), host: 'recorded' }, systemClock);
  const call = { method: 'getBlock', params: [] };
  const ask = async (name: string, count: number) => {
    replay.playOnly(name);
    const fresh = createRpcClient(transport, { ...limits, host: 'recorded', meanings: solanaErrors });
    return fresh.batch(Array.from({ length: count }, () => call));
  };
  const blocks = await ask('batch.ok', 3);
  assert.equal(
    blocks.map((answer, at) => answer.ok && readHeader(answer.result, at + 1, origin).parentSlot),
    [0, 1, 2],
  );
  const mixed = await ask('batch.mixed', 3);
  assert.equal(
    mixed.map((answer) => (answer.ok ? answer.result : answer.error.code)),
    ['ok', -32004, -32601],
  );
  assert.is((await faultOf(ask('batch.empty', 1))).code, 'node_nonsense');
  await transport.close();
});

// ── Slots without blocks, and lost blocks ────────────────────────────────────────────────────────────────────────────

/** The answer to a range, its ends, and the fault. */
const ranges: readonly (readonly [names: readonly string[], from: number, to: number, code: string])[] = [
  [['getBlocks.ok', 'getBlock.next'], 0, 6, 'node_block_pending'],
  [['getBlocks.ahead', 'getSlot.confirmed'], 6, 400_006, 'node_range_broken'],
  [['getBlocks.too-many', 'getSlot.confirmed'], 6, 500_007, 'node_range_broken'],
  [['getBlocks.future', 'getSlot.confirmed'], 100_006, 100_016, 'node_range_broken'],
  [['getBlocks.negative'], 5, 6, 'node_error'],
  [['getBlocks.processed'], 5, 6, 'node_error'],
  [['skipped.getBlocks', 'skipped.getBlock.confirmed'], 0, 201, 'node_block_missing'],
  [['skipped.getBlocks', 'skipped.getBlock.confirmed.final'], 0, 201, 'node_block_missing'],
  [['skipped.getBlocks', 'skipped.getBlock.finalized'], 0, 201, 'node_block_missing'],
  [
    ['skipped.getBlocks.within', 'getSlot.confirmed', 'skipped.getBlocksWithLimit', 'skipped.getBlock.after'],
    1,
    2,
    'node_block_pending',
  ],
  [['hole.getBlocks-beside.-32001', 'hole.getBlock.-32001'], 170, 205, 'node_history_pruned'],
  [['hole.getBlocks-beside.-32001', 'hole.getBlock.null'], 170, 205, 'node_block_missing'],
  [['hole.getBlocks-beside.-32004', 'getSlot.confirmed'], 170, 205, 'node_range_broken'],
  [['hole.getBlocks-beside.-32014', 'getSlot.confirmed'], 170, 205, 'node_range_broken'],
  [['hole.getBlocks-beside.null', 'getSlot.confirmed'], 170, 205, 'node_range_broken'],
];
test('a range with slots that are skipped, lost or not there yet is a fault that says so', async () => {
  for (const [names, from, to, code] of ranges) {
    replay.play(...names);
    // A node that knows no final slot yet.
    const fresh = openNode({ ...place, tokens, ...limits });
    assert.is((await faultOf(fresh.range(from, to))).code, code, names.join());
    await fresh.close();
  }
});

test('a block that is not there yet, although a later one is final, is lost', async () => {
  for (const name of ['hole.getBlock.-32004', 'hole.getBlock.-32014']) {
    replay.play('getSlot.finalized', 'getBlock.finalized', 'getBlocks.ok', name);
    const fresh = openNode({ ...place, tokens, ...limits });
    assert.match((await faultOf(fresh.range(0, 6))).code, /^node_(block|status)_pending$/);
    await fresh.finalized();
    assert.is((await faultOf(fresh.range(0, 6))).code, 'node_block_missing');
    await fresh.close();
  }
});

readsEach(
  { getHealth: null, 'restarted.getHealth': null },
  'a node that says it is well is not behind',
  async (one) => {
    replay.play(one.name);
    assert.is(await node.whyBehind?.(), null);
  },
);

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────

readsEach(
  {
    'getBlock.future': 'node_block_pending',
    'getBlock.next': 'node_block_pending',
    'getBlock.not-final': 'node_block_pending',
    'getBlock.processed': 'node_error',
    'getBlock.version.missing': 'node_version_unsupported',
    'getBlocksWithLimit.too-many': 'node_error',
    'getMultipleAccounts.malformed': 'node_error',
    'getMultipleAccounts.too-many': 'node_error',
    'getTransaction.malformed': 'node_error',
    'getTransaction.short': 'node_error',
    'getTransaction.version.missing': 'node_version_unsupported',
    'hole.getBlock.-32004': 'node_block_pending',
    'hole.getBlock.-32014': 'node_status_pending',
    'http.websocket-method': 'node_method_missing',
    'malformed.json': 'node_error',
    'malformed.method': 'node_method_missing',
    'malformed.no-params': 'node_error',
    'malformed.no-version': 'node_error',
    'malformed.object': 'node_error',
    'malformed.params': 'node_error',
    'malformed.version': 'node_error',
  },
  'errors have the codes that faults name',
  async ({ name }, code) => {
    replay.playOnly(name);
    assert.is((await faultOf(rpc.call('getBlock', []))).code, code);
  },
);

// ── Identity and accounts ────────────────────────────────────────────────────────────────────────────────────────────

test('the genesis, and mints of both token programs; none in the first state of a node that has just started', async () => {
  replay.play('getGenesisHash');
  const decimals = new Map(tokens.map(({ address }) => [address, 6]));
  assert.equal(await node.identity(), { chainId: GENESIS, decimals, stateNumber: 37 });
  const askFor = async (name: string) => {
    const addresses = recording(name).params[0] as string[];
    const asking = openNode({ ...place, tokens: addresses.map((address) => ({ ...usdt, address })), ...limits });
    replay.play('getGenesisHash', name);
    const found = await asking.identity();
    await asking.close();
    return [
      [...found.decimals.values()].map((shown) => (shown instanceof Fault ? shown.code : shown)),
      found.stateNumber,
    ];
  };
  const mints = [6, 6, 'token_not_a_contract', 'token_not_a_contract', 'token_missing'];
  assert.equal(await askFor('getMultipleAccounts.mints'), [mints, 37]);
  assert.equal(await askFor('restarted.getMultipleAccounts'), [['token_missing'], 0]);
});

readsEach(
  {
    'getMultipleAccounts.payout': [2_000_000n, 2_039_280n, 2_074_080n, null],
    // Rounded by `JSON.parse`.
    'getMultipleAccounts.rich': [499_999_999_964_530_688n],
  },
  'accounts, as a payout requests them',
  async ({ name, params }, lamports) => {
    replay.play(name);
    const accounts = await solanaRpc.accounts(params[0] as string[], 'confirmed');
    assert.equal(
      accounts.map((account) => account?.lamports ?? null),
      lamports,
    );
    if (name.endsWith('rich')) return;
    const token = { mint: usdt.address, owner: payee, units: 10_000_016n, isFrozen: false };
    assert.equal(readTokenAccount(accounts[1] ?? null), token);
    assert.is(readTokenAccount(accounts[2] ?? null), null, 'of Token-2022');
  },
);

// ── The connection ───────────────────────────────────────────────────────────────────────────────────────────────────

readsEach(
  {
    'http.body-too-large': ['node_request_too_large', /HTTP status 413 "request body size exceeds allowed maximum"/],
    'http.content-type': ['node_error', /HTTP status 415 "Supplied content type is not allowed/],
    'http.get': ['node_error', /HTTP status 405 "Used HTTP Method is not allowed/],
    'http.health': ['node_nonsense', /not JSON \(2 bytes\): ok/],
  } as const,
  'what is no JSON-RPC is a fault that quotes the node',
  async ({ name }, [code, text]) => {
    replay.playOnly(name);
    const fault = await faultOf(rpc.call('getHealth', []));
    assert.is(fault.code, code);
    assert.match(fault.message, text);
  },
);

/** Opens the subscription on a node that sends these messages, and waits until it has had the wanted effect. */
async function subscribeTo(
  name: string,
  isOver: (wakeups: number, health: ReturnType<Node['health']>) => boolean,
): Promise<void> {
  replay.playOnly(name);
  const url = new URL(replay.wsUrl);
  const subscription = openSlotSubscription({ ...limits, url, host: url.host, idleMsMax: 300 }, systemClock);
  let wakeups = 0;
  subscription.onChange(() => {
    wakeups += 1;
  });
  await until(`${name} is read`, () => isOver(wakeups, subscription.health()));
  await subscription.close();
}

test('PubSub: granted with the first answer, then one wake-up per slot; a refusal is asked again', async () => {
  await subscribeTo('slotSubscribe', (wakeups, { connected }) => connected && wakeups >= 3);
  for (const name of ['blockSubscribe.off', 'getSlot.by-websocket'])
    await subscribeTo(name, (wakeups, { connected }) => wakeups >= 1 && !connected);
});

readsEach(
  { rootSubscribe: null, logsSubscribe: null, signatureSubscribe: null, 'subscribe.no-such': null },
  'PubSub: messages that were not requested end the connection',
  async ({ name }) => {
    await subscribeTo(name, (_, { connections }) => connections >= 2);
  },
);

// ── Answers to calls that clients make otherwise ─────────────────────────────────────────────────────────────────────

const others = [
  'getBlocks.reversed',
  'getBlocksWithLimit.ok',
  'getBlocksWithLimit.future',
  'getMinimumBalanceForRentExemption.82',
  'getSlot.processed',
  'hole.getBlocksWithLimit',
  'malformed.setting',
  'restarted.getSlot',
];
test('answers to other arguments are understood', async () => {
  for (const name of others) {
    replay.play(name);
    assert.equal(await rpc.call(recording(name).method, []), resultOf(name), name);
  }
});

test('a node of this kind writes the id last, and it is found without parsing the answer', () => {
  for (const { name, text: body, method } of recordings.values()) {
    if (method === '' || !body.startsWith('{"jsonrpc"')) continue;
    const { id } = readAnswer(JSON.parse(body), origin);
    assert.is(peekId(Buffer.from(body)), id, name);
  }
});

expectAllRead(({ method }, read) => [...read].some((name) => recordings.get(name)?.method === method));

test.run();
