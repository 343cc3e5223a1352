/**
 * A shop on networks that real wallets know, for tests of paying with a wallet. Nothing answers at the networks' URLs.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { type ApiServer, network, startApi } from './api-server.ts';
import { openSale, type Sale } from './payment-scenes.ts';

export const ETHEREUM_USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
export const BSC_USDT = '0x55d398326f99059fF775485246999027B3197955';
export const TRON_USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const SOLANA_MAINNET = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

/**
 * Opens the shop.
 * @param mint the token on Solana
 */
export async function openWalletShop(mint: string, change: Partial<NetworkConfig> = {}): Promise<ApiServer> {
  const usdt = (address: string, decimals: number) => [{ symbol: 'USDT' as const, address, decimals }];
  const networks: NetworkConfig[] = [
    network('test', 'ethereum', '1', usdt(ETHEREUM_USDT, 6)),
    network('test', 'bsc', '56', usdt(BSC_USDT, 18)),
    { ...network('test', 'tron', '728126428', usdt(TRON_USDT, 6)), family: 'tron' },
    { ...network('test', 'solana', SOLANA_MAINNET, usdt(mint, 6)), family: 'solana' },
  ];
  return startApi({ pages: true, networks: networks.map((one) => ({ ...one, ...change })) });
}

/** Opens a sale while every network is followed. */
export async function openWalletSale(api: ApiServer, body: object = {}): Promise<Sale> {
  for (const name of ['tron', 'solana']) await api.chain(name).report('following');
  return openSale(api, body);
}
