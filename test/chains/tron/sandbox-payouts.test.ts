import { payoutNodeConformance } from '../../conformance/payout-node.ts';
import { TRON_CHAIN_ID, tronTokens } from '../../support/simulated-node.ts';
import { startTronBridge } from '../../support/tron-bridge.ts';
import { makeSimulatedPayouts } from '../simulated-payouts.ts';

payoutNodeConformance('TRON on the sandbox', () =>
  makeSimulatedPayouts({
    family: 'tron',
    chainId: TRON_CHAIN_ID,
    otherChainId: '1',
    tokens: tronTokens,
    treasury: '71'.repeat(20),
    unpayable: ['0'.repeat(40)],
    finalBlocks: 3,
    blockMs: 3_000,
    nativeUnits: 100_000_000n,
    life: { blocks: 17, blockMs: 120_000 },
    bridge: startTronBridge,
    reorgs: true,
  }),
);
