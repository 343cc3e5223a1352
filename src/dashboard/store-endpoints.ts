/** Endpoints that pages show: a store's own, and those to which deliveries went. */
import type { Delivery } from '../database/deliveries.ts';
import type { Endpoint } from '../database/endpoints.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt, Visit } from './page.ts';

/** Sorts behind every id. */
const BEHIND_ALL = '~';

type Reads = Pick<DashboardDeps['database'], 'endpoints'>;

/** Returns a store's endpoints in one mode, oldest first, without those that single sessions named. */
export const storeEndpoints = (database: Reads, at: StoreAt, limit: number): Promise<readonly Endpoint[]> =>
  database.endpoints.page({ ...at, fromId: '', beforeId: BEHIND_ALL, first: 'oldest', limit });

/** Returns the endpoints of deliveries, removed ones and those that single sessions named too. */
export async function endpointsOf(database: Reads, deliveries: readonly Delivery[]): Promise<Endpoint[]> {
  const ids = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const found = await Promise.all(ids.map((id) => database.endpoints.find(id)));
  return found.filter((endpoint) => endpoint !== null);
}

/** Returns the endpoint that the path names; null where the store has none by that id in this mode. */
export async function findEndpoint(
  { database }: Readonly<{ database: Reads }>,
  visit: Visit<StoreAt>,
): Promise<Endpoint | null> {
  const { at, params } = visit;
  const id = params.endpoint ?? '';
  const [found] = await database.endpoints.page({
    ...at,
    fromId: id,
    beforeId: `${id}\u0000`,
    first: 'oldest',
    limit: 1,
  });
  return found ?? null;
}
