/**
 * Formats of addresses and amounts in texts. They depend on the chain and on the token, which the database does not
 * know.
 */
import type { Asset } from '../core/ledger.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** Writes an address key as people read it. */
export type FormatAddress = (network: NetworkKey, key: string) => string;
/** Writes an amount of a network's coin or token as people read it, such as `10.50 USDT`. */
export type FormatAmount = (network: NetworkKey, asset: Asset, units: bigint) => string;
export type TextFormats = Readonly<{ formatAddress: FormatAddress; formatAmount: FormatAmount }>;

const baseUnits: FormatAmount = (_network, asset, units) =>
  `${units} base units of ${asset === 'native' ? 'the native coin' : asset}`;

/** Without a configuration, keys are written as they are and amounts in base units. */
export const formatsOf = ({
  formatAddress = (_network, key) => key,
  formatAmount = baseUnits,
}: Partial<TextFormats>): TextFormats => ({ formatAddress, formatAmount });
