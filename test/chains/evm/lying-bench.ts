/**
 * An EVM node that lies as told: anvil with two paid blocks, behind a proxy that spoils its answers.
 * @module
 */
import { suite } from 'uvu';
import type { Node, NodeOptions } from '../../../src/chains/chain.ts';
import { openNode } from '../../../src/chains/evm/node.ts';
import { evmWire } from '../../../src/chains/evm/wire.ts';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import { type Answer, type LyingProxy, type Question, startLyingProxy } from '../../support/lying-proxy.ts';
import type { ChainBench } from '../conformance.ts';
import { makeAnvilBench } from './anvil-bench.ts';

export type LyingBench = Readonly<{
  tokens: ChainBench['tokens'];
  proxy: LyingProxy;
  /** A block with a payment of 2 units of USDT and one of 3 units of USDC to `payee`. */
  block: BlockRef;
  /** The block below it, with one of 1 unit of USDT. */
  sibling: BlockRef;
  open(options?: Partial<NodeOptions>): Node;
  /** What `block` holds for `payee`. */
  read(node: Node, thorough: boolean): Promise<ChainTransfer[]>;
  /** From now on, what is asked by `method` is answered with `result`. */
  lie(method: string, result: (honest: unknown, question: Question) => unknown): void;
  /** From now on, what is asked by `method` is answered with an error. */
  failWith(method: string, error: Readonly<{ code: number; message: string }>): void;
  close(): Promise<void>;
}>;

async function makeLyingBench(): Promise<LyingBench> {
  const bench = await makeAnvilBench();
  const proxy = await startLyingProxy(bench.anvil);
  const payee = bench.freshKey();
  const [usdt, usdc] = bench.tokens;
  await bench.pay('direct', [{ token: usdt, to: payee, units: 1n }]);
  await bench.mine();
  await bench.pay('direct', [{ token: usdt, to: payee, units: 2n }]);
  await bench.pay('direct', [{ token: usdc, to: payee, units: 3n }]);
  await bench.mine();

  const open = (options: Partial<NodeOptions> = {}): Node =>
    openNode({
      url: proxy.wsUrl,
      tokens: bench.tokens,
      requestTimeoutMs: 10_000,
      responseBytesMax: 1_000_000,
      idleMsMax: 10_000,
      concurrencyMax: 4,
      ...options,
    });
  const node = open();
  const block = await node.head();
  const sibling = await node.header(block.parent);
  await node.close();
  if (!sibling) throw new Error('the parent is known');

  return {
    tokens: bench.tokens,
    proxy,
    block,
    sibling,
    open,
    read: async (from, thorough) =>
      evmWire.decode(await from.content(block, thorough), bench.tokens, (key) => key === payee),
    lie(method, result) {
      proxy.lies.answer = (question, answer) =>
        question.method === method ? { ...answer, result: result(answer.result, question) } : answer;
    },
    failWith(method, error) {
      proxy.lies.answer = (question, answer): Answer =>
        question.method === method ? { jsonrpc: '2.0', id: answer.id, error } : answer;
    },
    async close() {
      await proxy.close();
      await bench.close();
    },
  };
}

/** A suite whose tests run over WebSocket and over HTTP, each with a node of its own; lies end with the test. */
export function lyingSuite(name: string) {
  const test = suite(name);
  let bench: LyingBench;
  test.before(async () => {
    bench = await makeLyingBench();
  });
  test.after.each(() => {
    delete bench.proxy.lies.answer;
    delete bench.proxy.lies.text;
    delete bench.proxy.lies.status;
  });
  test.after(() => bench.close());

  /** One test for the kind of connection that `scheme` names. */
  function over(
    scheme: 'ws' | 'http',
    title: string,
    run: (node: Node, bench: LyingBench) => Promise<void>,
    options: Partial<NodeOptions> = {},
  ): void {
    test(`${title} (${scheme})`, async () => {
      const url = scheme === 'ws' ? bench.proxy.wsUrl : bench.proxy.httpUrl;
      const node = bench.open({ url, ...options });
      try {
        await run(node, bench);
      } finally {
        await node.close();
      }
    });
  }

  /** One test for each kind of connection. */
  const both = (
    title: string,
    run: (node: Node, bench: LyingBench) => Promise<void>,
    options: Partial<NodeOptions> = {},
  ): void => {
    over('ws', title, run, options);
    over('http', title, run, options);
  };
  return { test, over, both };
}
