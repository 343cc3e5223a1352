/**
 * Tokens that addresses hold in the state of one block.
 */
import type { BlockRef } from '../../../core/block.ts';
import { invariant } from '../../../core/fault.ts';
import type { Currency, Token } from '../../../core/transfer.ts';
import type { Holdings } from '../../chain.ts';
import { blockUnknown, readHeader } from '../wire.ts';
import { balanceCall } from './payout-quote.ts';
import { type EvmRpc, quantity, readAmount, resultOf } from './rpc.ts';

/**
 * Asks for the balances by the block's number, and whether that is still the block.
 * @throws Fault transient; `node_history_pruned` if the node no longer has the state
 */
export async function askHoldings(
  { rpc, host }: EvmRpc,
  tokens: readonly Token[],
  keys: readonly string[],
  block: BlockRef,
): Promise<Holdings> {
  const at = quantity(block.number);
  const calls = keys.flatMap((key) => tokens.map(({ address }) => balanceCall(address, key, at)));
  const [header, ...answers] = await rpc.batch([{ method: 'eth_getBlockByNumber', params: [at, false] }, ...calls]);
  invariant(header, 'a batch has an answer for each call');
  const origin = { method: 'eth_getBlockByNumber', host };
  const found = resultOf(header, origin);
  if (found === null || readHeader(found, origin).ref.hash !== block.hash) throw blockUnknown(block, origin);
  const held = keys.map((_, row) => {
    const units: Partial<Record<Currency, bigint>> = {};
    for (const [column, { symbol }] of tokens.entries()) {
      const answer = answers[row * tokens.length + column];
      invariant(answer, 'a batch has an answer for each call');
      units[symbol] = readAmount(answer, { method: 'eth_call', host });
    }
    return units;
  });
  return { from: block.number, to: block.number, units: held };
}
