/**
 * The first block of the tests' chains.
 */
import { runGeth } from './geth.ts';

/** Gas limit of each block: below what one transaction may use since Osaka (EIP-7825), so that one can fill it. */
export const BLOCK_GAS = 16_000_000;
const BASE_FEE_WEI = 10n ** 9n;
const FUNDS_WEI = 10n ** 24n;

type Genesis = Readonly<{ config: object; alloc: Readonly<Record<string, object>> }>;

/**
 * Returns geth's own genesis of `--dev`, which has all forks and their system contracts from block 0, for another
 * chain.
 * @param funded addresses with a million coins
 */
export function makeGenesis(chainId: number, funded: readonly string[]): object {
  const dev = JSON.parse(runGeth('--dev', 'dumpgenesis')) as Genesis;
  const balance = `0x${FUNDS_WEI.toString(16)}`;
  return {
    ...dev,
    config: { ...dev.config, chainId },
    gasLimit: `0x${BLOCK_GAS.toString(16)}`,
    baseFeePerGas: `0x${BASE_FEE_WEI.toString(16)}`,
    alloc: { ...dev.alloc, ...Object.fromEntries(funded.map((address) => [address.slice(2), { balance }])) },
  };
}
