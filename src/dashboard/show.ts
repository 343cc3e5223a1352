/** How the dashboard's pages show amounts that are asked and received, what is on a chain, and states of payments. */

import { coins } from '../acts/held.ts';
import { shownMinor } from '../acts/refund-words.ts';
import type { NetworkConfig } from '../config/network.ts';
import type { EarlierRefund } from '../core/refund.ts';
import { sortOut, sumPar } from '../core/session.ts';
import { currencies, type NetworkKey } from '../core/transfer.ts';
import type { SessionSummary } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { priceText } from '../rates/currencies.ts';
import { badge, type Tone } from '../web/show.ts';
import type { Words } from './texts.ts';

/** The price of a session, in its own currency. */
export const price = ({ request }: Pick<SessionSummary, 'request'>): string =>
  priceText(request.amountMinor, request.currency);

/** A hash or an address of a network. */
type Named = Readonly<{ network: NetworkKey; kind: 'tx' | 'address'; text: string }>;

type Explorers = Readonly<{
  config: Readonly<{ networks: readonly Pick<NetworkConfig, 'key' | 'explorer' | 'addressExplorer'>[] }>;
  words: Words;
}>;

/**
 * Links to a block explorer's page of it, as the network's settings name it; null if they name none. The explorer is
 * told nothing of this page, and nothing is asked of it: a person follows the link, or does not.
 */
export function explorerOf({ config, words }: Explorers, { network, kind, text }: Named): Html | null {
  const known = config.networks.find(({ key }) => key === network);
  const page = kind === 'tx' ? known?.explorer : known?.addressExplorer;
  if (page === undefined) return null;
  const href = page.replace(`{${kind}}`, () => encodeURIComponent(text));
  return html` <a class="explorer" href="${href}" target="_blank" rel="noopener noreferrer" aria-label="${words.say('In a block explorer: {text}', { text })}"><svg viewBox="0 0 10 10" aria-hidden="true"><path d="M2 8l6-6M3 2h5v5"/></svg></a>`;
}

/** Shows it by both ends, or whole: with a button that copies it, where scripts run, and a link to an explorer. */
export function shownOnChain(explorers: Explorers, named: Named, how: 'short' | 'whole' = 'short'): Html {
  const { text } = named;
  const ends = how === 'short' && text.length > 16 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
  return html`<span class="on-chain"><code title="${text}" data-copy>${ends}</code>${explorerOf(explorers, named)}</span>`;
}

const sessionTones = {
  paid: 'good',
  pending: 'wait',
  expired: 'wait',
  canceled: 'wait',
  failed: 'danger',
} as const satisfies Record<string, Tone>;

type Judged = Pick<SessionSummary, 'life' | 'standing'>;

/** Returns what is odd about a session. */
const oddities = ({ life, standing }: Judged) => [
  ...(life.paidLate ? (['paid_late'] as const) : []),
  ...(standing.late && !life.paidLate ? (['late_money'] as const) : []),
  ...(standing.funded === 'over' ? (['too_much'] as const) : []),
  ...(standing.funded === 'part' ? (['too_little'] as const) : []),
];

/** Shows a session's status, and what is odd about it. */
export function sessionState(words: Words, { life, standing }: Judged): Html {
  const status = words.say(`general.status_${life.status}`);
  return html`${badge(status, sessionTones[life.status])}${oddities({ life, standing }).map((odd) => html` ${badge(words.say(`general.odd_${odd}`), 'attention')}`)}`;
}

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

/** Returns what counts and is not confirmed yet; null if nothing is. */
export const seenText = (session: Came): string | null => text(session, 'counted', ['seen'], session.standing.seenPar);

/** Returns what came too late and does not count; null if nothing did. */
export const lateText = (session: Came): string | null =>
  text(session, 'late', ['seen', 'confirmed', 'final'], session.standing.latePar);

/** Returns the networks on which money came, counted or not. */
export const networksOf = ({ sums }: Pick<Came, 'sums'>): readonly NetworkKey[] => [
  ...new Set((sums ?? []).map(({ network }) => network)),
];

/** Writes what was paid back of a payment; empty if nothing was. */
export const refundedText = (refunds: readonly EarlierRefund[]): string =>
  currencies
    .flatMap((currency) => {
      const own = refunds.filter((one) => one.currency === currency && one.status === 'completed');
      const minor = own.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
      return minor === 0n ? [] : [`${shownMinor(minor)} ${currency}`];
    })
    .join(' + ');
