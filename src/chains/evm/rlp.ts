/**
 * Recursive Length Prefix, in which EVM transactions are written. Reading is strict: anything but the one canonical
 * form is refused, so that two different byte strings never mean the same transaction. Source:
 * https://ethereum.org/developers/docs/data-structures-and-encoding/rlp/
 */
import { concatBytes } from '@noble/hashes/utils.js';

export type RlpItem = Uint8Array | readonly RlpItem[];

/** The length of a longer content is written in bytes of its own. */
const SHORT_BYTES_MAX = 55;
const TEXT = 0x80;
const LIST = 0xc0;
const LENGTH_BYTES_MAX = 4;
/** A transaction has a list in a list. More depth is refused before it can exhaust the stack. */
const DEPTH_MAX = 8;

/** Returns the bytes of a whole number without leading zeros. Zero is empty. */
export function wholeBytes(value: bigint): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; rest > 0n; rest >>= 8n) bytes.push(Number(rest & 0xffn));
  return Uint8Array.from(bytes.reverse());
}

/** Returns the number; null if it has leading zeros. */
export const readWhole = (bytes: Uint8Array): bigint | null =>
  bytes[0] === 0 ? null : bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);

export function encodeRlp(item: RlpItem): Uint8Array {
  if (!(item instanceof Uint8Array)) return prefixed(LIST, concatBytes(...item.map(encodeRlp)));
  const [first] = item;
  return item.length === 1 && first !== undefined && first < TEXT ? item : prefixed(TEXT, item);
}

function prefixed(kind: number, content: Uint8Array): Uint8Array {
  if (content.length <= SHORT_BYTES_MAX) return concatBytes(Uint8Array.of(kind + content.length), content);
  const length = wholeBytes(BigInt(content.length));
  return concatBytes(Uint8Array.of(kind + SHORT_BYTES_MAX + length.length), length, content);
}

/** Returns the item; null unless the bytes are exactly one item in its canonical form. */
export function decodeRlp(bytes: Uint8Array): RlpItem | null {
  const read = readItem(bytes, 0, 0);
  return read?.next === bytes.length ? read.item : null;
}

type ReadItem = Readonly<{ item: RlpItem; next: number }>;

function readItem(bytes: Uint8Array, at: number, depth: number): ReadItem | null {
  const first = bytes[at];
  if (first === undefined || depth > DEPTH_MAX) return null;
  if (first < TEXT) return { item: bytes.subarray(at, at + 1), next: at + 1 };
  const kind = first < LIST ? TEXT : LIST;
  const span = readSpan(bytes, at, first - kind);
  if (!span) return null;
  const [start, end] = span;
  if (kind === LIST) return readItems(bytes, start, end, depth);
  const item = bytes.subarray(start, end);
  // The canonical form of one byte below 0x80 is the byte itself.
  return item.length === 1 && (item[0] ?? 0) < TEXT ? null : { item, next: end };
}

/** Returns where an item's content starts and ends. @param size its first byte without the kind */
function readSpan(bytes: Uint8Array, at: number, size: number): readonly [number, number] | null {
  const lengthBytes = Math.max(0, size - SHORT_BYTES_MAX);
  const start = at + 1 + lengthBytes;
  if (lengthBytes > LENGTH_BYTES_MAX || start > bytes.length) return null;
  const length = lengthBytes === 0 ? BigInt(size) : readWhole(bytes.subarray(at + 1, start));
  if (length === null || (lengthBytes > 0 && length <= BigInt(SHORT_BYTES_MAX))) return null;
  const end = start + Number(length);
  return end > bytes.length ? null : [start, end];
}

function readItems(bytes: Uint8Array, start: number, end: number, depth: number): ReadItem | null {
  const items: RlpItem[] = [];
  for (let at = start; at < end; ) {
    const read = readItem(bytes, at, depth + 1);
    if (!read) return null;
    items.push(read.item);
    at = read.next;
    if (at > end) return null;
  }
  return { item: items, next: end };
}
