/**
 * Answers of token contracts to read-only calls, for any family.
 */
import type { Token } from '../core/transfer.ts';
import { abiString, selector, word } from './abi.ts';
import { lookalikeKey } from './transaction.ts';
import type { World } from './world.ts';

export type KeyedToken = Readonly<{ symbol: Token['symbol']; key: string; decimals: number }>;

export type TokenCalls = Readonly<{
  /** Whether the contract is a token or pretends to be one. */
  isToken(key: string): boolean;
  /**
   * Answers one call.
   * @param data selector and arguments as hex digits
   * @returns the return value as hex digits; null if the contract reverts
   */
  answer(key: string, data: string): string | null;
}>;

export function createTokenCalls(world: Pick<World, 'balance'>, tokens: readonly KeyedToken[]): TokenCalls {
  const tokenAt = (key: string) => tokens.find((token) => token.key === key || lookalikeKey(token.key) === key);

  const answers: Record<string, (call: { data: string; key: string }) => string> = {
    [selector('decimals()')]: ({ key }) => word((tokenAt(key)?.decimals ?? 0).toString(16)),
    [selector('symbol()')]: ({ key }) => abiString(tokenAt(key)?.symbol ?? ''),
    [selector('name()')]: ({ key }) => abiString(`Sandbox ${tokenAt(key)?.symbol}`),
    [selector('balanceOf(address)')]: ({ data, key }) =>
      word(world.balance(key, data.slice(8).padEnd(64, '0').slice(24, 64)).toString(16)),
  };

  return {
    isToken: (key) => tokenAt(key) !== undefined,
    answer: (key, data) => answers[data.slice(0, 8)]?.({ data, key }) ?? null,
  };
}
