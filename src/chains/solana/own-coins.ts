/**
 * The lamports that left our own wallets in a transaction, read from balances as tokens are.
 */
import { type Fields, isFields } from '../../core/fields.ts';
import type { ChainTransfer } from '../../core/transfer.ts';
import type { Watched } from '../chain.ts';
import { NOBODY, solanaAddress } from './address.ts';

/** Lamports that left one of our wallets. `place`: of the account in the transaction that makes them unique there. */
export type CoinTransfer = Omit<ChainTransfer, 'tx' | 'index'> & Readonly<{ place: number }>;

/** The lamports of a transaction. `ownAt`: the key of an account that is one of our wallets. */
type Coins = Readonly<{
  accounts: number;
  ownAt(place: number): string | undefined;
  keyAt(place: number): string | null;
  gainedAt(place: number): number;
}>;

/** The lamports of a transaction for which one of our wallets paid. */
type OwnSpend = Coins & Readonly<{ from: string }>;

/**
 * Returns null if there are no wallets of ours. They hold less than 2^53 lamports, so none of their numbers is rounded.
 * @param own our wallets by the text of their addresses
 */
export function readOwnCoins(
  own: ReadonlyMap<string, string>,
  { preBalances, postBalances }: Fields,
  transaction: unknown,
): Coins | null {
  const { accountKeys } = isFields(transaction) ? transaction : {};
  if (own.size === 0 || !Array.isArray(accountKeys) || !Array.isArray(preBalances) || !Array.isArray(postBalances))
    return null;
  const textAt = (place: number): string => {
    const account: unknown = accountKeys[place];
    return isFields(account) ? String(account.pubkey) : '';
  };
  return {
    accounts: accountKeys.length,
    ownAt: (place) => own.get(textAt(place)),
    keyAt: (place) => solanaAddress.parse(textAt(place)),
    gainedAt: (place) => Number(postBalances[place]) - Number(preBalances[place]),
  };
}

/** Returns null if none of our wallets paid the fee. */
export function readOwnSpend(coins: Coins): OwnSpend | null {
  const from = coins.ownAt(0);
  return from === undefined ? null : { ...coins, from };
}

const placesOf = ({ accounts }: Coins): number[] => Array.from({ length: accounts }, (_, place) => place);

/** Returns the lamports that our wallet sent to others of ours, with the places of their accounts. */
export function coinsMoved(spend: OwnSpend): CoinTransfer[] {
  const { from, ownAt, gainedAt } = spend;
  return placesOf(spend).flatMap((place) => {
    const to = place === 0 ? undefined : ownAt(place);
    const gained = gainedAt(place);
    if (to === undefined || !Number.isSafeInteger(gained) || gained <= 0) return [];
    return [{ place, currency: 'native', from, to, units: BigInt(gained), isOutgoing: true }];
  });
}

/**
 * Returns the lamports that our wallet spent on a transaction in which a watched address lost tokens: the fee
 * of a sweep, and whatever else left the wallet in it. Null if there are none.
 * @param lost owners of the tokens
 */
export function spentOn(
  { watched }: Readonly<{ watched: Watched }>,
  spend: OwnSpend,
  lost: readonly string[],
): CoinTransfer | null {
  const to = lost.map((owner) => solanaAddress.parse(owner)).find((key) => key !== null && watched(key));
  return to == null ? null : lostBy(spend, to);
}

/** Returns the lamports that have left our wallet in a transaction, as sent to an address; null if there are none. */
export const lostBy = (spend: OwnSpend, to: string): CoinTransfer | null => lostAt(spend, 0, to);

function lostAt({ ownAt, gainedAt }: Coins, place: number, to: string): CoinTransfer | null {
  const from = ownAt(place);
  const spent = -gainedAt(place);
  if (from === undefined || !Number.isSafeInteger(spent) || spent <= 0) return null;
  return { place, currency: 'native', from, to, units: BigInt(spent), isOutgoing: true };
}

/**
 * Returns the lamports that each of our wallets lost in a transaction, the fee included, as sent to the account that
 * gained most: nobody, if none did.
 */
export function coinsGone(coins: Coins): CoinTransfer[] {
  let [payee, gain] = [NOBODY, 0];
  for (const place of placesOf(coins)) {
    const gained = coins.gainedAt(place);
    if (gained > gain) [payee, gain] = [coins.keyAt(place) ?? NOBODY, gained];
  }
  return placesOf(coins).flatMap((place) => lostAt(coins, place, payee) ?? []);
}
