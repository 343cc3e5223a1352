/**
 * Which payments a list shows: the filter in a page's address, as a form, and for the database.
 */
import type { NetworkConfig } from '../config/network.ts';
import type { SessionStatus } from '../core/event.ts';
import { currencies, nameOf } from '../core/transfer.ts';
import { type SessionFilter, sessionFlags } from '../database/session-lists.ts';
import { type Html, html } from '../lib/html.ts';
import { exponentOf } from '../rates/currencies.ts';
import { choice, chosenOf, dayFields, readDays } from './list-filter.ts';
import type { StoreAt } from './page.ts';
import type { Words } from './texts.ts';

const statuses: readonly SessionStatus[] = ['pending', 'paid', 'expired', 'canceled', 'failed'];

/** A filter. What an address says that is none of the choices, filters nothing and is left out. */
export type PaymentFilter = Readonly<{
  chosen: Readonly<Partial<Record<'status' | 'flag' | 'network' | 'token' | 'price' | 'from' | 'to', string>>>;
  sessions: SessionFilter;
}>;

type Networks = readonly Pick<NetworkConfig, 'key' | 'title' | 'mode' | 'tokens'>[];

/**
 * @param networks all of the installation; those of the mode can be chosen
 * @param zone the zone of the days that are asked for
 */
export function readFilter(at: StoreAt, query: URLSearchParams, networks: Networks, zone: string): PaymentFilter {
  const own = networks.filter(({ mode }) => mode === at.mode);
  const status = statuses.find((one) => one === query.get('status')) ?? null;
  const flag = sessionFlags.find((one) => one === query.get('flag')) ?? null;
  const priceIn = exponentOf(query.get('price') ?? '') === null ? null : query.get('price');
  const network = own.find(({ key }) => nameOf(key) === query.get('network')) ?? null;
  const token = currencies.find((one) => one === query.get('token')) ?? null;
  const { from, to, fromMs, toMs } = readDays(query, zone);
  const paidIn = (network ? [network] : own).flatMap(({ key, tokens }) =>
    tokens
      .filter(({ symbol }) => token === null || symbol === token)
      .map(({ symbol }) => ({ network: key, currency: symbol })),
  );
  const said = {
    status,
    flag,
    network: network && nameOf(network.key),
    token,
    price: priceIn,
    from,
    to,
  };
  return {
    chosen: chosenOf(said),
    sessions: {
      ...at,
      status,
      flag,
      priceIn,
      paidIn: network || token ? paidIn : null,
      fromMs,
      toMs,
    },
  };
}

/** Renders the fields of the filter. @param prices the currencies that the store's prices have */
export function filterFields(
  words: Words,
  { chosen }: PaymentFilter,
  at: StoreAt,
  { networks, prices }: Readonly<{ networks: Networks; prices: readonly string[] }>,
): Html {
  const own = networks.filter(({ mode }) => mode === at.mode);
  const choices = [
    {
      label: words.say('payments.status'),
      name: 'status',
      values: statuses.map((one) => [one, words.say(`general.status_${one}`)] as const),
    },
    {
      label: words.say('payments.flag'),
      name: 'flag',
      values: sessionFlags.map((one) => [one, words.say(`payments.flag_${one}`)] as const),
    },
    {
      label: words.say('payments.paid_on'),
      name: 'network',
      values: own.map(({ key, title }) => [nameOf(key), title, true] as const),
    },
    {
      label: words.say('payments.paid_in'),
      name: 'token',
      values: currencies.map((one) => [one, one, true] as const),
    },
    {
      label: words.say('payments.price_in'),
      name: 'price',
      values: prices.map((one) => [one, one, true] as const),
    },
  ] as const;
  return html`${choices.map((one) => choice(words, one, chosen[one.name]))}
${dayFields(words, chosen)}`;
}
