/**
 * The part of protobuf's wire format that TRON's transactions need. Reading is strict: anything but the one canonical
 * form of a message is refused, so that two different byte strings never mean the same transaction. Source:
 * https://protobuf.dev/programming-guides/encoding/
 */
import { invariant } from '../../core/fault.ts';

/** The fields of a message, by number. Integers are int64 and enums. An absent field is zero or empty. */
export type Shape = Readonly<Record<number, 'integer' | 'bytes'>>;
type Message = Readonly<{ integer(field: number): bigint; bytes(field: number): Uint8Array }>;

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const EMPTY = new Uint8Array();
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Reads a varint in its shortest form.
 * @returns its value and the position after it, or null
 */
function readVarint(bytes: Uint8Array, at: number): readonly [bigint, number] | null {
  let value = 0n;
  for (let count = 0; count < 10; count++) {
    const byte = bytes[at + count];
    if (byte === undefined) return null;
    value |= BigInt(byte & 0x7f) << BigInt(7 * count);
    if (byte & 0x80) continue;
    return byte === 0 && count > 0 ? null : [value, at + count + 1];
  }
  return null;
}

/**
 * Reads a message of exactly this shape: known fields in rising order, each at most once, none with its default value,
 * no trailing bytes.
 * @returns null for anything else
 */
export function readMessage(bytes: Uint8Array, shape: Shape): Message | null {
  const integers = new Map<number, bigint>();
  const texts = new Map<number, Uint8Array>();
  let last = 0;
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    const field = tag ? Number(tag[0] >> 3n) : 0;
    const read = tag && readVarint(bytes, tag[1]);
    if (!tag || !read || field <= last) return null;
    const [value, next] = read;
    const wireType = Number(tag[0] & 7n);
    if (shape[field] === 'integer' && wireType === VARINT) {
      if (value === 0n || value > INT64_MAX) return null;
      integers.set(field, value);
      at = next;
    } else if (shape[field] === 'bytes' && wireType === LENGTH_DELIMITED) {
      const end = next + Number(value);
      if (value === 0n || end > bytes.length) return null;
      texts.set(field, bytes.subarray(next, end));
      at = end;
    } else return null;
    last = field;
  }
  return { integer: (field) => integers.get(field) ?? 0n, bytes: (field) => texts.get(field) ?? EMPTY };
}

/** Writes a length-delimited field, and nothing for an empty one. */
export function bytesField(field: number, value: Uint8Array): Uint8Array {
  if (value.length === 0) return EMPTY;
  const head = [...varint(BigInt(field * 8 + LENGTH_DELIMITED)), ...varint(BigInt(value.length))];
  const bytes = new Uint8Array(head.length + value.length);
  bytes.set(head);
  bytes.set(value, head.length);
  return bytes;
}

/**
 * Writes an int64 or an enum, and nothing for zero.
 * @param value 0 to 2^63 − 1
 */
export function integerField(field: number, value: bigint): Uint8Array {
  invariant(value >= 0n && value <= INT64_MAX, 'an integer of a transaction fits into an int64');
  return value === 0n ? EMPTY : Uint8Array.from([...varint(BigInt(field * 8 + VARINT)), ...varint(value)]);
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}
