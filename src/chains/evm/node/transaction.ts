/**
 * The bytes of a transaction that a node has. Nodes show its fields, of which the bytes are written again: if any of
 * them is untrue, the bytes have another id.
 */
import { type Fields, isFields } from '../../../core/fields.ts';
import { nonsense } from '../../json-rpc.ts';
import { type FeeMarketTransaction, signedBytes } from '../transaction-bytes.ts';
import { ADDRESS, hex, readUnits } from '../wire.ts';
import { type EvmRpc, resultOf } from './rpc.ts';

const DATA = /^0x([0-9a-f]{2})*$/;
const FEE_MARKET_TYPE = '0x2';

/**
 * Returns the bytes of a transaction; null if the node does not have it. `other`: it is no EIP-1559 transaction to an
 * account.
 * @throws Fault transient
 */
export async function askTransaction({ rpc, host }: EvmRpc, tx: string): Promise<Uint8Array | 'other' | null> {
  const origin = { method: 'eth_getTransactionByHash', host };
  const sent = resultOf(await rpc.attempt(origin.method, [tx]), origin);
  if (sent === null) return null;
  if (!isFields(sent)) throw nonsense(origin, 'answered with a transaction that is not an object');
  if (hex(sent.type) !== FEE_MARKET_TYPE) return 'other';
  const transaction = readFields(sent);
  const [parity, r, s] = [sent.yParity ?? sent.v, sent.r, sent.s].map(readUnits);
  if (!transaction || parity == null || r == null || s == null) return 'other';
  return signedBytes(transaction, { parity, r, s });
}

function readFields(sent: Fields): FeeMarketTransaction | null {
  const names = ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'value'];
  const [chainId, nonce, tipWei, maxFeeWei, gas, valueWei] = names.map((name) => readUnits(sent[name]));
  const [to, data] = [hex(sent.to), hex(sent.input)];
  if (chainId == null || nonce == null || tipWei == null || maxFeeWei == null || gas == null || valueWei == null)
    return null;
  if (!ADDRESS.test(to) || !DATA.test(data)) return null;
  return { chainId, nonce, tipWei, maxFeeWei, gas, to: to.slice(2), valueWei, data: data.slice(2) };
}
