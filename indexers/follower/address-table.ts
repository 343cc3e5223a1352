/**
 * The set of watched addresses, in one `SharedArrayBuffer` that every matcher thread reads while the follower's thread
 * adds to it.
 *
 * Open addressing with linear probing over fixed-width keys. Each slot has a tag (a hash of the key, never 0; 0 =
 * empty) and the key as 32-bit words. The writer stores the words first and the tag last, atomically. A reader that
 * sees the tag also sees the words. Keys are never removed, so a probe may stop at the first empty slot.
 *
 * Layout in 32-bit words: key bytes, capacity (a power of two), key count, 0, then `capacity` tags, then `capacity`
 * keys. A full table is rebuilt at twice the size in a new buffer, which readers get with their next task.
 */
import { invariant } from '../../src/core/fault.ts';

const HEADER_WORDS = 4;
const AT_KEY_BYTES = 0;
const AT_CAPACITY = 1;
const AT_COUNT = 2;

/** Largest share of used slots. A miss probes about 4 slots at 0.6, and 9 at 0.75. */
const LOAD_MAX = 0.6;
const CAPACITY_MIN = 1024;

/**
 * The part of the table that a matcher needs. `key` is lower-case hex of exactly the table's key width; any other text
 * is not in it.
 */
export type AddressReader = Readonly<{ has(key: string): boolean }>;

/** The writer's side. There is one writer. */
export type AddressTable = AddressReader &
  Readonly<{
    /** Adds a key, which must be hex of the table's width. Returns false if it is in the table already. */
    add(key: string): boolean;
    /** Returns the present buffer for readers. It has all keys added so far. */
    buffer(): SharedArrayBuffer;
    size(): number;
  }>;

/** Creates an empty table for keys of `keyBytes` bytes. */
export function createAddressTable(keyBytes: number): AddressTable {
  invariant(Number.isInteger(keyBytes) && keyBytes > 0, 'a key has a whole number of bytes');
  let slots = openSlots(newBuffer(keyBytes, CAPACITY_MIN));

  function grow(): void {
    const bigger = openSlots(newBuffer(keyBytes, slots.capacity * 2));
    for (let at = 0; at < slots.capacity; at++) {
      if (slots.tags[at] === 0) continue;
      bigger.key.set(slots.keys.subarray(at * slots.words, (at + 1) * slots.words));
      bigger.put(bigger.tagOf());
    }
    slots = bigger;
  }

  return {
    has: (key) => slots.read(key) && slots.find(slots.tagOf()) >= 0,
    add(key) {
      invariant(slots.read(key), `an address key is ${keyBytes} bytes of lower-case hex`);
      if (slots.find(slots.tagOf()) >= 0) return false;
      if (slots.count() + 1 > slots.capacity * LOAD_MAX) {
        grow();
        slots.read(key);
      }
      slots.put(slots.tagOf());
      return true;
    },
    buffer: () => slots.buffer,
    size: () => slots.count(),
  };
}

/** Opens a table's buffer for reading. Keys that are added to the buffer later are seen too. */
export function openAddressTable(buffer: SharedArrayBuffer): AddressReader {
  const slots = openSlots(buffer);
  return { has: (key) => slots.read(key) && slots.find(slots.tagOf()) >= 0 };
}

function newBuffer(keyBytes: number, capacity: number): SharedArrayBuffer {
  const words = Math.ceil(keyBytes / 4);
  const buffer = new SharedArrayBuffer((HEADER_WORDS + capacity + capacity * words) * 4);
  const header = new Int32Array(buffer, 0, HEADER_WORDS);
  header[AT_KEY_BYTES] = keyBytes;
  header[AT_CAPACITY] = capacity;
  return buffer;
}

/** Creates views of a buffer, and one scratch key (`key`) that `read` fills and `find` and `put` use. */
function openSlots(buffer: SharedArrayBuffer) {
  const header = new Int32Array(buffer, 0, HEADER_WORDS);
  const keyBytes = header[AT_KEY_BYTES] ?? 0;
  const capacity = header[AT_CAPACITY] ?? 0;
  const words = Math.ceil(keyBytes / 4);
  const tags = new Int32Array(buffer, HEADER_WORDS * 4, capacity);
  const keys = new Uint32Array(buffer, (HEADER_WORDS + capacity) * 4, capacity * words);
  const key = new Uint32Array(words);

  /** Reads hex into `key`; returns false if the text is not a key of this table. */
  function read(text: string): boolean {
    if (text.length !== keyBytes * 2) return false;
    key.fill(0);
    for (let at = 0; at < text.length; at++) {
      const digit = hexDigit(text.charCodeAt(at));
      if (digit < 0) return false;
      key[at >> 3] = ((key[at >> 3] ?? 0) << 4) | digit;
    }
    return true;
  }

  /**
   * Returns the hash of `key`, never 0: MurmurHash3's 32-bit block and finalizer (github.com/aappleby/smhasher), seed
   * 0.
   */
  function tagOf(): number {
    let hash = 0;
    for (let at = 0; at < words; at++) {
      let word = Math.imul(key[at] ?? 0, 0xcc9e2d51);
      word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
      hash ^= word;
      hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
    }
    hash ^= keyBytes;
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) | 0 || 1;
  }

  function isKeyAt(slot: number): boolean {
    const start = slot * words;
    for (let at = 0; at < words; at++) if (keys[start + at] !== key[at]) return false;
    return true;
  }

  /** Returns the slot that holds `key`, or −1 − (the empty slot where it belongs). */
  function find(tag: number): number {
    const mask = capacity - 1;
    for (let slot = tag & mask; ; slot = (slot + 1) & mask) {
      const found = Atomics.load(tags, slot);
      if (found === 0) return -1 - slot;
      if (found === tag && isKeyAt(slot)) return slot;
    }
  }

  /** Writes `key`, which is not in the table, into its slot: first the words, then the tag, which publishes them. */
  function put(tag: number): void {
    const slot = -1 - find(tag);
    keys.set(key, slot * words);
    Atomics.store(tags, slot, tag);
    Atomics.add(header, AT_COUNT, 1);
  }

  return {
    buffer,
    capacity,
    words,
    tags,
    keys,
    key,
    read,
    tagOf,
    find,
    put,
    count: () => Atomics.load(header, AT_COUNT),
  };
}

/** Returns the value of a lower-case hex digit's character code, or −1. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  return -1;
}
