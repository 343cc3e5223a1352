/**
 * A shop on networks that real wallets know, for tests of paying with a wallet. Nothing answers at the networks' URLs.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { type ApiServer, network, startApi } from '../support/api-server.ts';
import { openSale, type Sale } from '../support/payment-scenes.ts';
import { preset } from '../support/preset.ts';

export const ETHEREUM_USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
export const BSC_USDT = '0x55d398326f99059fF775485246999027B3197955';
export const SOLANA_USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';
export const TRON_USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';

/**
 * Opens the shop.
 * @param mint the token on Solana
 */
export async function openWalletShop(mint = SOLANA_USDT, change: Partial<NetworkConfig> = {}): Promise<ApiServer> {
  const usdt = (address: string, decimals: number) => [{ symbol: 'USDT' as const, address, decimals }];
  const networks: NetworkConfig[] = [
    known('ethereum', usdt(ETHEREUM_USDT, 6)),
    known('bsc', usdt(BSC_USDT, 18)),
    known('tron', usdt(TRON_USDT, 6)),
    known('solana', usdt(mint, 6)),
  ];
  return startApi({ pages: true, networks: networks.map((one) => ({ ...one, ...change })) });
}

/** A live network's chain and what wallets know of it, in test mode. */
function known(name: string, tokens: NetworkConfig['tokens']): NetworkConfig {
  const { family, chainId, nativeSymbol = '', explorer = '', wallets } = preset(name);
  return { ...network('test', name, chainId, tokens), family, nativeSymbol, explorer, wallets };
}

/** Opens a sale while every network is followed. */
export async function openWalletSale(api: ApiServer): Promise<Sale> {
  for (const name of ['tron', 'solana']) await api.chain(name).report('following');
  return openSale(api);
}
