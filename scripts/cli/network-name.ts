/** Networks and their transactions as people name them on the command line. */
import { faultOf, isRefusal } from '../../src/acts/act.ts';
import { networkNamed } from '../../src/acts/networks.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type Input, textOption, usage } from './command.ts';

/**
 * Returns the network that is named by its key or, if only one mode has it, by its name.
 * @throws Fault permanent `not_found` if none or several are
 */
export function networkOf(networks: readonly NetworkConfig[], text: string): NetworkConfig {
  const named = networkNamed(networks, text);
  if (isRefusal(named)) throw faultOf(named);
  return named;
}

/** Returns the transactions that an option names, with commas between. @throws Fault permanent `usage` */
export function transactionsOf(input: Input, option: string, { key, family }: NetworkConfig): string[] {
  const words = (textOption(input, option) ?? '').split(',').filter(Boolean);
  return words.map((word) => {
    const tx = chains[family].transactionId(word.trim());
    if (tx === null) throw usage(`--${option} has "${word}", which is no transaction id of ${key}`);
    return tx;
  });
}
