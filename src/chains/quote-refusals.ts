/**
 * Reasons to refuse a quote, in the words that families share. Addresses are text.
 */
import { formatUnits } from '../core/money.ts';
import type { Missing, Refused, RefusedCode } from '../core/spend.ts';

export const refuse = (refused: RefusedCode, message: string, missing: Missing | null = null): Refused => ({
  refused,
  message,
  missing,
});

export const unpayable = (address: string): Refused =>
  refuse(
    'destination_invalid',
    `${address} cannot be paid: it is the zero address, a token contract or the paying wallet`,
  );

export const frozen = (symbol: string, address: string): Refused =>
  refuse('destination_frozen', `the issuer of ${symbol} has frozen ${address}: money sent there would be lost`);

/** @param units base units that the wallet lacks */
export const short = (
  code: 'token_short' | 'native_short',
  wallet: string,
  units: bigint,
  { symbol, decimals }: Readonly<{ symbol: string; decimals: number }>,
): Refused =>
  refuse(code, `wallet ${wallet} needs ${formatUnits(units, decimals)} ${symbol} more: send that amount to it`, {
    units,
  });
