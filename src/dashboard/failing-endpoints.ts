/** Endpoints that accept nothing now. */
import type { DashboardDeps } from './deps.ts';

/** Since when each endpoint that is on has accepted nothing although it was tried, by id. */
export async function failingEndpoints(
  database: DashboardDeps['database'],
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const { failing } = await database.deliveries.trouble(nowMs, nowMs);
  return new Map(failing.map(({ id, sinceMs }) => [id, sinceMs]));
}
