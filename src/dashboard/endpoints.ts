/** Endpoints that pages show: a store's own, and those to which deliveries went. */

import type { Endpoint } from '../database/endpoints.ts';
import type { Delivery } from '../database/events.ts';
import type { Html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt } from './page.ts';
import { badge, type Tone, time } from './show.ts';
import type { Words } from './texts.ts';

/** Sorts behind every id. */
const BEHIND_ALL = '~';

type Reads = Pick<DashboardDeps['database'], 'endpoints'>;

/** Returns a store's endpoints in one mode, oldest first, without those that single sessions named. */
export const storeEndpoints = ({ endpoints }: Reads, at: StoreAt, limit: number): Promise<readonly Endpoint[]> =>
  endpoints.page({ ...at, fromId: '', beforeId: BEHIND_ALL, first: 'oldest', limit });

/** Returns one of them; null where the store has none by that id in this mode. */
export async function findEndpoint({ endpoints }: Reads, at: StoreAt, id: string): Promise<Endpoint | null> {
  const one = { fromId: id, beforeId: `${id}\u0000`, first: 'oldest', limit: 1 } as const;
  return (await endpoints.page({ ...at, ...one }))[0] ?? null;
}

/** Returns the URL of each endpoint of deliveries, by id: also of removed ones, and of those that sessions named. */
export async function urlsOf({ endpoints }: Reads, deliveries: readonly Delivery[]) {
  const ids = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const found = await Promise.all(ids.map((id) => endpoints.find(id)));
  return new Map(found.flatMap((one) => (one ? [[one.id, one.url] as const] : [])));
}

/** Returns since when each endpoint that is on has accepted nothing although it was tried, by id. */
export async function failingEndpoints(
  { deliveries }: Pick<DashboardDeps['database'], 'deliveries'>,
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const { failing } = await deliveries.trouble(nowMs, nowMs);
  return new Map(failing.map(({ id, sinceMs }) => [id, sinceMs]));
}

/** Says that nothing is accepted, and since when. */
export const failingText = (words: Words, sinceMs: number): Html =>
  words.html('{state} nothing accepted since {time}', {
    state: badge(words.say('failing'), 'danger'),
    time: time(sinceMs),
  });

const tones: Readonly<Record<Delivery['state'], Tone>> = { delivered: 'good', waiting: 'wait', failed: 'danger' };

/** Shows the state of a delivery. What waits after a try that failed is no quiet waiting. */
export const deliveryState = (words: Words, { state, attempts }: Pick<Delivery, 'state' | 'attempts'>): Html =>
  state === 'waiting' && attempts > 0
    ? badge(words.say('failed, tried again'), 'attention')
    : badge(words.say(`general.delivery_${state}`), tones[state]);
