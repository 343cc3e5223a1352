/**
 * The sandbox's EVM node, unchanged, with a long chain and a given number of transfers in each block.
 */
import { evmAddress } from '../../src/chains/evm/address.ts';
import { dialects } from '../../src/sandbox/evm-dialect.ts';
import { hex, renderHeader } from '../../src/sandbox/evm-render.ts';
import { startEvmServer } from '../../src/sandbox/evm-server.ts';
import { passing } from '../../src/sandbox/interceptor.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { growWorld, type Served, type Serving } from './growing-world.ts';

const KEY_BYTES = 20;
const FINALITY_BLOCKS = 64;
const SEED = 'bench evm';

/** Grows the chain and serves it on loopback. */
export async function serveEvm(wish: Serving & Readonly<{ transactions: number }>): Promise<Served> {
  const { blocks, transactions, chainId, tokens } = wish;
  const startS = Math.floor((performance.timeOrigin - blocks * wish.blockTimeMs) / 1000);
  const { world, from, paid } = growWorld(
    {
      seed: SEED,
      tokens: tokens.map((token) => tokenKey(evmAddress, token)),
      keyBytes: KEY_BYTES,
      finalityDistance: FINALITY_BLOCKS,
    },
    { ...wish, startS, others: transactions },
  );
  // Compute the blooms now, so that the node does not do it while it is measured.
  for (const block of world.canonical()) renderHeader(block, dialects.ethereum);
  const { url } = await startEvmServer({
    world,
    interceptor: passing,
    chainId,
    tokens,
    port: 0,
    controlToken: null,
  });
  return { url, from: { ...from, hash: hex(from.hash), parent: hex(from.parent) }, to: world.tip().number, paid };
}
