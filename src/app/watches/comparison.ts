/** Watches whether final blocks are compared with the database at night: the program for it may fail each time. */
import type { Config } from '../../config/config.ts';
import type { Blocks } from '../../database/database.ts';
import type { Watch } from './watchdog.ts';

/** When the supervisor starts it, in UTC. Simulated chains are not compared. */
export const COMPARISON_TIME = '02:15';
/** Two nights, and an hour for the second to finish. */
const AGE_MS_MAX = 49 * 3_600_000;

export function watchComparison(blocks: Blocks, { networks, sandbox }: Pick<Config, 'networks' | 'sandbox'>): Watch {
  let sinceMs: number | null = null;
  return {
    what: 'the comparison of blocks',
    scopes: ['nightly'],
    async look(nowMs) {
      sinceMs ??= nowMs;
      if (sandbox) return [];
      const compared = new Map((await blocks.listComparisons()).map((one) => [one.network, one.comparedAtMs]));
      return networks.flatMap(({ key }) => {
        const atMs = compared.get(key);
        // Without one, the first night may be yet to come.
        if (nowMs - (atMs ?? sinceMs ?? nowMs) <= AGE_MS_MAX) return [];
        const last = atMs === undefined ? 'never' : `last on ${new Date(atMs).toISOString()}`;
        const message = `final blocks of ${key} were not compared with the database for two nights (${last})`;
        return [{ rule: 'comparison_stale', subject: key, network: key, message }];
      });
    },
  };
}
