/**
 * News: what is told to people that is no alarm, and how it is said. Nothing secret is in it: of a key, its hint.
 * @module
 */
import { plainLine } from './excerpt.ts';
import type { Mode } from './transfer.ts';

/**
 * A change of who may do what. `person`: who was added. `hint`: the part of an API key by which people recognize it.
 * `by`: who did it.
 */
type AccessNews =
  | Readonly<{ kind: 'member_added'; store: string; person: string; role: string; by: string }>
  | Readonly<{ kind: 'operator_added'; person: string; by: string }>
  | Readonly<{ kind: 'key_made' | 'key_revoked'; store: string; hint: string; by: string }>;

/** A session that became paid. `received`: an amount as people read it; null if nothing that counts came. */
export type PaymentNews = Readonly<{
  kind: 'payment';
  store: string;
  mode: Mode;
  session: string;
  order: string;
  received: string | null;
}>;

export type News = AccessNews | PaymentNews;
export type NewsKind = News['kind'];

/** So much news of one kind waits at a target with its facts; the rest is only counted. */
export const NEWS_WAITING_MAX = 20;

/** How much news of each kind there was. */
export type NewsTally = Readonly<Partial<Record<NewsKind, number>>>;

const FOREIGN_UNITS_MAX = 64;

/** Returns what others typed, short, on one line, and with nothing that a service reads as a mention. */
const foreign = (text: string): string => plainLine(text, FOREIGN_UNITS_MAX).replaceAll('@', '\uff20');

const several: Readonly<Record<NewsKind, (count: number) => string>> = {
  member_added: (count) => (count === 1 ? '1 new member' : `${count} new members`),
  operator_added: (count) => (count === 1 ? '1 new operator' : `${count} new operators`),
  key_made: (count) => (count === 1 ? '1 API key made' : `${count} API keys made`),
  key_revoked: (count) => (count === 1 ? '1 API key revoked' : `${count} API keys revoked`),
  payment: (count) => (count === 1 ? '1 payment' : `${count} payments`),
};

/** Returns how much there was, such as "3 new members". */
export const countedNews = (kind: NewsKind, count: number): string => several[kind](count);

/** Returns one line of a digest for all kinds; null if there was none. */
export function tallyLine(tally: NewsTally): string | null {
  const parts = (Object.keys(several) as NewsKind[]).flatMap((kind) => {
    const count = tally[kind] ?? 0;
    return count === 0 ? [] : [countedNews(kind, count)];
  });
  return parts.length === 0 ? null : `Since the last digest: ${parts.join(', ')}.`;
}

/** Returns what happened, without amounts and orders. */
export function newsLine(news: News): string {
  switch (news.kind) {
    case 'member_added':
      return `New member of ${foreign(news.store)}: ${foreign(news.person)} (${news.role}), by ${foreign(news.by)}`;
    case 'operator_added':
      return `New operator of the installation: ${foreign(news.person)}, by ${foreign(news.by)}`;
    case 'key_made':
      return `API key ${news.hint} of ${foreign(news.store)} was made by ${foreign(news.by)}`;
    case 'key_revoked':
      return `API key ${news.hint} of ${foreign(news.store)} was revoked by ${foreign(news.by)}`;
    case 'payment':
      return `${news.mode === 'test' ? 'Test payment' : 'Payment'} in ${foreign(news.store)}`;
  }
}

/** Returns what is only said where amounts and orders may be named; null if there is nothing more. */
export function newsDetail(news: News): string | null {
  if (news.kind !== 'payment') return null;
  return `${news.received ?? 'nothing received'}, order ${foreign(news.order)}, ${news.session}`;
}
