import { chainConformance } from '../conformance.ts';
import { makeAnvilBench } from './anvil-bench.ts';

chainConformance('EVM on anvil', makeAnvilBench);
