import { solanaOfflineKeys } from '../../../src/chains/solana/offline-keys.ts';
import { payoutNodeConformance } from '../../conformance/payout-node.ts';
import { makeSimulatedPayouts } from '../simulated-payouts.ts';

const strangers = new Uint8Array(64).fill(77);
const keyAt = (index: number): string => solanaOfflineKeys.derive(strangers, index, 1)[0] ?? '';

payoutNodeConformance('Solana on the sandbox', () =>
  makeSimulatedPayouts({
    family: 'solana',
    chainId: '4Hn1NfY4KzqTSxFKpBQNX5zdu4vcLxqPUsDQzYrim1pd',
    otherChainId: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
    tokens: [
      { symbol: 'USDT', address: 'B2H5v132f9W36GvwggbZLSNmo7FRVab5fMZSBmvtoeQe', decimals: 6 },
      { symbol: 'USDC', address: '3SMCgcukXvR6bD6scBhQRDWUtZ2d3U4faQoweXAqb8uJ', decimals: 6 },
    ],
    treasury: keyAt(900),
    payee: (number) => keyAt(1_000 + number),
    unpayable: ['0'.repeat(64)],
    finalBlocks: 31,
    blockMs: 400,
    nativeUnits: 1_000_000_000n,
    life: { blocks: 165, blockMs: 400 },
    reorgs: false,
  }),
);
