import { payoutNodeConformance } from '../../conformance/payout-node.ts';
import { startAnvil } from '../../support/anvil.ts';
import { makeContractPayouts } from './contract-payouts.ts';

payoutNodeConformance('EVM on anvil', async () =>
  makeContractPayouts(await startAnvil({ chainId: 31_337, slotsInAnEpoch: 2 }), 4),
);
