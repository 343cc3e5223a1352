/**
 * Whether a refund can be sent to an address that a person typed: the checks that need no node.
 */
import type { OfflineKeys } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { DestinationCheck, DestinationFault } from '../database/refunds/refund.ts';

/** Says why an address cannot be paid, to follow the name of the field or the address. */
export const destinationFaults: Readonly<Record<DestinationFault, string>> = {
  malformed: 'is not an address of the network that the session was paid on',
  unspendable: 'is an address that nobody can have the key of',
  token_contract: 'is a token contract: money sent there is lost',
  own_address: 'is an address of this installation',
  network_unknown: 'cannot be read: the network that the session was paid on is no longer configured',
};

/** Returns the link where a payer names the address of a refund. */
export const claimUrl = (token: string, { checkoutUrl }: Pick<Config, 'checkoutUrl'>): string =>
  `${checkoutUrl}/refund/${token}`;

/** As long as the longest address key, in hex. */
const EXAMPLE_KEY = '8f3a61c2d94be057'.repeat(4);

type Networks = readonly Pick<Config['networks'][number], 'key' | 'family'>[];

/** Addresses without a known key: zero and the small numbers above it (system programs, 0x…dead), and all ones. */
const isBurn = (key: string): boolean => /^(0{32,}[0-9a-f]{0,4}|f+)$/.test(key);

/**
 * Creates the check for an installation's networks: the address is well-formed (with a valid checksum), it can have a
 * key, and it is not a token contract of the network. The database checks whether it is an address or a wallet of ours.
 */
export async function createDestinationCheck({ networks }: Pick<Config, 'networks'>): Promise<DestinationCheck> {
  const offline = new Map<string, OfflineKeys>();
  for (const { family } of networks) {
    const keys = await chains[family].offlineKeys?.();
    if (keys) offline.set(family, keys);
  }
  return (networkKey, text) => {
    const network = networks.find(({ key }) => key === networkKey);
    if (!network) return { kind: 'bad', why: 'network_unknown' };
    const { family, tokens } = network;
    const { parse } = chains[family].address;
    const key = parse(text.trim());
    if (key === null) return { kind: 'bad', why: 'malformed' };
    if (tokens.some(({ address }) => parse(address) === key)) return { kind: 'bad', why: 'token_contract' };
    if (isBurn(key) || offline.get(family)?.isSpendable(key) === false) return { kind: 'bad', why: 'unspendable' };
    return { kind: 'ok', family, key };
  };
}

/**
 * Returns what addresses of a network look like, without the middle: nobody can pay to it. An empty text for a network
 * that is not configured.
 */
export function exampleAddress({ networks }: Readonly<{ networks: Networks }>, networkKey: NetworkKey): string {
  const family = networks.find(({ key }) => key === networkKey)?.family;
  if (!family) return '';
  const { format, keyBytes } = chains[family].address;
  const text = format(EXAMPLE_KEY.slice(0, 2 * keyBytes));
  return `${text.slice(0, 6)}…${text.slice(-4)}`;
}

/** Returns the function that writes an address key as people read it; a key of an unknown network stays as it is. */
export const createAddressFormat =
  ({ networks }: Pick<Config, 'networks'>) =>
  (networkKey: NetworkKey, key: string): string => {
    const family = networks.find((one) => one.key === networkKey)?.family;
    return family ? chains[family].address.format(key) : key;
  };
