/**
 * Amounts of coins and tokens, as people write them.
 */
import type { Asset } from '../core/ledger.ts';
import { formatUnits } from '../core/money.ts';
import type { Family } from './chain.ts';
import { chains } from './index.ts';

/** Coins of a network, by the settings. */
type CoinNetwork = Readonly<{
  key: string;
  family: Family;
  nativeSymbol?: string;
  tokens: readonly Readonly<{ symbol: string; decimals: number }>[];
}>;

/** Returns the symbol and decimals of a network's asset; 0 decimals (base units) if it is not configured. */
export function coinOf(
  networks: readonly CoinNetwork[],
  key: string,
  asset: Asset,
): Readonly<{ symbol: string; decimals: number }> {
  const network = networks.find((one) => one.key === key);
  if (asset === 'native') {
    const decimals = network ? chains[network.family].spendRules.nativeDecimals : 0;
    return { symbol: network?.nativeSymbol ?? 'native', decimals };
  }
  return { symbol: asset, decimals: network?.tokens.find(({ symbol }) => symbol === asset)?.decimals ?? 0 };
}

/** Returns an amount such as `10.50 USDT` or `-0.002 ETH`. */
export function coinText(networks: readonly CoinNetwork[], key: string, asset: Asset, units: bigint): string {
  const { symbol, decimals } = coinOf(networks, key, asset);
  const text = formatUnits(units < 0n ? -units : units, decimals, Math.min(decimals, 2));
  return `${units < 0n ? '-' : ''}${text} ${symbol}`;
}
