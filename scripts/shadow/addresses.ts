/**
 * The addresses that a shadow watches: those of an xpub, or those in a file.
 * @module
 */
import { readFileSync } from 'node:fs';
import type { AddressCodec, Chain } from '../../src/chains/chain.ts';
import { Fault, permanent } from '../../src/core/fault.ts';

const FILE_ADDRESSES_MAX = 1_000_000;

/** Returns the keys of an xpub's first addresses. @throws Fault permanent `usage` */
export async function deriveKeys(chain: Chain, xpub: string, count: number): Promise<string[]> {
  const keys = await chain.xpubKeys?.();
  if (!keys) throw permanent('usage', 'this family has no xpub: name addresses with --address-file');
  try {
    return Array.from({ length: count }, (_, index) => keys.derive(xpub, index));
  } catch (error) {
    if (error instanceof Fault) throw permanent('usage', `--xpub cannot be used: ${error.message}`, error);
    throw error;
  }
}

/**
 * Returns the keys of the addresses in a file: one on each line, or a list of `quayside address-pool derive`.
 * @throws Fault permanent `usage`
 */
export function readKeys({ parse }: AddressCodec, file: string): string[] {
  const addresses = listed(readText(file));
  if (addresses.length === 0 || addresses.length > FILE_ADDRESSES_MAX) {
    throw permanent('usage', `${file} has ${addresses.length} addresses, expected 1 to ${FILE_ADDRESSES_MAX}`);
  }
  return addresses.map((text, at) => {
    const key = parse(text);
    if (key !== null) return key;
    throw permanent('usage', `${file}: entry ${at + 1}, "${text}", is not an address of the network`);
  });
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw permanent('usage', `${file} cannot be read: ${error instanceof Error ? error.message : error}`, error);
  }
}

function listed(text: string): string[] {
  if (!text.trimStart().startsWith('{')) return text.split(/\s+/).filter((line) => line !== '');
  try {
    const { addresses } = JSON.parse(text) as { addresses?: unknown };
    return Array.isArray(addresses) ? addresses.map(String) : [];
  } catch {
    return [];
  }
}
