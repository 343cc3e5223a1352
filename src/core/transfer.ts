/** Token transfers as the chain shows them. These are facts only. `session.ts` decides their meaning for a session. */

/** The stablecoins that Quayside takes. */
export type Currency = 'USDT' | 'USDC';
export const currencies: readonly Currency[] = ['USDT', 'USDC'];
export const isStablecoin = (code: string): code is Currency => (currencies as readonly string[]).includes(code);

/** API keys `sk_live_` see `live` networks, `sk_test_` keys see `test` networks. */
export type Mode = 'live' | 'test';
export const modeOf = (network: NetworkKey): Mode => (network.startsWith('live:') ? 'live' : 'test');
export const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

/** A network's name in the database and between processes, unique within its mode. */
export type NetworkKey = `${Mode}:${string}`;

export const nameOf = (key: NetworkKey): string => key.slice(key.indexOf(':') + 1);

/** A token that is credited on one network. `address` is the family's canonical text. */
export type Token = Readonly<{ symbol: Currency; address: string; decimals: number }>;

/**
 * A token transfer to a watched address, or a transfer out of one of our own wallets, decoded from one block. `tx` and
 * `index` are unique within the block (EVM: transaction hash and block-wide log index). `from` and `to` are address
 * keys (lower-case hex, see `AddressCodec`). `units` are base units, above zero. `isOutgoing`: it left one of our own
 * wallets (`database/payouts/wallets.ts`), and pays none of our addresses. Native coin is not read from blocks, because
 * nonces and the wallets' balances show its outflow (`wallet-books.ts`).
 */
export type ChainTransfer = Readonly<{
  tx: string;
  index: number;
  currency: Currency;
  from: string;
  to: string;
  units: bigint;
  isOutgoing?: true;
}>;

/** A transfer that pays a watched address. */
export type IncomingTransfer = ChainTransfer & Readonly<{ isOutgoing?: never }>;
export const isIncoming = (transfer: ChainTransfer): transfer is IncomingTransfer => !transfer.isOutgoing;
