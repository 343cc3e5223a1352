/**
 * How the dashboard's pages show amounts, what is on a chain, and states of payments.
 */
import type { NetworkConfig } from '../config/network.ts';
import { PAR_DECIMALS, shownUnits } from '../core/money.ts';
import { type NetworkKey, nameOf } from '../core/transfer.ts';
import type { SessionSummary } from '../database/session.ts';
import { type Html, html } from '../lib/html.ts';
import { priceText } from '../rates/currencies.ts';
import { badge, type Tone } from '../web/show.ts';
import type { Words } from './texts.ts';

/** The price of a session, in its own currency. */
export const price = ({ request }: Pick<SessionSummary, 'request'>): string =>
  priceText(request.amountMinor, request.currency);

/** A network by the name that payers read; by its own where it is not configured. */
export const networkTitle = (
  { networks }: Readonly<{ networks: readonly Pick<NetworkConfig, 'key' | 'title'>[] }>,
  network: NetworkKey,
): string => networks.find(({ key }) => key === network)?.title ?? nameOf(network);

/** An amount of stablecoins at par, exact. */
export const coins = (par: bigint): string => shownUnits(par, PAR_DECIMALS);

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
export const oddities = ({ life, standing }: Judged) => [
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
