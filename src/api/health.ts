/**
 * `/livez`: the process answers. `/readyz`: it can do its work; if not, a load balancer sends nobody here.
 * @module
 */
import { z } from 'zod';
import { Fault } from '../core/fault.ts';
import { isFollowed } from '../database/network-health.ts';
import type { ApiDeps } from './endpoint.ts';

export const healthSchema = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    reasons: z
      .array(z.string())
      .optional()
      .meta({ description: 'What is missing: `draining`, `storage_unavailable`, `no_network_followed:<mode>`.' }),
  })
  .meta({ id: 'Health', example: { status: 'ok' } });

export type Health = z.infer<typeof healthSchema>;

/**
 * Says whether the server is ready: the database is writable, each configured mode has a followed network, and no stop
 * is under way.
 */
export async function readiness({
  database,
  config,
  clock,
  isDraining,
}: Pick<ApiDeps, 'database' | 'config' | 'clock' | 'isDraining'>): Promise<Health> {
  const reasons = isDraining?.() ? ['draining'] : [];
  try {
    await database.probe();
    const reports = await database.listNetworks();
    const nowMs = clock.nowMs();
    const followed = new Set(reports.filter((report) => isFollowed(report, nowMs)).map(({ network }) => network));
    for (const mode of new Set(config.networks.map((network) => network.mode))) {
      const isFollowed = config.networks.some((network) => network.mode === mode && followed.has(network.key));
      if (!isFollowed) reasons.push(`no_network_followed:${mode}`);
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    reasons.push('storage_unavailable');
  }
  return reasons.length === 0 ? { status: 'ok' } : { status: 'unavailable', reasons };
}
