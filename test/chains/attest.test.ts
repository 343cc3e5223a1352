/** The last check before a credit, where the node's index does not know a transaction: the block itself tells. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Family, Node } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { type LyingProxy, startLyingProxy } from '../support/lying-proxy.ts';
import { type PostProxy, startPostProxy } from '../support/post-proxy.ts';
import { accountKeyOf, type SimulatedNode, simulatedChains, startSimulatedNode } from '../support/simulated-node.ts';

const limits = { requestTimeoutMs: 10_000, responseBytesMax: 1_000_000, idleMsMax: 10_000, concurrencyMax: 4 };

type Scene<Proxy> = Readonly<{
  own: SimulatedNode;
  node: Node;
  proxy: Proxy;
  block: BlockRef;
  paid: string;
  /** A transaction of the same block that failed. */
  failed: string;
  /** A transaction of another block. */
  other: string;
}>;

async function scene<Proxy extends { close(): Promise<void> }>(
  family: Family,
  start: (own: SimulatedNode) => Promise<readonly [url: string, proxy: Proxy]>,
  play: (scene: Scene<Proxy>) => Promise<void>,
): Promise<void> {
  const own = await startSimulatedNode({ family, seed: 'attest' });
  const [url, proxy] = await start(own);
  const { openNode } = await chains[family].node();
  const node = openNode({ url, tokens: simulatedChains[family].tokens, ...limits });
  const payee = accountKeyOf(family, 'payee');
  try {
    const other = own.pay(payee, 5n);
    own.world.mine();
    const paid = own.pay(payee, 5n);
    const failed = own.pay(payee, 5n, 'failed');
    own.world.mine();
    await play({ own, node, proxy, block: await node.head(), paid, failed, other });
  } finally {
    await node.close();
    await proxy.close();
    await own.close();
  }
}

const jsonRpc = async (own: SimulatedNode): Promise<[string, LyingProxy]> => {
  const proxy = await startLyingProxy(own);
  return [proxy.httpUrl, proxy];
};

async function tellsByBlock({ node, block, paid, failed, other }: Scene<unknown>): Promise<void> {
  assert.is(await node.attest(block, [paid]), 'holds');
  assert.is(await node.attest(block, [paid, failed]), 'gone');
  assert.is(await node.attest(block, [other]), 'gone');
}

for (const [about, lie] of [
  ['does not know it', { result: null }],
  [
    'is still being built',
    { result: undefined, error: { code: -32000, message: 'transaction indexing is in progress' } },
  ],
] as const) {
  test(`evm: an index that ${about} is no contradiction`, () =>
    scene('evm', jsonRpc, async (s) => {
      s.proxy.lies.answer = ({ method }, answer) =>
        method === 'eth_getTransactionReceipt' ? { ...answer, ...lie } : answer;
      await tellsByBlock(s);
    }));
}

test('evm: a node that does not have the block’s receipts either is asked later', () =>
  scene('evm', jsonRpc, async ({ proxy, node, block, paid }) => {
    proxy.lies.answer = ({ method }, answer) => (/Receipt/.test(method) ? { ...answer, result: null } : answer);
    assert.is(await node.attest(block, [paid]), 'unsure');
  }));

test('tron: an index that does not know it yet is no contradiction, and without infos the node is asked later', () =>
  scene(
    'tron',
    async (own): Promise<[string, PostProxy]> => {
      const proxy = await startPostProxy(own.httpUrl);
      return [proxy.url, proxy];
    },
    async (s) => {
      s.proxy.lies.answer = (path) => (path.endsWith('gettransactioninfobyid') ? '{}' : undefined);
      await tellsByBlock(s);
      s.proxy.lies.answer = (path) =>
        path.endsWith('gettransactioninfobyid') ? '{}' : path.endsWith('blocknum') ? '[]' : undefined;
      assert.is(await s.node.attest(s.block, [s.paid]), 'unsure');
    },
  ));

test.run();
