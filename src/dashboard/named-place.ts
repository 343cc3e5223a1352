/**
 * What the search box finds besides payments: a refund, an event's delivery; each by its whole name.
 */
import { isAllowed, type StorePermission } from '../core/access.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt, Visit } from './page.ts';
import { webhooksPath } from './pages/webhooks.ts';
import { refundsPath } from './refund-text.ts';
import { SEARCHED_CHARS_MAX, transactionSpellings } from './search.ts';

/** A page of something that was found. */
export type Place = Readonly<{ kind: 'refund' | 'event'; name: string; href: string }>;

/** More deliveries of one event than a store has endpoints are not looked for. */
const DELIVERIES_READ = 100;

/** Returns what a text names in a store and mode, as far as this visitor may see it. */
export async function findPlaces(
  { database }: DashboardDeps,
  { visitor }: Pick<Visit<StoreAt>, 'visitor'>,
  at: StoreAt,
  text: string,
): Promise<readonly Place[]> {
  const name = text.trim().slice(0, SEARCHED_CHARS_MAX);
  const may = (permission: StorePermission) => isAllowed(visitor.person.memberships, { permission, ...at });
  const places: Place[] = [];
  const refund = await database.refunds.findNamed(at, name, transactionSpellings(name));
  if (refund) places.push({ kind: 'refund', name: refund.refundId, href: `${refundsPath(at)}/${refund.id}` });
  const event = name.startsWith('evt_') ? await database.events.find(name) : null;
  if (event?.storeId === at.storeId && event.mode === at.mode) {
    const { id, sessionId } = event;
    const all = may('webhooks:read') ? await database.deliveries.list({ sessionId, limit: DELIVERIES_READ }) : [];
    const [delivery, ...others] = all.filter(({ eventId }) => eventId === id);
    // Of several deliveries, the payment's page shows which endpoint took it.
    const payment = `/s/${at.storeId}/${at.mode}/payments/${sessionId}`;
    const href = delivery && others.length === 0 ? `${webhooksPath(at)}/deliveries/${delivery.id}` : payment;
    places.push({ kind: 'event', name: id, href });
  }
  return places;
}
