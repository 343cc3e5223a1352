/**
 * The chain interface on a real geth.
 */
import { makeContractBench } from '../chains/evm/anvil-bench.ts';
import { chainConformance } from '../conformance/chain.ts';
import { startDrivenGeth } from './driven-geth.ts';

chainConformance('EVM on geth', async () => makeContractBench(await startDrivenGeth({ chainId: 56, finalDepth: 16 })));
