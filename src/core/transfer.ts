/**
 * A token transfer as the chain shows it. Facts only: `session.ts` decides what it means for a session.
 * @module
 */

/** The stablecoins that Quayside takes. */
export type Currency = 'USDT' | 'USDC';
export const currencies: readonly Currency[] = ['USDT', 'USDC'];
export const isStablecoin = (code: string): code is Currency => (currencies as readonly string[]).includes(code);

/** `live` networks are seen by `sk_live_` keys, `test` networks by `sk_test_` keys. */
export type Mode = 'live' | 'test';
export const modeOf = (network: NetworkKey): Mode => (network.startsWith('live:') ? 'live' : 'test');
export const otherMode = (mode: Mode): Mode => (mode === 'live' ? 'test' : 'live');

/** A network's name in the database and between processes. A mode has one network of each name. */
export type NetworkKey = `${Mode}:${string}`;

/** Returns the name of a network in its mode. */
export const nameOf = (key: NetworkKey): string => key.slice(key.indexOf(':') + 1);

/** A token that is credited on one network. `address` is the family's canonical text. */
export type Token = Readonly<{ symbol: Currency; address: string; decimals: number }>;

/**
 * One token movement to a watched address, or what left one of our own wallets, decoded from one block. `tx` and
 * `index` are unique within the block (EVM: transaction hash and block-wide log index); `from` and `to` are address
 * keys (lower-case hex, see `AddressCodec`); `units` are base units and above zero. `isOutgoing`: it is what left one
 * of our own wallets (`outgoing.ts`), and pays none of our addresses. Only such a transfer may be of native coin,
 * where nothing counts a wallet's transactions: what the wallet sent, to whomever; or, where the gas wallet pays for
 * sweeps, what it spent on moving a watched address's tokens (`to` is that address); or the fee of a transaction that
 * failed (`to` is the wallet itself).
 */
export type ChainTransfer = Readonly<{
  tx: string;
  index: number;
  currency: Currency | 'native';
  from: string;
  to: string;
  units: bigint;
  isOutgoing?: true;
}>;

/** One that pays a watched address. */
export type IncomingTransfer = ChainTransfer & Readonly<{ currency: Currency; isOutgoing?: never }>;
export const isIncoming = (transfer: ChainTransfer): transfer is IncomingTransfer => !transfer.isOutgoing;
