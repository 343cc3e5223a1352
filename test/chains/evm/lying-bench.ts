/**
 * An EVM node that lies as set by the test: anvil behind a proxy that alters its answers.
 */
import { openNode } from '../../../src/chains/evm/node/node.ts';
import { evmWire } from '../../../src/chains/evm/wire.ts';
import { type HonestNode, lyingSuiteOf } from '../lying-bench.ts';
import { makeAnvilBench } from './anvil-bench.ts';

async function openAnvil(): Promise<HonestNode> {
  const bench = await makeAnvilBench();
  const payee = bench.freshKey();
  return {
    ...bench.anvil,
    tokens: bench.tokens,
    wire: evmWire,
    openNode,
    pushPlace: ({ wsUrl }) => ({ url: wsUrl }),
    payee,
    pay: (token, units) => bench.pay('direct', [{ token, to: payee, units }]),
    mine: () => bench.mine(),
    close: bench.close,
  };
}

/** A suite whose tests run over WebSocket and over HTTP, each with a node of its own; lies end with the test. */
export const lyingSuite = (name: string) => lyingSuiteOf(name, openAnvil);
