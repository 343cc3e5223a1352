/**
 * Signed TRON transactions as bytes, of the few kinds that Quayside signs. Reading recomputes the id and recovers the
 * signer from the bytes. Sources: java-tron `Tron.proto`, `smart_contract.proto`, `balance_contract.proto`;
 * https://developers.tron.network/docs/tron-protocol-transaction
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { accountOf } from '../xpub.ts';
import { wireAddress } from './address.ts';
import { bytesField, integerField, readMessage, type Shape } from './protobuf.ts';

/** Numbers of `Transaction.Contract.ContractType`. */
const contractTypes = { transfer: 1, trigger: 31, delegate: 57, undelegate: 58 } as const;
export type ContractKind = keyof typeof contractTypes;

const typeUrls: Readonly<Record<ContractKind, string>> = {
  transfer: 'type.googleapis.com/protocol.TransferContract',
  trigger: 'type.googleapis.com/protocol.TriggerSmartContract',
  delegate: 'type.googleapis.com/protocol.DelegateResourceContract',
  undelegate: 'type.googleapis.com/protocol.UnDelegateResourceContract',
};

const ENERGY = 1n;
const SIGNATURE_BYTES = 65;
const RECOVERY_OFFSET = 27;

const transactionShape: Shape = { 1: 'bytes', 2: 'bytes' };
const rawShape: Shape = { 1: 'bytes', 4: 'bytes', 8: 'integer', 11: 'bytes', 14: 'integer', 18: 'integer' };
const contractShape: Shape = { 1: 'integer', 2: 'bytes' };
const anyShape: Shape = { 1: 'bytes', 2: 'bytes' };
const valueShapes: Readonly<Record<ContractKind, Shape>> = {
  transfer: { 1: 'bytes', 2: 'bytes', 3: 'integer' },
  trigger: { 1: 'bytes', 2: 'bytes', 4: 'bytes' },
  delegate: { 1: 'bytes', 2: 'integer', 3: 'integer', 4: 'bytes' },
  undelegate: { 1: 'bytes', 2: 'integer', 3: 'integer', 4: 'bytes' },
};

/** Effect of the transaction. Addresses are keys; `units` are sun; `data` is hex. */
export type TronAction =
  | Readonly<{ kind: 'transfer' | 'delegate' | 'undelegate'; owner: string; to: string; units: bigint }>
  | Readonly<{ kind: 'trigger'; owner: string; contract: string; data: string }>;

/** The signed part. */
export type RawTransaction = Readonly<{
  action: TronAction;
  /** Low two bytes of the reference block's number, and bytes 8 to 15 of its hash; hex. */
  refBlockBytes: string;
  refBlockHash: string;
  expirationMs: bigint;
  timestampMs: bigint;
  /** The highest cost of energy, in sun. */
  feeLimit: bigint;
}>;

export type TronTransaction = RawTransaction &
  Readonly<{
    /** SHA-256 of the raw data, without the signature. */
    tx: string;
    /** Key of the account that signed. */
    signer: string;
  }>;

/** Returns the raw data of a transaction, which is hashed and signed. */
export function rawBytes(raw: RawTransaction): Uint8Array {
  const { kind } = raw.action;
  const any = concatBytes(bytesField(1, utf8ToBytes(typeUrls[kind])), bytesField(2, actionBytes(raw.action)));
  const contract = concatBytes(integerField(1, BigInt(contractTypes[kind])), bytesField(2, any));
  return concatBytes(
    bytesField(1, hexToBytes(raw.refBlockBytes)),
    bytesField(4, hexToBytes(raw.refBlockHash)),
    integerField(8, raw.expirationMs),
    bytesField(11, contract),
    integerField(14, raw.timestampMs),
    integerField(18, raw.feeLimit),
  );
}

function actionBytes(action: TronAction): Uint8Array {
  const address = (field: number, key: string) => bytesField(field, hexToBytes(wireAddress(key)));
  const owner = address(1, action.owner);
  switch (action.kind) {
    case 'trigger':
      return concatBytes(owner, address(2, action.contract), bytesField(4, hexToBytes(action.data)));
    case 'transfer':
      return concatBytes(owner, address(2, action.to), integerField(3, action.units));
    default:
      return concatBytes(owner, integerField(2, ENERGY), integerField(3, action.units), address(4, action.to));
  }
}

/**
 * Returns the bytes to broadcast: raw data and one signature.
 * @param signature r, s and the recovery bit, 65 bytes
 */
export const signedTransaction = (raw: Uint8Array, signature: Uint8Array): Uint8Array =>
  concatBytes(bytesField(1, raw), bytesField(2, signature));

/** Returns the id of raw data. The signature is over the id. */
export const transactionDigest = (raw: Uint8Array): Uint8Array => sha256(raw);

/**
 * Converts a signature to the form on the wire: r, s and the recovery bit.
 * @param recovered as returned by `secp256k1.sign`: the recovery bit, r, s
 */
export function wireSignature(recovered: Uint8Array): Uint8Array {
  return concatBytes(recovered.subarray(1), Uint8Array.of((recovered[0] ?? 0) + RECOVERY_OFFSET));
}

/** Returns null for anything but a signed transaction of these kinds in its canonical form. */
export function readTransaction(bytes: Uint8Array): TronTransaction | null {
  const whole = readMessage(bytes, transactionShape);
  const raw = whole && readMessage(whole.bytes(1), rawShape);
  const contract = raw && readMessage(raw.bytes(11), contractShape);
  const any = contract && readMessage(contract.bytes(2), anyShape);
  if (!whole || !raw || !contract || !any) return null;
  const kinds = Object.keys(contractTypes) as ContractKind[];
  const kind = kinds.find((one) => BigInt(contractTypes[one]) === contract.integer(1));
  if (!kind || new TextDecoder().decode(any.bytes(1)) !== typeUrls[kind]) return null;
  const action = readAction(kind, any.bytes(2));
  const digest = transactionDigest(whole.bytes(1));
  const signer = recover(digest, whole.bytes(2));
  const [refBlockBytes, refBlockHash] = [raw.bytes(1), raw.bytes(4)];
  if (!action || signer === null || refBlockBytes.length !== 2 || refBlockHash.length !== 8) return null;
  return {
    tx: bytesToHex(digest),
    signer,
    action,
    refBlockBytes: bytesToHex(refBlockBytes),
    refBlockHash: bytesToHex(refBlockHash),
    expirationMs: raw.integer(8),
    timestampMs: raw.integer(14),
    feeLimit: raw.integer(18),
  };
}

function readAction(kind: ContractKind, bytes: Uint8Array): TronAction | null {
  const value = readMessage(bytes, valueShapes[kind]);
  const owner = value && keyOf(value.bytes(1));
  if (!value || owner === null) return null;
  if (kind === 'trigger') {
    const contract = keyOf(value.bytes(2));
    return contract === null ? null : { kind, owner, contract, data: bytesToHex(value.bytes(4)) };
  }
  if (kind === 'transfer') {
    const to = keyOf(value.bytes(2));
    return to === null ? null : { kind, owner, to, units: value.integer(3) };
  }
  const to = keyOf(value.bytes(4));
  return to === null || value.integer(2) !== ENERGY ? null : { kind, owner, to, units: value.integer(3) };
}

/** Returns the key of an address of 21 bytes. */
function keyOf(bytes: Uint8Array): string | null {
  return bytes.length === 21 && bytes[0] === 0x41 ? bytesToHex(bytes.subarray(1)) : null;
}

/** Returns the signer's address key. Of the two signatures that fit a key, only the one with the low s is canonical. */
function recover(digest: Uint8Array, signature: Uint8Array): string | null {
  const recovery = (signature[SIGNATURE_BYTES - 1] ?? 0) - RECOVERY_OFFSET;
  if (signature.length !== SIGNATURE_BYTES || (recovery !== 0 && recovery !== 1)) return null;
  try {
    const { Signature } = secp256k1;
    const read = Signature.fromBytes(signature.subarray(0, 64), 'compact').addRecoveryBit(recovery);
    return read.hasHighS() ? null : accountOf(read.recoverPublicKey(digest).toBytes(true));
  } catch {
    // No key gives this signature.
    return null;
  }
}
