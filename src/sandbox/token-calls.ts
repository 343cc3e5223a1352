/**
 * Answers of token contracts to read-only calls, for any family.
 */
import type { Token } from '../core/transfer.ts';
import { abiString, selector, word } from './abi.ts';
import type { Accounts } from './accounts.ts';
import { lookalikeKey } from './transaction.ts';

export type KeyedToken = Readonly<{ symbol: Token['symbol']; key: string; decimals: number }>;

export function createTokenCalls(tokens: readonly KeyedToken[]) {
  const tokenAt = (key: string) => tokens.find((token) => token.key === key || lookalikeKey(token.key) === key);

  const answers: Record<string, (call: { accounts: Pick<Accounts, 'token'>; data: string; key: string }) => string> = {
    [selector('decimals()')]: ({ key }) => word((tokenAt(key)?.decimals ?? 0).toString(16)),
    [selector('symbol()')]: ({ key }) => abiString(tokenAt(key)?.symbol ?? ''),
    [selector('name()')]: ({ key }) => abiString(`Sandbox ${tokenAt(key)?.symbol}`),
    [selector('balanceOf(address)')]: ({ accounts, data, key }) =>
      word(accounts.token(key, data.slice(8).padEnd(64, '0').slice(24, 64)).toString(16)),
  };

  return {
    /** Whether the contract is a token or pretends to be one. */
    isToken: (key: string): boolean => tokenAt(key) !== undefined,
    /**
     * Answers one call.
     * @param accounts the state that is asked about
     * @param data selector and arguments as hex digits
     * @returns the return value as hex digits; null if the contract reverts
     */
    answer: (accounts: Pick<Accounts, 'token'>, key: string, data: string): string | null =>
      answers[data.slice(0, 8)]?.({ accounts, data, key }) ?? null,
  };
}
