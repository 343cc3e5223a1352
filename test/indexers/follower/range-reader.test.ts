/**
 * Reading a range again, on simulated nodes of each family.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddressTable } from '../../../indexers/follower/address-table.ts';
import { createMatcher } from '../../../indexers/follower/matcher.ts';
import { followerNodeOptions } from '../../../indexers/follower/node-options.ts';
import { type RangePart, readChainRange } from '../../../indexers/follower/range-reader.ts';
import type { Family, Node } from '../../../src/chains/chain.ts';
import { chains } from '../../../src/chains/index.ts';
import type { Fault } from '../../../src/core/fault.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { accountKeyOf, startSimulatedNode, writtenBy } from '../../support/simulated-node.ts';
import { testNetwork } from '../../support/test-network.ts';

const BLOCKS = 150;
const closers: (() => Promise<unknown>)[] = [];
test.after.each(async () => {
  for (const close of closers.splice(0)) await close();
});

async function openScene(family: Family, isSkipped?: (number: number) => boolean) {
  const own = await startSimulatedNode({ family, seed: 'range', ...(isSkipped && { isSkipped }) });
  const payee = accountKeyOf(family, 'payee');
  const paid: string[] = [];
  for (let made = 0; made < BLOCKS; made++) {
    if (made === 70 || made === 140) paid.push(own.pay(payee, 1_000_000n));
    own.world.mine();
  }
  const network = testNetwork({ name: family, family, url: own.httpUrl });
  const chain = chains[family];
  const node = (await chain.node()).openNode(followerNodeOptions(network));
  const table = createAddressTable(chain.address.keyBytes);
  table.add(payee);
  const matcher = await createMatcher({
    chain,
    tokens: network.tokens,
    table,
    inlineBytesMax: Number.POSITIVE_INFINITY,
    threadsMax: 1,
  });
  closers.push(node.close, matcher.close, own.close);
  return {
    own,
    node,
    payee,
    paid,
    async read(from: number, to: number, through: Node = node, patienceMs = 2_000) {
      const parts: RangePart[] = [];
      const options = { node: through, matcher, clock: systemClock, patienceMs };
      for await (const part of readChainRange(options, from, to)) parts.push(part);
      return { parts, blocks: parts.flatMap(({ blocks }) => blocks) };
    },
  };
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  test(`${family}: every block of a range comes once, linked across parts, with what watched addresses got`, async () => {
    const scene = await openScene(family);
    const tip = scene.own.world.tip().number;
    const { parts, blocks } = await scene.read(1, tip);
    assert.ok(parts.length >= 3, 'the range needs several parts');
    assert.is(parts.at(-1)?.throughNumber, tip);
    for (const [at, { block }] of blocks.slice(1).entries()) assert.is(block.parent, blocks[at]?.block.hash);
    assert.is(blocks.at(-1)?.block.hash, writtenBy[family].hash(scene.own.world.tip().hash));
    const found = blocks.flatMap(({ transfers }) => transfers);
    assert.equal(
      found.map(({ tx, to }) => ({ tx, to })),
      scene.paid.map((tx) => ({ tx, to: scene.payee })),
    );
  });
}

test('numbers without a block are skipped, even a whole part of them', async () => {
  const scene = await openScene('solana', (number) => number > 5 && number < 140);
  const tip = scene.own.world.tip().number;
  const { parts, blocks } = await scene.read(1, tip);
  assert.ok(parts.some((part) => part.blocks.length === 0));
  assert.is(blocks.at(-1)?.block.number, tip);
  for (const [at, { block }] of blocks.slice(1).entries()) assert.is(block.parent, blocks[at]?.block.hash);
});

test('a part that does not continue the one before is refused', async () => {
  const scene = await openScene('evm');
  const torn: Node = {
    ...scene.node,
    async range(from, to) {
      const blocks = await scene.node.range(from, to);
      return from > 1 ? blocks.map((block, at) => (at === 0 ? { ...block, parent: 'another' } : block)) : blocks;
    },
  };
  const refused = scene.read(1, 100, torn, 0);
  assert.is(await refused.catch((error: Fault) => error.code), 'node_range_broken');
});

test('a part that fails is read again, and the rest is not lost', async () => {
  const scene = await openScene('tron');
  let failures = 3;
  const flaky: Node = {
    ...scene.node,
    async content(block, thorough) {
      if (block.number === 70 && failures-- > 0) await scene.own.stop().then(scene.own.start);
      return scene.node.content(block, thorough);
    },
  };
  const { blocks } = await scene.read(1, 100, flaky, 60_000);
  assert.is(blocks.length, 100);
});

test.run();
