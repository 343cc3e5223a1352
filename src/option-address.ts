/**
 * The collection address of a payment option and the link to a wallet, in the words of the option's chain family.
 * @module
 */
import type { AddressCodec, Family } from './chains/chain.ts';
import { chains } from './chains/index.ts';
import { invariant } from './core/fault.ts';
import type { PaymentOption, Session } from './store/store.ts';

/** The address as a payer reads it. */
export function optionAddress(session: Session, { family }: PaymentOption): string {
  return codecOf(family).format(addressKey(session, family));
}

/**
 * The link that opens a wallet, or the payment page in one.
 * @param units what the wallet is to send, in the token's base units
 */
export function optionLink(session: Session, option: PaymentOption, units: bigint, pageUrl: string): string {
  const token = { symbol: option.currency, address: option.token, decimals: option.decimals };
  const key = addressKey(session, option.family);
  return codecOf(option.family).deepLink(token, option.chainId, key, units, pageUrl);
}

function addressKey({ id, addresses }: Session, family: string): string {
  const key = addresses[family];
  invariant(key !== undefined, `session ${id} has an address of every family it offers (${family})`);
  return key;
}

function codecOf(family: string): AddressCodec {
  invariant(Object.hasOwn(chains, family), `a session offers only known chain families, not ${family}`);
  return chains[family as Family].address;
}
