import { payoutNodeConformance } from '../../conformance/payout-node.ts';
import { SANDBOX_CHAIN_ID, sandboxTokens } from '../../support/simulated-node.ts';
import { makeSimulatedPayouts } from '../simulated-payouts.ts';

payoutNodeConformance('EVM on the sandbox', () =>
  makeSimulatedPayouts({
    family: 'evm',
    chainId: SANDBOX_CHAIN_ID,
    otherChainId: '1',
    tokens: sandboxTokens,
    treasury: '71'.repeat(20),
    unpayable: ['0'.repeat(40)],
    finalBlocks: 3,
    blockMs: 12_000,
    nativeUnits: 10n ** 18n,
    reorgs: true,
  }),
);
