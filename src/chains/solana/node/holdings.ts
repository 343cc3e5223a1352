/**
 * Tokens that addresses hold in the newest final state. A node has no older one.
 *
 * Only the owners' associated token accounts count, because sweeps pay from them.
 */
import { isFields } from '../../../core/fields.ts';
import type { Token } from '../../../core/transfer.ts';
import type { Holdings } from '../../chain.ts';
import { nonsense } from '../../json-rpc.ts';
import { bySymbol } from '../../spend.ts';
import type { RpcClient } from '../../transport/rpc-client.ts';
import { readAccount, unitsHeldBy } from '../account.ts';
import { tokenAddress } from '../token-account.ts';

/** Accounts in one call of `getMultipleAccounts`. */
const ACCOUNTS_MAX = 100;

/** @throws Fault transient */
export async function askHoldings(
  rpc: RpcClient,
  host: string,
  tokens: readonly Token[],
  keys: readonly string[],
): Promise<Holdings> {
  const origin = { method: 'getMultipleAccounts', host };
  const owners = keys.flatMap((key) => tokens.map(() => key));
  const accounts = keys.flatMap((key) => tokens.map(({ address }) => tokenAddress(key, address)));
  const slots: number[] = [];
  const found: bigint[] = [];
  for (let at = 0; at < accounts.length; at += ACCOUNTS_MAX) {
    const asked = accounts.slice(at, at + ACCOUNTS_MAX);
    const answer = await rpc.call(origin.method, [asked, { encoding: 'base64', commitment: 'finalized' }]);
    const { value, context } = isFields(answer) ? answer : {};
    const slot = isFields(context) ? context.slot : null;
    if (!Array.isArray(value) || value.length !== asked.length || !Number.isSafeInteger(slot)) {
      throw nonsense(origin, `answered with something that is not ${asked.length} accounts`);
    }
    slots.push(Number(slot));
    for (const account of value) found.push(unitsHeldBy(owners[found.length] ?? '', readAccount(account, origin)));
  }
  const units = keys.map((_, row) => bySymbol(tokens, found.slice(row * tokens.length)));
  return { from: Math.min(...slots), to: Math.max(...slots), units };
}
