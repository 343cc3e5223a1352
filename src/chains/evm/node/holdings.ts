/**
 * Tokens that addresses hold in the state of one block.
 */
import type { BlockRef } from '../../../core/block.ts';
import type { Token } from '../../../core/transfer.ts';
import type { Holdings } from '../../chain.ts';
import { bySymbol } from '../../spend.ts';
import { blockUnknown, readHeader } from '../wire.ts';
import { balanceCall } from './payout-quote.ts';
import { type EvmRpc, quantity, readAmount, resultOf } from './rpc.ts';

/**
 * Asks for the balances by the block's number, and checks that the node still has the block at that number.
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
  const origin = { method: 'eth_getBlockByNumber', host };
  const found = resultOf(header, origin);
  if (found === null || readHeader(found, origin).ref.hash !== block.hash) throw blockUnknown(block, origin);
  const held = answers.map((answer) => readAmount(answer, { method: 'eth_call', host }));
  const units = keys.map((_, row) => bySymbol(tokens, held.slice(row * tokens.length)));
  return { from: block.number, to: block.number, units };
}
