/**
 * Raises alarms for due refunds that nobody pays: without a signer, without their network in the configuration, or with
 * an engine that has been silent for an hour. What an engine itself finds, such as an empty wallet, it reports itself.
 * @module
 */

import type { NetworkKey } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { OverdueRefunds } from '../database/money-out.ts';
import type { Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';

const POLL_MS = 60_000;
/** A payout takes minutes; the slowest network is final within half an hour. */
const PATIENCE_MS = 3_600_000;

export type OverdueRefundsOptions = Readonly<{
  database: Pick<Database, 'overdueRefunds' | 'listEngines' | 'raiseAlarm'>;
  config: Readonly<{ signer: unknown; networks: readonly Readonly<{ key: NetworkKey }>[] }>;
  clock: Clock;
  log: Log;
}>;

/** @returns one check: it logs and raises an alarm for each network whose refunds have become overdue */
export function createOverdueLook({ database, config, clock, log }: OverdueRefundsOptions): () => Promise<void> {
  let reported = new Set<string>();

  /** Returns why nobody pays on a network; null while somebody may. */
  async function reasonOf({ network, oldestDueMs }: OverdueRefunds): Promise<string | null> {
    if (!config.signer) return 'the configuration has no `signer` (docs/money-out.md)';
    if (!config.networks.some(({ key }) => key === network)) return `the configuration has no ${network}; add it again`;
    if (clock.nowMs() < oldestDueMs + PATIENCE_MS) return null;
    const engine = (await database.listEngines()).find((one) => one.network === network);
    return engine?.reason?.message ?? 'its engine reports nothing; see `quayside status` and the log of its indexer';
  }

  return async () => {
    const overdue = new Set<string>();
    for (const found of await database.overdueRefunds(clock.nowMs())) {
      const reason = await reasonOf(found);
      if (reason === null) continue;
      const { network, count } = found;
      overdue.add(network);
      if (reported.has(network)) continue;
      const message =
        `Refunds on ${network} are due and not paid (${count}): ${reason}. They wait until it is resolved; ` +
        'no money is lost.';
      log.warn({ code: 'refunds_overdue', network, refunds: count }, message);
      await database.raiseAlarm({ atMs: clock.nowMs(), code: 'refunds_overdue', message, network, sessionId: null });
      reported.add(network);
    }
    reported = overdue;
  };
}

/** Checks every minute until the signal aborts. */
export function watchOverdueRefunds(options: OverdueRefundsOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  return every(POLL_MS, createOverdueLook(options), { clock, log, signal, what: 'watching overdue refunds' });
}
