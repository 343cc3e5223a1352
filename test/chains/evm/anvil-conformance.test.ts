import { chainConformance } from '../../conformance/chain.ts';
import { makeAnvilBench } from './anvil-bench.ts';

chainConformance('EVM on anvil', makeAnvilBench);
