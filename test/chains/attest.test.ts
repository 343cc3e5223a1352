/**
 * The last check before a credit: what the node's index does not know the block itself tells, and nothing is attested
 * that the chain has not confirmed, whatever else a node says.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Attestation, Family, Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Failure, type Liar, type Lie, startLiar } from '../support/liar.ts';
import { accountKeyOf, simulatedChains, startSimulatedNode } from '../support/simulated-node.ts';

const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1_000_000, idleMsMax: 10_000, concurrencyMax: 4 };

type Scene = Readonly<{
  node: Node;
  tell: Liar['tell'];
  block: BlockRef;
  paid: string;
  /** A transaction of the same block that failed. */
  failed: string;
  /** A transaction of another block. */
  other: string;
}>;

function testOn(family: Family, title: string, play: (scene: Scene) => Promise<void>): void {
  test(`${family}: ${title}`, async () => {
    const own = await startSimulatedNode({ family, seed: 'attest' });
    const { url, tell, close } = await startLiar(family, own);
    const { openNode } = await chains[family].node();
    const node = openNode({ url, tokens: simulatedChains[family].tokens, ...limits });
    const payee = accountKeyOf(family, 'payee');
    try {
      const other = own.pay(payee, 5n);
      own.world.mine();
      const paid = own.pay(payee, 5n);
      const failed = own.pay(payee, 5n, 'failed');
      own.world.mine();
      await play({ node, tell, block: await node.head(), paid, failed, other });
    } finally {
      await node.close();
      await close();
      await own.close();
    }
  });
}

const statusesOf =
  (change: object | null): Lie =>
  (method, [asked]) =>
    method === 'getSignatureStatuses'
      ? {
          context: { slot: 1 },
          value: asked.map(() => change && { confirmations: 0, err: null, status: { Ok: null }, ...change }),
        }
      : undefined;
const unindexed = statusesOf(null);
const withoutInfo: Lie = (path) => (path.endsWith('gettransactioninfobyid') ? {} : undefined);

/** Nodes whose index does not know what their block holds, and one that has lost what the block holds too. */
const nodes: Readonly<Record<Family, Readonly<{ unknowing: Readonly<Record<string, Lie>>; lost: Lie }>>> = {
  evm: {
    unknowing: {
      'does not know it': (method) => (method === 'eth_getTransactionReceipt' ? null : undefined),
      'is still being built': (method) =>
        method === 'eth_getTransactionReceipt' ? new Failure(-32000, 'transaction indexing is in progress') : undefined,
    },
    lost: (method) => (/Receipt/.test(method) ? null : undefined),
  },
  tron: {
    unknowing: { 'does not know it': withoutInfo },
    lost: (path, ...asked) => (path.endsWith('blocknum') ? [] : withoutInfo(path, ...asked)),
  },
  solana: {
    unknowing: { 'does not know it': unindexed },
    // The header is asked for without transactions.
    lost: (method, params, honest) =>
      method === 'getBlock' && params[1].transactionDetails !== 'none' ? null : unindexed(method, params, honest),
  },
};

for (const family of ['evm', 'tron', 'solana'] as const) {
  const { unknowing, lost } = nodes[family];
  for (const [about, lie] of Object.entries(unknowing)) {
    testOn(family, `an index that ${about} is no contradiction`, async ({ tell, node, block, paid, failed, other }) => {
      tell(lie);
      assert.is(await node.attest(block, [paid]), 'holds');
      assert.is(await node.attest(block, [paid, failed]), 'gone');
      assert.is(await node.attest(block, [other]), 'gone');
    });
  }
  testOn(family, 'a node that does not have what the block holds either is asked later', async (scene) => {
    scene.tell(lost);
    assert.is(await scene.node.attest(scene.block, [scene.paid]), 'unsure');
  });
}

testOn('solana', 'the block is requested at the commitment that the credit needs', async (scene) => {
  const asked: unknown[] = [];
  scene.tell((method, params) => {
    if (method === 'getBlock') asked.push(params[1].commitment);
    return undefined;
  });
  assert.is(await scene.node.attest(scene.block, [scene.paid]), 'holds');
  assert.equal(asked, ['confirmed']);
});

for (const [about, change, expected] of [
  ['confirmed', { confirmationStatus: 'confirmed' }, 'holds'],
  ['final', { confirmationStatus: 'finalized' }, 'holds'],
  ['only processed by this node', { confirmationStatus: 'processed' }, 'unsure'],
  ['of a status that the node does not name', { confirmationStatus: null }, 'unsure'],
  ['failed', { confirmationStatus: 'confirmed', err: { InstructionError: [0, { Custom: 1 }] } }, 'gone'],
  ['in another slot', { confirmationStatus: 'confirmed', slot: 999 }, 'gone'],
] as readonly (readonly [string, object, Attestation])[]) {
  testOn('solana', `a transaction that is ${about}: ${expected}`, async ({ tell, node, block, paid }) => {
    tell(statusesOf({ slot: block.number, ...change }));
    assert.is(await node.attest(block, [paid]), expected);
  });
}

for (const [about, code] of [
  ['is not confirmed any more', -32004],
  ['has no results yet', -32014],
  ['is skipped or missing', -32007],
  ['is skipped or missing in long-term storage', -32009],
] as const) {
  testOn('solana', `a block that ${about}: unsure`, async ({ tell, node, block, paid }) => {
    tell((method) => (method === 'getBlock' ? new Failure(code, 'not now') : undefined));
    assert.is(await node.attest(block, [paid]), 'unsure');
  });
}

test.run();
