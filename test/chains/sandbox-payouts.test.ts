import { payoutNodeConformance } from '../conformance/payout-node.ts';
import { makeSimulatedPayouts } from './simulated-payouts.ts';

payoutNodeConformance('EVM payouts on the sandbox', () => makeSimulatedPayouts('evm'));
payoutNodeConformance('TRON payouts on the sandbox', () => makeSimulatedPayouts('tron'));
payoutNodeConformance('Solana payouts on the sandbox', () => makeSimulatedPayouts('solana'));
