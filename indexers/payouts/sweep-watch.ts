/**
 * Manages a network's deposit addresses next to the payout engine: records the money on them, sends waiting sweeps the
 * native coin they lack, and plans sweeps if the policy says so.
 */

import type { NetworkConfig } from '../../src/config/network.ts';
import type { Fault } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { isFollowed } from '../../src/database/network-health.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { every } from '../../src/lib/every.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Sweeper } from './sweeper.ts';
import { levelsOf, readOwners } from './unswept.ts';

/** How soon a waiting sweep gets what it lacks. */
const TOP_UP_MS = 15_000;
/** The interval between two passes over all addresses that ever received money. */
const LOOK_MS = 600_000;

type SweepWatchOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens' | 'sweep'>;
  sweeper: Sweeper;
  database: Pick<Database, 'networks' | 'findFreeze' | 'unswept' | 'recordUnswept' | 'alarms'>;
  clock: Clock;
  log: Log;
}>;

interface SweepWatch {
  /** Works until the signal aborts. Faults are reported and waited out. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Makes one pass over all addresses.
   * @returns how many sweeps were planned
   */
  look(signal?: AbortSignal): Promise<number>;
}

export function createSweepWatch(options: SweepWatchOptions): SweepWatch {
  const { network, sweeper, database, clock, log } = options;
  const { key, sweep: policy } = network;
  /** Codes already reported; once per process is enough. */
  const reported = new Set<string>();

  async function alarm(code: string, message: string): Promise<void> {
    if (reported.has(code)) return;
    log.warn({ code }, message);
    await database.alarms.raise({ atMs: clock.nowMs(), code, message, network: key, sessionId: null });
    reported.add(code);
  }

  async function look(signal?: AbortSignal): Promise<number> {
    const owners = await readOwners(network, database, clock, signal);
    if (signal?.aborted) return 0;
    await database.recordUnswept(key, levelsOf(key, owners, clock.nowMs()));
    // What is planned during a freeze would only be withdrawn again.
    if (!policy.auto || (await database.findFreeze(key))) return 0;
    const plan = await sweeper.plan(owners, policy);
    const foreign = plan.left.filter(({ why }) => why === 'not_ours');
    const [first] = foreign;
    if (first) {
      const example = `number ${first.owner.index}, ${first.owner.key}: ${first.detail}`;
      const message = `${foreign.length} deposit address(es) on ${key} are not swept, because they are not from the signer's seed (${example}). \`quayside sweep\` shows them; find out who changed the addresses`;
      await alarm('sweep_not_ours', message);
    }
    const planned = await sweeper.commit(plan);
    if (planned.length > 0) log.info({ sweeps: planned.length, left: plan.left.length }, 'sweeps planned');
    return planned.length;
  }

  /** A network that is not followed may show money that no longer exists. */
  async function isReady(): Promise<boolean> {
    const status = (await database.networks.list()).find((one) => one.network === key);
    return status !== undefined && isFollowed(status, clock.nowMs());
  }

  /** A fault that only a person can end is an alarm; anything else is retried. */
  async function onFault({ kind, code, message }: Fault): Promise<void> {
    if (kind === 'permanent') await alarm(code, message);
    else log.debug({ code, reason: message }, 'sweeps are waiting');
  }

  return {
    look,
    run(signal) {
      let lookedAtMs = Number.NEGATIVE_INFINITY;
      const work = async (): Promise<void> => {
        if (!(await isReady())) return;
        await sweeper.tend();
        if (clock.nowMs() - lookedAtMs < LOOK_MS) return;
        await look(signal);
        lookedAtMs = clock.nowMs();
      };
      return every(TOP_UP_MS, work, { clock, log, signal, what: 'watching sweeps', onFault });
    },
  };
}
