/**
 * Legacy messages as bytes. Reading a signed transaction gives its signers and its instructions, and verifies every
 * signature. A list of 128 items or more is refused, because its length takes more than one byte. Source:
 * https://solana.com/docs/core/transactions
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { invariant } from '../../core/fault.ts';

/** `program` and `accounts` are keys (hex). The message's header tells which of them sign or are writable. */
export type CalledInstruction = Readonly<{ program: string; accounts: readonly string[]; data: Uint8Array }>;

export type SignedMessage = Readonly<{
  /** The first signature, base58. */
  id: string;
  message: Uint8Array;
  accounts: readonly string[];
  signers: readonly string[];
  blockhash: string;
  instructions: readonly CalledInstruction[];
}>;

const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
const COUNT_LIMIT = 128;

/** An account of an instruction, for writing a message. */
export type AccountMeta = Readonly<{ key: string; isSigner: boolean; isWritable: boolean }>;
export type WrittenInstruction = Readonly<{ program: string; accounts: readonly AccountMeta[]; data: Uint8Array }>;

/**
 * Returns the bytes of a legacy message. Accounts are in the order of the SDK's `CompiledKeys`. The fee payer is first,
 * then come writable signers, other signers, writable accounts and the rest. Each group is in the order of first
 * mention.
 * @param blockhash base58
 */
export function writeMessage(
  feePayer: string,
  blockhash: string,
  instructions: readonly WrittenInstruction[],
): Uint8Array {
  const metas = new Map<string, AccountMeta>();
  const mention = ({ key, isSigner, isWritable }: AccountMeta): void => {
    const known = metas.get(key);
    const isEither = { isSigner: isSigner || !!known?.isSigner, isWritable: isWritable || !!known?.isWritable };
    metas.set(key, { key, ...isEither });
  };
  mention({ key: feePayer, isSigner: true, isWritable: true });
  for (const { program, accounts } of instructions) {
    mention({ key: program, isSigner: false, isWritable: false });
    for (const account of accounts) mention(account);
  }
  const all = [...metas.values()];
  const group = (isSigner: boolean, isWritable: boolean) =>
    all.filter((one) => one.isSigner === isSigner && one.isWritable === isWritable);
  const [writableSigners, signers, writable, others] = [
    group(true, true),
    group(true, false),
    group(false, true),
    group(false, false),
  ] as const;
  const keys = [...writableSigners, ...signers, ...writable, ...others].map(({ key }) => key);
  const place = new Map(keys.map((key, at) => [key, at]));
  const placeOf = (key: string): number => place.get(key) ?? COUNT_LIMIT;
  const listed = (bytes: Uint8Array): Uint8Array => concatBytes(countByte(bytes.length), bytes);
  return concatBytes(
    Uint8Array.of(writableSigners.length + signers.length, signers.length, others.length),
    countByte(keys.length),
    ...keys.map(hexToBytes),
    base58.decode(blockhash),
    countByte(instructions.length),
    ...instructions.flatMap(({ program, accounts, data }) => [
      Uint8Array.of(placeOf(program)),
      listed(Uint8Array.from(accounts, ({ key }) => placeOf(key))),
      listed(data),
    ]),
  );
}

function countByte(count: number): Uint8Array {
  invariant(count < COUNT_LIMIT, 'the lists of a payout’s message have one byte for their length');
  return Uint8Array.of(count);
}

/** Returns null for anything but a legacy transaction whose signatures are all valid, and nothing after it. */
export function readSigned(bytes: Uint8Array): SignedMessage | null {
  const read = readTransactionBytes(bytes);
  return read?.isSigned && read.length === bytes.length ? read.signed : null;
}

/** Returns the legacy transaction with which `bytes` begin, its length, and whether all its signatures are valid. */
export function readTransactionBytes(
  bytes: Uint8Array,
): Readonly<{ signed: SignedMessage; length: number; isSigned: boolean }> | null {
  const count = bytes[0] ?? 0;
  const at = 1 + count * SIGNATURE_BYTES;
  if (count === 0 || count >= COUNT_LIMIT || bytes.length <= at) return null;
  const read = readLegacyMessage(bytes.subarray(at));
  if (read?.signers.length !== count) return null;
  const { message, signers } = read;
  const signatures = signers.map((_, index) =>
    bytes.subarray(1 + index * SIGNATURE_BYTES, 1 + (index + 1) * SIGNATURE_BYTES),
  );
  const isSigned = signers.every((key, index) => {
    const signature = signatures[index];
    return signature !== undefined && isValid(signature, message, key);
  });
  const signed = { id: base58.encode(signatures[0] ?? new Uint8Array()), ...read };
  return { signed, length: at + message.length, isSigned };
}

/** Verifies by the strict rules of RFC 8032, by which a signature has only one form. */
function isValid(signature: Uint8Array, message: Uint8Array, key: string): boolean {
  try {
    return ed25519.verify(signature, message, Uint8Array.from(Buffer.from(key, 'hex')), { zip215: false });
  } catch {
    return false;
  }
}

/** Returns the legacy message with which `bytes` begin; null if it is cut, or names accounts that it does not list. */
function readLegacyMessage(bytes: Uint8Array): Omit<SignedMessage, 'id'> | null {
  let at = 0;
  const take = (length: number): Uint8Array | null => {
    if (at + length > bytes.length) return null;
    at += length;
    return bytes.subarray(at - length, at);
  };
  const takeCount = (): number | null => {
    const count = take(1)?.[0];
    return count === undefined || count >= COUNT_LIMIT ? null : count;
  };
  const header = take(3);
  const accountCount = takeCount();
  if (!header || accountCount === null || (header[0] ?? 0) > accountCount) return null;
  const accounts: string[] = [];
  for (let index = 0; index < accountCount; index++) {
    const key = take(KEY_BYTES);
    if (!key) return null;
    accounts.push(bytesToHex(key));
  }
  const blockhash = take(KEY_BYTES);
  const instructionCount = takeCount();
  if (!blockhash || instructionCount === null) return null;
  const instructions: CalledInstruction[] = [];
  for (let index = 0; index < instructionCount; index++) {
    const program = accounts[take(1)?.[0] ?? COUNT_LIMIT];
    const named = take(takeCount() ?? bytes.length);
    const data = named && take(takeCount() ?? bytes.length);
    const keys = [...(named ?? [])].flatMap((place) => accounts[place] ?? []);
    if (program === undefined || !named || !data || keys.length !== named.length) return null;
    instructions.push({ program, accounts: keys, data });
  }
  const signers = accounts.slice(0, header[0]);
  return { message: bytes.subarray(0, at), accounts, signers, blockhash: base58.encode(blockhash), instructions };
}
