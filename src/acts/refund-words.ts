/** Words of acts that pay something back: amounts, and why an address or an amount is refused. */
import type { NetworkConfig } from '../config/network.ts';
import { formatUnits, MINOR_DECIMALS, shownUnits } from '../core/money.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { DestinationFault, Refund } from '../database/refunds/refund.ts';
import { exampleAddress } from '../payments/destination.ts';
import { type Refusal, refuse, type Sentence, say } from './act.ts';

/** Returns an amount as it is typed. */
export const minorText = (minor: bigint): string => formatUnits(minor, MINOR_DECIMALS, MINOR_DECIMALS);

/** Returns an amount as it is read. */
export const shownMinor = (minor: bigint): string => shownUnits(minor, MINOR_DECIMALS);

export const amountText = ({ amountMinor, currency }: Pick<Refund, 'amountMinor' | 'currency'>): string =>
  `${shownMinor(amountMinor)} ${currency}`;

type Networks = readonly Pick<NetworkConfig, 'key' | 'family' | 'title'>[];

/** Returns a network's name as payers read it; its key where it is not configured. */
export const titleOf = (networks: readonly Pick<NetworkConfig, 'key' | 'title'>[], network: NetworkKey): string =>
  networks.find(({ key }) => key === network)?.title ?? network;

export const ADDRESS_CHARS_MAX = 128;

/** Reads an address as people type it; whether it is one of the network is checked later. */
export const readAddress = (text: string): string | Sentence =>
  text !== '' && text.length <= ADDRESS_CHARS_MAX ? text : say('Name an address.');

/** Returns what is wrong with an address. */
export function addressFault(networks: Networks, network: NetworkKey, why: DestinationFault): Sentence {
  switch (why) {
    case 'malformed':
      return say('This is not an address of the network that the session was paid on. It looks like {example}.', {
        example: exampleAddress({ networks }, network),
      });
    case 'unspendable':
      return say('The address is one that nobody can have the key of.');
    case 'token_contract':
      return say('The address is a token contract: money sent there is lost.');
    case 'own_address':
      return say('The address belongs to this installation.');
    case 'network_unknown':
      return say('The address cannot be read: the network that the session was paid on is no longer configured.');
  }
}

export const storeSuspended: Refusal = refuse(
  'refused',
  say('The store is suspended and makes no refunds. Ask the operator of this installation.'),
);

/** @param dayLeftMinor what the store may still refund today; null if that is not known */
export const aboveDailyLimit = (dayLeftMinor: bigint | null): Refusal =>
  refuse(
    'refused',
    say('That is above what the store may still refund today: {today}. Try again tomorrow, or refund less.', {
      today: dayLeftMinor === null ? '–' : shownMinor(dayLeftMinor),
    }),
  );
