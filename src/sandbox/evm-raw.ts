/**
 * Reads signed EVM transactions as `eth_sendRawTransaction` accepts them: EIP-1559 ones. Errors have go-ethereum's
 * texts.
 */
import { decodeRlp, readWhole } from '../chains/evm/rlp.ts';
import { type FeeMarketTransaction, readSignedTransaction } from '../chains/evm/transaction-bytes.ts';
import { serverError } from './json-rpc.ts';

/** `id` and `sender` are hex digits without a prefix. */
export type RawTransaction = FeeMarketTransaction & Readonly<{ id: string; sender: string }>;

const TYPE = 2;
const SIGNATURE_FIELDS = 3;
const KNOWN_MAX = 1_000;
/** Read before. Blocks are rendered again and again, and a signature takes long to check. */
const known = new Map<string, RawTransaction>();

/**
 * Reads a transaction.
 * @param bytes hex digits
 * @throws RpcError with go-ethereum's text
 */
export function readRaw(bytes: string): RawTransaction {
  const before = known.get(bytes);
  if (before) return before;
  const buffer = Buffer.from(bytes, 'hex');
  if (buffer[0] !== TYPE) throw serverError('transaction type not supported');
  const read = readSignedTransaction(buffer);
  if (!read) throw serverError('rlp: too few elements for types.DynamicFeeTx');
  const raw = { ...read.transaction, id: read.tx.slice(2), sender: read.sender };
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(bytes, raw);
  return raw;
}

/** Returns parity, r and s of a transaction that was read. */
export function signatureOf(bytes: string): readonly bigint[] {
  const items = decodeRlp(Buffer.from(bytes, 'hex').subarray(1));
  return (items as readonly Uint8Array[]).slice(-SIGNATURE_FIELDS).map((item) => readWhole(item) ?? 0n);
}
