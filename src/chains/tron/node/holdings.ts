/** Tokens that addresses hold on the solidified chain. A node has only the newest state. */
import { invariant, transient } from '../../../core/fault.ts';
import type { Token } from '../../../core/transfer.ts';
import type { Holdings } from '../../chain.ts';
import { bySymbol, type UnitsBySymbol } from '../../spend.ts';
import { tronAddress } from '../address.ts';
import { readHeld, SOLID_CONSTANT_PATH } from './payout-calls.ts';
import { readHeaderAt, SOLID_BLOCK_PATH, type TronRpc } from './rpc.ts';

/** @throws Fault transient */
export async function askHoldings(node: TronRpc, tokens: readonly Token[], keys: readonly string[]): Promise<Holdings> {
  const from = await solidNumber(node);
  const held: UnitsBySymbol[] = [];
  for (const key of keys) {
    const units: bigint[] = [];
    for (const { address } of tokens) {
      const token = tronAddress.parse(address);
      invariant(token !== null, `the token address ${address} is a valid TRON address`);
      units.push(await readHeld(node, token, key, SOLID_CONSTANT_PATH));
    }
    held.push(bySymbol(tokens, units));
  }
  return { from, to: await solidNumber(node), units: held };
}

async function solidNumber(node: TronRpc): Promise<number> {
  const found = await readHeaderAt(node, SOLID_BLOCK_PATH, null);
  if (found) return found.ref.number;
  throw transient('node_history_pruned', `${node.host} shows no block of the solidified chain`);
}
