/**
 * Payouts by the family's own client on a real geth.
 */
import { makeContractPayouts } from '../chains/evm/contract-payouts.ts';
import { payoutNodeConformance } from '../conformance/payout-node.ts';
import { startDrivenGeth } from './driven-geth.ts';

payoutNodeConformance('EVM on geth', async () =>
  makeContractPayouts(await startDrivenGeth({ chainId: 56, finalDepth: 4 }), 4),
);
