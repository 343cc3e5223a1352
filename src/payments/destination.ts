/** Checks, without a node, whether a refund can be sent to a typed address. */
import type { OfflineKeys } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { DestinationCheck, DestinationFault } from '../database/refunds/refund.ts';

/** Phrases for the reasons why an address cannot be paid, which follow the name of the field or the address. */
export const destinationFaults: Readonly<Record<DestinationFault, string>> = {
  malformed: 'is not an address of the network that the session was paid on',
  unspendable: 'is an address that cannot have a key',
  token_contract: 'is a token contract: money sent there is lost',
  own_address: 'is an address of this installation',
  network_unknown: 'cannot be read: the network that the session was paid on is no longer configured',
};

/** Returns the link where a payer names the address of a refund. */
export const claimUrl = (token: string, { checkoutUrl }: Pick<Config, 'checkoutUrl'>): string =>
  `${checkoutUrl}/refund/${token}`;

/** An example that is as long as the longest address key, in hex. */
const EXAMPLE_KEY = '8f3a61c2d94be057'.repeat(4);

type Networks = readonly Pick<Config['networks'][number], 'key' | 'family'>[];

/** Returns whether no key of an address is known: zero and small numbers (system programs, 0x…dead), and all ones. */
const isBurn = (key: string): boolean => /^(0{32,}[0-9a-f]{0,4}|f+)$/.test(key);

/**
 * Creates the check for an installation's networks. An address must be well-formed (with a valid checksum), be able to
 * have a key, and be no token contract of the network. The database checks that it is no address or wallet of ours.
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
 * Returns an example of a network's addresses without its middle, so that nobody can pay to it. Returns an empty text
 * for a network that is not configured.
 */
export function exampleAddress({ networks }: Readonly<{ networks: Networks }>, networkKey: NetworkKey): string {
  const family = networks.find(({ key }) => key === networkKey)?.family;
  if (!family) return '';
  const { format, keyBytes } = chains[family].address;
  const text = format(EXAMPLE_KEY.slice(0, 2 * keyBytes));
  return `${text.slice(0, 6)}…${text.slice(-4)}`;
}

/** Returns the function that formats an address key for people. A key of an unknown network stays as it is. */
export const createAddressFormat =
  ({ networks }: Pick<Config, 'networks'>) =>
  (networkKey: NetworkKey, key: string): string => {
    const family = networks.find((one) => one.key === networkKey)?.family;
    return family ? chains[family].address.format(key) : key;
  };
