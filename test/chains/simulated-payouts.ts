/** Payouts on the simulated node of any family, over real sockets, by a clock that is moved by hand. */
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import { solanaOfflineKeys } from '../../src/chains/solana/offline-keys.ts';
import { tokenAddress } from '../../src/chains/solana/token-account.ts';
import type { PayoutNode, PayoutNodeOptions, SpendNetwork } from '../../src/chains/spend.ts';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import { handClock } from '../support/hand-clock.ts';
import { simulatedChains, solanaTokens, startSimulatedNode, writtenBy } from '../support/simulated-node.ts';
import { startTronBridge } from '../support/tron-bridge.ts';
import { createSeedWallets } from './seed-wallets.ts';

type Setup = Readonly<{
  otherChainId: string;
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

const strangers = new Uint8Array(64).fill(77);
const strangerAt = (index: number): string => solanaOfflineKeys.derive(strangers, index, 1)[0] ?? '';

const keyOfAccount = (owner: string): string =>
  chains.solana.address.parse(tokenAddress(owner, solanaTokens[0]?.address ?? '')) ?? '';

const setups: Readonly<Record<Family, Setup>> = {
  evm: {
    otherChainId: '1',
    treasury: '71'.repeat(20),
    unpayable: ['0'.repeat(40)],
    finalBlocks: 3,
    blockMs: 12_000,
    nativeUnits: 10n ** 18n,
    reorgs: true,
  },
  solana: {
    otherChainId: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
    treasury: strangerAt(900),
    payee: (number) => strangerAt(1_000 + number),
    // Payers paste a token account's own address by mistake: nobody has its key.
    unpayable: ['0'.repeat(64), keyOfAccount(strangerAt(900))],
    finalBlocks: 31,
    blockMs: 400,
    nativeUnits: 1_000_000_000n,
    life: { blocks: 165, blockMs: 400 },
    reorgs: false,
  },
  tron: {
    otherChainId: '1',
    treasury: '71'.repeat(20),
    unpayable: ['0'.repeat(40)],
    finalBlocks: 3,
    blockMs: 3_000,
    nativeUnits: 100_000_000n,
    life: { blocks: 17, blockMs: 120_000 },
    bridge: startTronBridge,
    reorgs: true,
  },
};

/** Starts the node, and another of the same network that has none of our transactions. */
export async function makeSimulatedPayouts(family: Family, seed = 'payouts', dialect?: DialectName) {
  const setup = setups[family];
  const { treasury, finalBlocks, life } = setup;
  const { chainId, tokens } = simulatedChains[family];
  const clock = handClock();
  const chain = chains[family];
  const [spending, payouts] = await Promise.all([chain.spending(), chain.payouts()]);
  const start = () =>
    startSimulatedNode({ family, seed, clock, finalityDistance: finalBlocks, ...(dialect && { dialect }) });
  const [sandbox, blind] = [await start(), await start()];
  const bridge = await setup.bridge?.(sandbox.httpUrl);
  const { world } = sandbox;
  const token = chain.address.parse(tokens[0]?.address ?? '') ?? '';
  const network: SpendNetwork = { chainId, tokens, treasury, feeUnitsMax: 10n * setup.nativeUnits };
  const opened: PayoutNode[] = [];

  function mine(blocks = 1, blockMs = setup.blockMs): void {
    for (let left = blocks; left > 0; left--) {
      clock.advance(blockMs);
      world.mine();
      blind.world.mine();
    }
  }
  mine(finalBlocks + 2);
  sandbox.pay(treasury, 1n);
  mine();

  return {
    ...createSeedWallets(network, spending, setup.payee),
    chain,
    network,
    finalBlocks,
    mine,
    sandbox,
    world,
    otherChainId: setup.otherChainId,
    unpayable: [...setup.unpayable, token],
    nativeUnits: setup.nativeUnits,
    urls: [sandbox.httpUrl, ...(bridge ? [bridge.url] : [])],
    blindUrl: blind.httpUrl,
    unknownTx: writtenBy[family].transaction('ab'.repeat(32)),
    open(more: Partial<PayoutNodeOptions> = {}) {
      const limits = { finalDepth: finalBlocks, requestTimeoutMs: 10_000, responseBytesMax: 1 << 20 };
      const node = payouts.openPayoutNode({ url: sandbox.httpUrl, chainId, tokens, ...limits, ...more });
      opened.push(node);
      return node;
    },
    giveNative: (key: string, units: bigint) => world.fund(key, units),
    giveTokens: (key: string, units: bigint) => sandbox.pay(key, units),
    ...(setup.reorgs && { reorg: (depth: number) => world.reorg({ depth, keep: 'none' }) }),
    ...(life && {
      outlive() {
        mine(life.blocks, life.blockMs);
        mine(finalBlocks + 1);
      },
    }),
    async deny<T>(run: () => Promise<T>): Promise<T> {
      sandbox.faults.set({ rates: { send_denied: 1 } });
      try {
        return await run();
      } finally {
        sandbox.faults.heal();
      }
    },
    held: (key: string): bigint => world.accounts().token(token, key),
    native: (key: string): bigint => world.accounts().native(key),
    head: async () => world.tip().number,
    async close() {
      for (const node of opened) await node.close();
      await bridge?.stop();
      await Promise.all([sandbox.close(), blind.close()]);
    },
  };
}
