/**
 * The second readings by family.
 * @module
 */
import type { Family, NodeOptions } from '../../src/chains/chain.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { openEvmReading } from './evm-reading.ts';
import type { SecondReading } from './reading.ts';
import { openSolanaReading } from './solana-reading.ts';
import { openTronReading } from './tron-reading.ts';

export const openSecondReading: Readonly<Record<Family, (options: NodeOptions, clock: Clock) => SecondReading>> = {
  evm: openEvmReading,
  tron: openTronReading,
  solana: openSolanaReading,
};
