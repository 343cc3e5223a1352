/**
 * The text of the search box: recognised by its form, then looked up exactly. Anything that is nothing
 * else is an order id or its beginning.
 */
import { transactionsNamed } from '../acts/networks.ts';
import { chains } from '../chains/index.ts';
import type { NetworkConfig } from '../config/network.ts';
import type { SessionSearch, SessionSummary } from '../database/session.ts';
import { parseSessionId } from '../lib/id.ts';
import type { DashboardDeps } from './deps.ts';
import { pathIn, type StoreAt } from './page.ts';

/** As long as the longest order id and refund id; addresses and transactions are shorter. */
export const SEARCHED_CHARS_MAX = 128;

/** Returns the searches that fit a text, the surest first; a session's id is one of its own. */
function readSearch(
  text: string,
  networks: readonly Pick<NetworkConfig, 'family'>[],
): readonly (SessionSearch | Readonly<{ kind: 'session'; id: string }>)[] {
  const pasted = text.trim().slice(0, SEARCHED_CHARS_MAX);
  if (pasted === '') return [];
  const id = parseSessionId(pasted);
  const spellings = transactionsNamed(pasted);
  const families = [...new Set(networks.map(({ family }) => family))];
  return [
    ...(id === null ? [] : [{ kind: 'session', id } as const]),
    ...(spellings.length === 0 ? [] : [{ kind: 'transaction', spellings } as const]),
    ...families.flatMap((family) => {
      const key = chains[family].address.parse(pasted);
      return key === null ? [] : [{ kind: 'address', family, key } as const];
    }),
    { kind: 'order', orderId: pasted },
  ];
}

const FOUND_MAX = 50;

/** Returns the payments of a store and mode that a text names, the surest first. */
export async function findPayments(
  { database, config }: DashboardDeps,
  at: StoreAt,
  text: string,
): Promise<readonly SessionSummary[]> {
  const found = new Map<string, SessionSummary>();
  for (const one of readSearch(text, config.networks)) {
    if (one.kind === 'session') {
      const session = await database.sessions.find(one.id);
      if (session && session.storeId === at.storeId && session.mode === at.mode) return [session];
    } else {
      const some = await database.sessions.search(one, { ...at, limit: FOUND_MAX });
      for (const session of some) found.set(session.id, session);
      if (some.length > 0) break;
    }
  }
  return [...found.values()].slice(0, FOUND_MAX);
}

/** A page of something that was found besides payments, by its whole name. */
type Place = Readonly<{ kind: 'refund' | 'event'; name: string; href: string }>;

/** Returns the refund and the payment of the event that a text names in a store and mode. */
export async function findPlaces({ database }: DashboardDeps, at: StoreAt, text: string): Promise<readonly Place[]> {
  const name = text.trim().slice(0, SEARCHED_CHARS_MAX);
  const places: Place[] = [];
  const refund = await database.refunds.findNamed(at, name, transactionsNamed(name));
  if (refund) places.push({ kind: 'refund', name: refund.refundId, href: pathIn(at, `refunds/${refund.id}`) });
  const event = name.startsWith('evt_') ? await database.events.find(name) : null;
  if (event?.storeId === at.storeId && event.mode === at.mode) {
    places.push({ kind: 'event', name: event.id, href: pathIn(at, `payments/${event.sessionId}`) });
  }
  return places;
}
