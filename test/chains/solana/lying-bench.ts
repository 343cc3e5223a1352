/**
 * A Solana node that lies as set by the test: the simulated one behind a proxy that alters its answers.
 */

import { solanaAddress } from '../../../src/chains/solana/address.ts';
import { openNode } from '../../../src/chains/solana/node/node.ts';
import { solanaWire } from '../../../src/chains/solana/wire.ts';
import { tokenKey } from '../../../src/sandbox/node-server.ts';
import { accountKeyOf, solanaTokens, startSimulatedNode } from '../../support/simulated-node.ts';
import { type HonestNode, lyingSuiteOf } from '../lying-bench.ts';

/** Every third slot has no block. */
const isSkipped = (slot: number): boolean => slot > 0 && slot % 3 === 0;

async function openSimulated(): Promise<HonestNode> {
  const node = await startSimulatedNode({ family: 'solana', seed: 'lies', isSkipped });
  const payee = accountKeyOf('solana', 'payee');
  return {
    httpUrl: node.httpUrl,
    wsUrl: node.url,
    tokens: solanaTokens,
    wire: solanaWire,
    openNode,
    pushPlace: ({ wsUrl, httpUrl }) => ({ url: wsUrl, rpcUrl: httpUrl }),
    payee,
    pay: async (token, units) => node.pay(payee, units, 'direct', tokenKey(solanaAddress, token)),
    mine: async () => node.world.mine(),
    close: node.close,
  };
}

/** A suite whose tests run with and without PubSub, each with a node of its own; lies end with the test. */
export const lyingSuite = (name: string) => lyingSuiteOf(name, openSimulated);
