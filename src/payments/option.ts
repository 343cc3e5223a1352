/**
 * A payment option in its chain family's format: the deposit address, links to wallets, and the transfer for a wallet.
 */
import type { Chain, Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { WalletLink, WalletNetwork, WalletRequest, Wallets } from '../chains/wallet.ts';
import type { BlockRef } from '../core/block.ts';
import { invariant } from '../core/fault.ts';
import type { PaymentOption } from '../database/column-values.ts';
import type { Session } from '../database/session.ts';

/** Returns the name of a payment option in URLs of the payment page. */
export const optionName = ({ network, currency }: Pick<PaymentOption, 'network' | 'currency'>): string =>
  `${network}-${currency}`;

/** Returns the address in its readable format. */
export function optionAddress(session: Session, { family }: PaymentOption): string {
  return chainOf(family).address.format(addressKey(session, family));
}

/**
 * Returns the family's own link for wallets: to the transfer, or to the payment page.
 * @param units the amount to send, in the token's base units
 * @param pageUrl the session's payment page
 */
export function optionLink(session: Session, option: PaymentOption, units: bigint, pageUrl: string): string {
  const { token, chainId, to, pageUrl: url } = paymentOf(session, option, units, pageUrl);
  return chainOf(option.family).address.deepLink(token, chainId, to, units, url);
}

/** Returns links for wallets' own apps that work on the option's network. The parameters are those of `optionLink`. */
export const walletLinks = (
  network: WalletNetwork,
  session: Session,
  option: PaymentOption,
  units: bigint,
  pageUrl: string,
): readonly WalletLink[] =>
  chainOf(option.family).wallets.links({ network, ...paymentOf(session, option, units, pageUrl) });

/**
 * Returns the wallets that read `optionLink` as a QR code correctly, and those that do not; null when it contains no
 * transfer.
 */
export const walletCode = ({ family }: Pick<PaymentOption, 'family'>): Wallets['code'] => chainOf(family).wallets.code;

/**
 * Returns the transfer for a wallet in the payer's browser.
 * @param from the payer's address in that wallet
 * @param newest the newest block of the option's network
 * @returns null when nothing can be sent from that address
 */
export function walletTransfer(
  network: WalletNetwork,
  session: Session,
  option: PaymentOption,
  units: bigint,
  from: string,
  newest: Pick<BlockRef, 'hash'>,
): Promise<Readonly<Record<string, unknown>> | null> {
  return chainOf(option.family).wallets.transfer({ network, ...paymentOf(session, option, units, '') }, from, newest);
}

const paymentOf = (
  session: Session,
  option: PaymentOption,
  units: bigint,
  pageUrl: string,
): Omit<WalletRequest, 'network'> => ({
  token: { symbol: option.currency, address: option.token, decimals: option.decimals },
  chainId: option.chainId,
  to: addressKey(session, option.family),
  units,
  pageUrl: `${pageUrl}?pay=${optionName(option)}`,
});

function addressKey({ id, addresses }: Session, family: string): string {
  const key = addresses[family];
  invariant(key !== undefined, `session ${id} has an address of every family it offers (${family})`);
  return key;
}

function chainOf(family: string): Chain {
  invariant(Object.hasOwn(chains, family), `a session offers only known chain families, not ${family}`);
  return chains[family as Family];
}
