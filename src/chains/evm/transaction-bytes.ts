/**
 * Signed EIP-1559 transactions as bytes. Reading recomputes the hash and recovers the sender from the bytes. Sources:
 * EIP-1559, EIP-2718, EIP-2 (low s).
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { accountOf } from '../xpub.ts';
import { decodeRlp, encodeRlp, type RlpItem, readWhole, wholeBytes } from './rlp.ts';

const TYPE = 2;
const ADDRESS_BYTES = 20;
/** Fields before the signature's three. */
const FIELDS = 9;
const WORD_LIMIT = 2n ** 256n;

/** Wei and gas are whole numbers below 2^256. `to` is a key, null for a new contract; `data` is hex without `0x`. */
export type FeeMarketTransaction = Readonly<{
  chainId: bigint;
  nonce: bigint;
  tipWei: bigint;
  maxFeeWei: bigint;
  gas: bigint;
  to: string | null;
  valueWei: bigint;
  data: string;
}>;

type SignedTransaction = Readonly<{
  transaction: FeeMarketTransaction;
  /** `0x` and the Keccak-256 of the bytes. */
  tx: string;
  /** Key of the account that signed. */
  sender: string;
}>;

const fieldsOf = (of: FeeMarketTransaction): RlpItem[] => [
  ...[of.chainId, of.nonce, of.tipWei, of.maxFeeWei, of.gas].map(wholeBytes),
  hexToBytes(of.to ?? ''),
  wholeBytes(of.valueWei),
  hexToBytes(of.data),
  [],
];

const typed = (fields: RlpItem[]): Uint8Array => concatBytes(Uint8Array.of(TYPE), encodeRlp(fields));
const idOf = (bytes: Uint8Array): string => `0x${bytesToHex(keccak_256(bytes))}`;

/** Signs by RFC 6979, so the same transaction gives the same bytes. */
export function signTransaction(
  transaction: FeeMarketTransaction,
  secret: Uint8Array,
): Readonly<{ tx: string; bytes: Uint8Array }> {
  const digest = keccak_256(typed(fieldsOf(transaction)));
  const { r, s, recovery } = secp256k1.Signature.fromBytes(
    secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' }),
    'recovered',
  );
  const bytes = signedBytes(transaction, { parity: BigInt(recovery ?? 0), r, s });
  return { tx: idOf(bytes), bytes };
}

/** Returns the bytes of a transaction with a signature, which is not checked. */
const signedBytes = (
  transaction: FeeMarketTransaction,
  { parity, r, s }: Readonly<{ parity: bigint; r: bigint; s: bigint }>,
): Uint8Array => typed([...fieldsOf(transaction), ...[parity, r, s].map(wholeBytes)]);

/** Returns null for anything but a signed EIP-1559 transaction without an access list, in its canonical form. */
export function readSignedTransaction(bytes: Uint8Array): SignedTransaction | null {
  const items = bytes[0] === TYPE ? decodeRlp(bytes.subarray(1)) : null;
  if (!items || items instanceof Uint8Array || items.length !== FIELDS + 3) return null;
  const [to, data, accessList] = [items[5], items[7], items[8]];
  if (!(to instanceof Uint8Array) || !(data instanceof Uint8Array)) return null;
  if (to.length !== 0 && to.length !== ADDRESS_BYTES) return null;
  if (accessList instanceof Uint8Array || accessList?.length !== 0) return null;
  const numbers = [0, 1, 2, 3, 4, 6, 9, 10, 11].map((at) => {
    const item = items[at];
    return item instanceof Uint8Array ? readWhole(item) : null;
  });
  if (numbers.some((number) => number === null || number >= WORD_LIMIT)) return null;
  const [chainId, nonce, tipWei, maxFeeWei, gas, valueWei, parity, r, s] = numbers as [bigint, ...bigint[]] as Nine;
  const digest = keccak_256(typed(items.slice(0, FIELDS)));
  const sender = recover(digest, parity, r, s);
  const target = to.length === 0 ? null : bytesToHex(to);
  const transaction = { chainId, nonce, tipWei, maxFeeWei, gas, to: target, valueWei, data: bytesToHex(data) };
  return sender === null ? null : { transaction, tx: idOf(bytes), sender };
}

type Nine = [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];

/** Returns the signer's address key. Of the two signatures that fit a key, only the one with the low s is valid. */
function recover(digest: Uint8Array, parity: bigint, r: bigint, s: bigint): string | null {
  if (parity > 1n) return null;
  try {
    const signature = new secp256k1.Signature(r, s, Number(parity));
    return signature.hasHighS() ? null : accountOf(signature.recoverPublicKey(digest).toBytes(true));
  } catch {
    // No key gives this signature.
    return null;
  }
}
