/** Payouts on the simulated node of any family, over real sockets, by a clock that is moved by hand. */
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode, PayoutNodeOptions, Spending, SpendNetwork } from '../../src/chains/spend.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Token } from '../../src/core/transfer.ts';
import type { PayoutNodeBench } from '../conformance/payout-node.ts';
import { handClock } from '../support/hand-clock.ts';
import { startSimulatedNode, writtenBy } from '../support/simulated-node.ts';
import { createSeedWallets } from './seed-wallets.ts';

export type SimulatedPayouts = Readonly<{
  family: Family;
  chainId: string;
  otherChainId: string;
  tokens: readonly Token[];
  /** Address key of the treasury, which holds the token already. */
  treasury: string;
  payee?(number: number): string;
  unpayable: readonly string[];
  finalBlocks: number;
  blockMs: number;
  nativeUnits: bigint;
  /** Blocks after which everything that was signed has expired, and the time between them. */
  life?: Readonly<{ blocks: number; blockMs: number }>;
  /** Starts what stands between a client and the node, if there is such a thing. */
  bridge?(url: string): Promise<Readonly<{ url: string; stop(): Promise<unknown> }>>;
  /** Whether clients see blocks that may be removed. */
  reorgs: boolean;
}>;

/** Starts the node, and another of the same network that has none of our transactions. */
export async function makeSimulatedPayouts(setup: SimulatedPayouts): Promise<PayoutNodeBench> {
  const { family, chainId, tokens, treasury, finalBlocks } = setup;
  const clock = handClock();
  const chain = chains[family];
  const [spending, payouts] = await Promise.all([chain.spending?.(), chain.payouts?.()]);
  invariant(spending && payouts, `${family} pays out`);
  const start = () =>
    startSimulatedNode({ family, seed: 'payouts', chainId, tokens, clock, finalityDistance: finalBlocks });
  const [sim, blind] = [await start(), await start()];
  const bridge = await setup.bridge?.(sim.httpUrl);
  const { world } = sim;
  const token = chain.address.parse(tokens[0]?.address ?? '') ?? '';
  const network: SpendNetwork = { chainId, tokens, treasury, feeUnitsMax: 10n * setup.nativeUnits };
  const opened: PayoutNode[] = [];

  async function mine(blocks = 1, blockMs = setup.blockMs): Promise<void> {
    for (let left = blocks; left > 0; left--) {
      clock.advance(blockMs);
      world.mine();
      blind.world.mine();
    }
  }
  await mine(finalBlocks + 2);
  sim.pay(treasury, 1n);
  await mine();
  const { life } = setup;

  return {
    ...createSeedWallets(network, spending as Spending, setup.payee),
    ...{ chain, network, finalBlocks, mine },
    otherChainId: setup.otherChainId,
    unpayable: [...setup.unpayable, token],
    nativeUnits: setup.nativeUnits,
    urls: [sim.httpUrl, ...(bridge ? [bridge.url] : [])],
    blindUrl: blind.httpUrl,
    unknownTx: writtenBy[family].transaction('ab'.repeat(32)),
    open(more: Partial<PayoutNodeOptions> = {}) {
      const limits = { finalDepth: finalBlocks, requestTimeoutMs: 10_000, responseBytesMax: 1 << 20 };
      const node = payouts.openPayoutNode({ url: sim.httpUrl, chainId, tokens, ...limits, ...more });
      opened.push(node);
      return node;
    },
    async giveNative(key, units) {
      world.fund(key, units);
    },
    async giveTokens(key, units) {
      sim.pay(key, units);
    },
    ...(setup.reorgs && {
      async reorg(depth: number) {
        world.reorg({ depth, keep: 'none' });
      },
    }),
    ...(life && {
      async outlive() {
        await mine(life.blocks, life.blockMs);
        await mine(finalBlocks + 1);
      },
    }),
    held: async (key) => world.accounts().token(token, key),
    native: async (key) => world.accounts().native(key),
    head: async () => world.tip().number,
    async close() {
      for (const node of opened) await node.close();
      await bridge?.stop();
      await Promise.all([sim.close(), blind.close()]);
    },
  };
}
