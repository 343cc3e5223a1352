/**
 * Watches this machine's clock: it is wrong if the newest block of every network that is read to its head is off in the
 * same direction. One chain's clock alone may be.
 */
import type { NetworkConfig } from '../../config/network.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Database } from '../../database/database.ts';
import { isSilent, type NetworkStatus } from '../../database/networks.ts';
import type { Watch } from './watchdog.ts';

/** Our clock and a chain's may differ by this much, and by some block times, before anything is said. */
const SKEW_S_MAX = 60;
const SKEW_BLOCKS = 5;
/** How long a block says something about our clock. */
const EVIDENCE_MS_MAX = 300_000;

type Watched = Pick<NetworkConfig, 'key' | 'blockTimeMs'>;
/** By how many seconds our clock was ahead when a new block was first seen; null if it may have come earlier. */
type Tip = Readonly<{ number: number; aheadS: number | null; atMs: number }>;

export function watchClock(database: Database, networks: readonly Watched[]): Watch {
  const tips = new Map<NetworkKey, Tip>();

  /** Returns by how many seconds our clock is ahead of the network's, 0 if not by much, null if nothing shows it. */
  function aheadOf({ key, blockTimeMs }: Watched, report: NetworkStatus, nowMs: number): number | null {
    const { cursor, headNumber } = report;
    if (!cursor || headNumber === null || isSilent(report, nowMs)) return null;
    let tip = tips.get(key);
    if (tip?.number !== cursor.number) {
      // While blocks are caught up with, their age says nothing.
      const isNew = tip !== undefined && headNumber - cursor.number <= 2;
      tip = { number: cursor.number, aheadS: isNew ? Math.round(nowMs / 1000) - cursor.timeS : null, atMs: nowMs };
      tips.set(key, tip);
    }
    if (tip.aheadS === null || nowMs - tip.atMs > EVIDENCE_MS_MAX) return null;
    return Math.abs(tip.aheadS) > Math.max(SKEW_S_MAX, (SKEW_BLOCKS * blockTimeMs) / 1000) ? tip.aheadS : 0;
  }

  return {
    what: 'the clock',
    scopes: ['clock'],
    async look(nowMs) {
      const reports = await database.networks.list();
      const offs = networks.flatMap((network) => {
        const report = reports.find((one) => one.network === network.key);
        return (report && aheadOf(network, report, nowMs)) ?? [];
      });
      const [first = 0] = offs;
      if (offs.length === 0 || !offs.every((off) => off * first > 0)) return [];
      const least = Math.min(...offs.map(Math.abs));
      const where = offs.length > 1 ? `all ${offs.length} networks that are read` : 'the one network that is read';
      const way = first > 0 ? 'ahead of' : 'behind';
      const message = `this machine’s clock is ${least} s ${way} the newest blocks of ${where}`;
      return [{ rule: 'clock_skewed', message }];
    },
  };
}
