/** Due times of endpoints: that of the first delivery that nobody sends, but not during the endpoint's pause. */
import type { Db } from './engine/open.ts';

/** Brings an endpoint up to date with its deliveries. To be called within a transaction. */
export type RefreshDue = (endpointId: string) => Promise<void>;

export function createRefreshDue({ client }: Pick<Db, 'client'>): RefreshDue {
  const refresh = client.prepare(
    `UPDATE endpoints SET due_at_ms = CASE WHEN disabled_at_ms IS NULL AND removed = 0 THEN (
       SELECT CASE WHEN d.due_at_ms > endpoints.paused_until_ms THEN d.due_at_ms ELSE endpoints.paused_until_ms END
       FROM deliveries AS d
       WHERE d.endpoint_id = endpoints.id AND d.due_at_ms IS NOT NULL AND d.lease_until_ms IS NULL
       ORDER BY d.due_at_ms LIMIT 1) END
     WHERE id = :endpointId`,
  );
  return async (endpointId) => {
    await refresh.run({ endpointId });
  };
}

/** Refreshes each of the endpoints once. */
export async function refreshEach(
  refreshDue: RefreshDue,
  of: readonly Readonly<{ endpointId: string }>[],
): Promise<void> {
  for (const endpointId of new Set(of.map((one) => one.endpointId))) await refreshDue(endpointId);
}
