/** Nodes that lie as told: the simulated one of each family, with two paid blocks, behind a liar. */
import { suite } from 'uvu';
import type { Family, Node, NodeOptions } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { fairClock } from '../support/fair-clock.ts';
import { startLiar } from '../support/liar.ts';
import { openNodeBy } from '../support/running-indexer.ts';
import { accountKeyOf, simulatedChains, startSimulatedNode } from '../support/simulated-node.ts';

const limits = { requestTimeoutMs: 60_000, responseBytesMax: 1_000_000, idleMsMax: 60_000, concurrencyMax: 4 };

/** One of Solana's slots has no block. */
const isSkipped = (slot: number): boolean => slot === 2;

export type LyingBench = Awaited<ReturnType<typeof openLyingBench>>;

async function openLyingBench(family: Family) {
  const { tokens } = simulatedChains[family];
  const own = await startSimulatedNode({
    family,
    seed: 'lies',
    finalityDistance: 2,
    ...(family === 'solana' && { isSkipped }),
  });
  const payee = accountKeyOf(family, 'payee');
  const pay = (at: 0 | 1, units: bigint, kind: 'direct' | 'failed' = 'direct') =>
    own.pay(payee, units, kind, tokenKey(chains[family].address, tokens[at]));
  for (let blocks = 3; blocks > 0; blocks--) own.world.mine();
  const other = pay(0, 1n);
  own.world.mine();
  const paid = pay(0, 2n);
  pay(1, 3n);
  const failed = pay(0, 4n, 'failed');
  own.world.mine();

  const liar = await startLiar(own);
  const wire = await chains[family].wire();
  const open = (options: Partial<NodeOptions> = {}): Node =>
    openNodeBy[family]({ url: liar.httpUrl, tokens, ...limits, ...options }, fairClock);
  const node = open();
  const block = await node.head();
  const sibling = await node.header(block.parent);
  await node.close();
  if (!sibling) throw new Error('the parent is known');
  return {
    family,
    own,
    liar,
    tokens,
    open,
    paid,
    failed,
    other,
    tell: liar.tell,
    /** A block with payments of 2 units of USDT (`paid`) and 3 of USDC, and one that has `failed`. */
    block,
    /** The block below it, with a payment (`other`) of 1 unit of USDT. */
    sibling,
    /** Transfers in `block` to the payee. */
    read: async (from: Node, thorough: boolean) =>
      wire.decode(await from.content(block, thorough), tokens, (key) => key === payee),
    async close() {
      await liar.close();
      await own.close();
    },
  };
}

type Run = (node: Node, bench: LyingBench) => Promise<void>;

/** A suite whose tests have a node of their own each; lies end with the test. */
export function lyingSuiteOf(name: string, family: Family) {
  const test = suite(name);
  let bench: LyingBench;
  test.before(async () => {
    bench = await openLyingBench(family);
  });
  test.after.each(() => bench.liar.heal());
  test.after(() => bench.close());

  /** One test for the kind of connection that `scheme` names. */
  function over(scheme: 'ws' | 'http', title: string, run: Run, options: Partial<NodeOptions> = {}): void {
    test(`${title} (${scheme})`, async () => {
      const { wsUrl: url, httpUrl } = bench.liar;
      const pushing = { url, ...(family === 'solana' && { rpcUrl: httpUrl }) };
      const node = bench.open({ ...(scheme === 'ws' && pushing), ...options });
      try {
        await run(node, bench);
      } finally {
        await node.close();
      }
    });
  }

  /** One test for each kind of connection; java-tron's bridge stands elsewhere. */
  function both(title: string, run: Run, options: Partial<NodeOptions> = {}): void {
    if (family !== 'tron') over('ws', title, run, options);
    over('http', title, run, options);
  }
  return { test, over, both };
}
