/**
 * Amounts that a payment received, with coins and networks. Amounts are at par, exact.
 */

import { shownMinor } from '../acts/refund-words.ts';
import type { EarlierRefund } from '../core/refund.ts';
import { sortOut, sumPar } from '../core/session.ts';
import { currencies, type NetworkKey } from '../core/transfer.ts';
import type { SessionSummary } from '../database/session.ts';
import { coins } from './show.ts';

type Came = Pick<SessionSummary, 'terms' | 'life' | 'standing' | 'sums'>;

type States = Parameters<typeof sumPar>[1];

/** Writes what several coins stand for: "USDT / USDC". */
export const coinNames = (symbols: readonly string[]): string => symbols.join(' / ');

/** Returns the sum of each coin of which something came. */
function partsOf({ terms, life, sums }: Omit<Came, 'standing'>, which: 'counted' | 'late', states: States) {
  const own = sortOut(terms, life, sums ?? [])[which];
  return currencies.flatMap((currency) => {
    const par = sumPar(
      own.filter((sum) => sum.currency === currency),
      states,
    );
    return par === 0n ? [] : [{ currency, par }];
  });
}

/**
 * Writes the sum of each coin, such as "10.50 USDT + 2.00 USDC"; null if there is none.
 * @param allPar what counts of it, which is less where held money was returned
 */
function text({ terms, life, sums }: Came, which: 'counted' | 'late', states: States, allPar: bigint): string | null {
  if (allPar === 0n) return null;
  const parts = partsOf({ terms, life, sums }, which, states);
  const isAll = parts.reduce((total, { par }) => total + par, 0n) === allPar;
  if (parts.length > 1 && isAll) return parts.map(({ currency, par }) => `${coins(par)} ${currency}`).join(' + ');
  return `${coins(allPar)} ${coinNames(parts.length > 0 ? parts.map(({ currency }) => currency) : terms.accepts)}`;
}

/** Returns what counts and is confirmed; null if nothing is. */
export const confirmedText = (session: Came): string | null =>
  text(session, 'counted', ['confirmed', 'final'], session.standing.confirmedPar);

/** Returns the coins of what counts and is confirmed. */
export function confirmedCoins(session: Came): readonly string[] {
  if (session.standing.confirmedPar === 0n) return [];
  const parts = partsOf(session, 'counted', ['confirmed', 'final']);
  return parts.length > 0 ? parts.map(({ currency }) => currency) : session.terms.accepts;
}

/** Returns what counts and is not confirmed yet; null if nothing is. */
export const seenText = (session: Came): string | null => text(session, 'counted', ['seen'], session.standing.seenPar);

/** Returns what came too late and does not count; null if nothing did. */
export const lateText = (session: Came): string | null =>
  text(session, 'late', ['seen', 'confirmed', 'final'], session.standing.latePar);

/** Returns the networks on which money came, counted or not. */
export const networksOf = ({ sums }: Pick<Came, 'sums'>): readonly NetworkKey[] => [
  ...new Set((sums ?? []).map(({ network }) => network)),
];

/** Writes what was paid back of a payment; empty if nothing was. @param write an amount in minor units */
export const refundedText = (refunds: readonly EarlierRefund[], write = shownMinor): string =>
  currencies
    .flatMap((currency) => {
      const own = refunds.filter((one) => one.currency === currency && one.status === 'completed');
      const minor = own.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
      return minor === 0n ? [] : [`${write(minor)} ${currency}`];
    })
    .join(' + ');
