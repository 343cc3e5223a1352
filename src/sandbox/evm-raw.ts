/**
 * Reads signed EVM transactions as `eth_sendRawTransaction` accepts them: EIP-1559 ones, from their RLP. Written by
 * hand, so that it checks the signer's library independently.
 *
 * Sources: EIP-1559, EIP-2718, EIP-2 (low s); RLP: Ethereum Yellow Paper, appendix B. Errors have go-ethereum's texts.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { accountOf } from '../chains/xpub.ts';
import { serverError } from './json-rpc.ts';

export type RawTransaction = Readonly<{
  chainId: bigint;
  nonce: number;
  /** Fees in wei for each unit of gas. */
  tip: bigint;
  maxFee: bigint;
  gasLimit: bigint;
  /** Address key; null creates a contract. */
  to: string | null;
  value: bigint;
  /** Hex digits. */
  data: string;
  yParity: number;
  r: bigint;
  s: bigint;
  /** The signed bytes: the type, and the list of the fields before the signature. */
  signedPart: Uint8Array;
}>;

const TYPE = 2;
const FIELDS = 12;
const SIGNATURE_FIELDS = 3;

/** One item of a list: `whole` with its length prefix, `content` without. */
type Item = Readonly<{ whole: Buffer; content: Buffer; isList: boolean }>;

/**
 * Returns the first item of some bytes.
 * @throws RpcError
 */
function firstItem(bytes: Buffer): Item {
  const [prefix] = bytes;
  if (prefix === undefined) throw serverError('rlp: value size exceeds available input length');
  if (prefix < 0x80) return { whole: bytes.subarray(0, 1), content: bytes.subarray(0, 1), isList: false };
  const isList = prefix >= 0xc0;
  const short = prefix - (isList ? 0xc0 : 0x80);
  const lengthBytes = Math.max(0, short - 55);
  if (lengthBytes > 4 || bytes.length < 1 + lengthBytes)
    throw serverError('rlp: value size exceeds available input length');
  const length = lengthBytes === 0 ? short : bytes.readUIntBE(1, lengthBytes);
  const start = 1 + lengthBytes;
  const content = bytes.subarray(start, start + length);
  if (content.length < length) throw serverError('rlp: value size exceeds available input length');
  const isWasteful =
    lengthBytes > 0 ? length < 56 || bytes[1] === 0 : !isList && length === 1 && (content[0] ?? 0) < 0x80;
  if (isWasteful) throw serverError('rlp: non-canonical size information');
  return { whole: bytes.subarray(0, start + length), content, isList };
}

function itemsOf(list: Buffer): Item[] {
  const items: Item[] = [];
  for (let at = 0; at < list.length; at += items.at(-1)?.whole.length ?? 0) items.push(firstItem(list.subarray(at)));
  return items;
}

/** Encodes a list around encoded items. */
function encodeList(content: Buffer): Buffer {
  if (content.length < 56) return Buffer.concat([Buffer.of(0xc0 + content.length), content]);
  const digits = content.length.toString(16);
  const length = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.of(0xf7 + length.length), length, content]);
}

function numberOf({ content, isList }: Item): bigint {
  if (isList || content.length > 32 || content[0] === 0) throw serverError('rlp: non-canonical integer');
  return content.length === 0 ? 0n : BigInt(`0x${content.toString('hex')}`);
}

/**
 * Reads a transaction.
 * @param bytes hex digits
 * @throws RpcError with go-ethereum's text
 */
export function readRaw(bytes: string): RawTransaction {
  const buffer = Buffer.from(bytes, 'hex');
  if (buffer[0] !== TYPE) throw serverError('transaction type not supported');
  const list = firstItem(buffer.subarray(1));
  if (!list.isList) throw serverError('rlp: expected input list for types.DynamicFeeTx');
  const items = itemsOf(list.content);
  const [chainId, nonce, tip, maxFee, gasLimit, to, value, data, accessList, yParity, r, s] = items;
  const isWhole =
    chainId && nonce && tip && maxFee && gasLimit && to && value && data && accessList && yParity && r && s;
  if (!isWhole) throw serverError('rlp: too few elements for types.DynamicFeeTx');
  if (list.whole.length + 1 !== buffer.length) throw serverError('rlp: input contains more than one value');
  if (items.length > FIELDS) throw serverError('rlp: input list has too many elements for types.DynamicFeeTx');
  if (!accessList.isList || to.isList || data.isList || ![0, 20].includes(to.content.length)) {
    throw serverError('rlp: input has the wrong shape for types.DynamicFeeTx');
  }
  const unsigned = items.slice(0, FIELDS - SIGNATURE_FIELDS).map(({ whole }) => whole);
  return {
    chainId: numberOf(chainId),
    nonce: Number(numberOf(nonce)),
    tip: numberOf(tip),
    maxFee: numberOf(maxFee),
    gasLimit: numberOf(gasLimit),
    to: to.content.length === 0 ? null : to.content.toString('hex'),
    value: numberOf(value),
    data: data.content.toString('hex'),
    yParity: Number(numberOf(yParity)),
    r: numberOf(r),
    s: numberOf(s),
    signedPart: Buffer.concat([Buffer.of(TYPE), encodeList(Buffer.concat(unsigned))]),
  };
}

/** Returns the transaction's id: 64 hex digits. */
export const idOf = (bytes: string): string => Buffer.from(keccak_256(Buffer.from(bytes, 'hex'))).toString('hex');

/**
 * Returns who signed, as an address key.
 * @throws RpcError
 */
export function senderOf({ signedPart, yParity, r, s }: RawTransaction): string {
  try {
    const signature = new secp256k1.Signature(r, s, yParity);
    if (signature.hasHighS()) throw new Error('high s');
    return accountOf(signature.recoverPublicKey(keccak_256(signedPart)).toBytes());
  } catch {
    throw serverError('invalid sender');
  }
}
