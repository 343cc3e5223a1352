/**
 * A node that lies as told: a real one (or the sandbox's) with two paid blocks, behind a proxy that spoils its JSON-RPC
 * answers.
 */
import { suite } from 'uvu';
import type { Node, NodeOptions, Wire } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';
import { type Answer, type LyingProxy, type Question, startLyingProxy } from '../support/lying-proxy.ts';

/** The honest side of a bench. */
export type HonestNode = Readonly<{
  httpUrl: string;
  wsUrl: string;
  tokens: readonly [Token, Token];
  wire: Wire;
  openNode(options: NodeOptions): Node;
  /** How a client reaches the proxy over WebSocket. */
  pushPlace(proxy: Pick<LyingProxy, 'httpUrl' | 'wsUrl'>): Pick<NodeOptions, 'url' | 'rpcUrl'>;
  payee: string;
  /** Pays `payee` in the next block. */
  pay(token: Token, units: bigint): Promise<unknown>;
  mine(): Promise<unknown>;
  close(): Promise<void>;
}>;

export type LyingBench = Readonly<{
  tokens: readonly [Token, Token];
  proxy: LyingProxy;
  /** A block with a payment of 2 units of USDT and one of 3 units of USDC to `payee`. */
  block: BlockRef;
  /** The block below it, with one of 1 unit of USDT. */
  sibling: BlockRef;
  /** A client of the proxy, over WebSocket by default. */
  open(options?: Partial<NodeOptions>): Node;
  /** What `block` holds for `payee`. */
  read(node: Node, thorough: boolean): Promise<ChainTransfer[]>;
  /** From now on, `method` is answered with `result`. */
  lie(method: string, result: (honest: unknown, question: Question) => unknown): void;
  /** From now on, `method` is answered with an error. */
  failWith(method: string, error: Readonly<{ code: number; message: string }>): void;
  close(): Promise<void>;
}>;

async function makeLyingBench(honest: HonestNode): Promise<LyingBench> {
  const { tokens, payee, wire } = honest;
  const proxy = await startLyingProxy(honest);
  const [usdt, usdc] = tokens;
  await honest.pay(usdt, 1n);
  await honest.mine();
  await honest.pay(usdt, 2n);
  await honest.pay(usdc, 3n);
  await honest.mine();

  const open = (options: Partial<NodeOptions> = {}): Node =>
    honest.openNode({
      ...(options.url === undefined ? honest.pushPlace(proxy) : { url: options.url }),
      tokens,
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
    tokens,
    proxy,
    block,
    sibling,
    open,
    read: async (from, thorough) => wire.decode(await from.content(block, thorough), tokens, (key) => key === payee),
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
      await honest.close();
    },
  };
}

/** A suite whose tests run over WebSocket and over HTTP, each with a node of its own; lies end with the test. */
export function lyingSuiteOf(name: string, openHonest: () => Promise<HonestNode>) {
  const test = suite(name);
  let bench: LyingBench;
  test.before(async () => {
    bench = await makeLyingBench(await openHonest());
  });
  test.after.each(() => bench.proxy.heal());
  test.after(() => bench.close());

  /** One test for the kind of connection that `scheme` names. */
  function over(
    scheme: 'ws' | 'http',
    title: string,
    run: (node: Node, bench: LyingBench) => Promise<void>,
    options: Partial<NodeOptions> = {},
  ): void {
    test(`${title} (${scheme})`, async () => {
      const place = scheme === 'ws' ? {} : { url: bench.proxy.httpUrl };
      const node = bench.open({ ...place, ...options });
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
