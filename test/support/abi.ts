/**
 * The parts of the Solidity ABI that tests need: words, dynamic arrays of words, and strings. Layout:
 * https://docs.soliditylang.org/en/latest/abi-spec.html
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** An address (`0x` and 40 hex digits), a number, a text, or an array of addresses or numbers. */
export type AbiValue = bigint | number | AbiString | string | readonly (bigint | string)[];

/** A `string` argument; a bare JavaScript string is taken for an address. */
export type AbiString = Readonly<{ text: string }>;

const word = (value: bigint | number | string): string => BigInt(value).toString(16).padStart(64, '0');

/** Returns the tail of a dynamic value, or null for a value of one word. */
function tail(value: AbiValue): string | null {
  if (Array.isArray(value)) return word(value.length) + value.map(word).join('');
  if (typeof value !== 'object') return null;
  const hex = bytesToHex(utf8ToBytes((value as AbiString).text));
  return word(hex.length / 2) + hex.padEnd(Math.ceil(hex.length / 64) * 64, '0');
}

/** Encodes arguments in ABI layout: hex without prefix. */
export function encodeArguments(values: readonly AbiValue[]): string {
  let heads = '';
  let tails = '';
  for (const value of values) {
    const dynamic = tail(value);
    if (dynamic === null) {
      heads += word(value as bigint | number | string);
    } else {
      heads += word(values.length * 32 + tails.length / 2);
      tails += dynamic;
    }
  }
  return heads + tails;
}

/** Encodes a call of a function given by its signature, such as `transfer(address,uint256)`: hex with `0x`. */
export function encodeCall(signature: string, values: readonly AbiValue[]): string {
  const selector = bytesToHex(keccak_256(utf8ToBytes(signature)).subarray(0, 4));
  return `0x${selector}${encodeArguments(values)}`;
}
