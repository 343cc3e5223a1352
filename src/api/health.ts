/**
 * `/livez`: the process answers. `/readyz`: it can do its work; if not, a load balancer sends nobody here.
 */
import { Fault } from '../core/fault.ts';
import { whyUnfollowed } from '../database/networks.ts';
import type { ApiDeps } from './endpoint.ts';

/** `reasons`: `draining`, `storage_unavailable`, `no_network_followed:<mode>`. */
type Health = Readonly<{
  status: 'ok' | 'unavailable';
  reasons?: readonly string[];
  networks_not_followed?: readonly Readonly<{ network: string; reason: string }>[];
}>;

/**
 * Says whether the server is ready: the database is writable, each configured mode has a followed network, and no stop
 * is under way. Names every network that is not followed, also while the server is ready.
 */
export async function readiness({
  database,
  config,
  clock,
  isDraining,
}: Pick<ApiDeps, 'database' | 'config' | 'clock' | 'isDraining'>): Promise<Health> {
  const reasons = isDraining?.() ? ['draining'] : [];
  const unfollowed: { network: string; reason: string }[] = [];
  try {
    await database.probe();
    const reports = await database.networks.list();
    const nowMs = clock.nowMs();
    for (const { key } of config.networks) {
      const why = whyUnfollowed(reports.find((one) => one.key === key) ?? null, nowMs);
      if (why) unfollowed.push({ network: key, reason: why.code });
    }
    for (const mode of new Set(config.networks.map((network) => network.mode))) {
      const own = config.networks.filter((network) => network.mode === mode);
      if (own.every(({ key }) => unfollowed.some(({ network }) => network === key))) {
        reasons.push(`no_network_followed:${mode}`);
      }
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    reasons.push('storage_unavailable');
  }
  return {
    ...(reasons.length === 0 ? { status: 'ok' } : { status: 'unavailable', reasons }),
    ...(unfollowed.length > 0 && { networks_not_followed: unfollowed }),
  };
}
