/**
 * Manages a network's deposit addresses next to the payout engine. It records the money on them, sends waiting sweeps
 * the native coin that they lack, and plans sweeps if `sweep.auto` is set.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Fault } from '../../src/core/fault.ts';
import type { SweepOwner } from '../../src/core/sweep.ts';
import type { Currency, NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { isFollowed } from '../../src/database/networks.ts';
import type { UnsweptLevel } from '../../src/database/payouts/sweeps.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { every } from '../../src/lib/every.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Sweeper } from './sweeper.ts';

/** Interval of the checks of waiting sweeps. */
const TOP_UP_MS = 15_000;
/** Interval of the passes over all addresses that ever received money. */
const LOOK_MS = 600_000;

type SweepWatchOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens' | 'sweep'>;
  sweeper: Sweeper;
  database: Database;
  clock: Clock;
  log: Log;
}>;

export function createSweepWatch(options: SweepWatchOptions) {
  const { network, sweeper, database, clock, log } = options;
  const { key, sweep: policy } = network;
  /** Codes that this process has reported. Once is enough. */
  const reported = new Set<string>();

  async function alarm(code: string, message: string): Promise<void> {
    if (reported.has(code)) return;
    log.warn({ code }, message);
    await database.alarms.raise({ atMs: clock.nowMs(), code, message, network: key, sessionId: null });
    reported.add(code);
  }

  /**
   * Makes one pass over all addresses.
   * @returns how many sweeps were planned
   */
  async function look(signal?: AbortSignal): Promise<number> {
    const owners = await readOwners(network, database, clock, signal);
    if (signal?.aborted) return 0;
    await database.sweeps.recordUnswept(key, levelsOf(key, owners, clock.nowMs()));
    // Sweeps planned during a freeze would only be withdrawn again.
    if (!policy.auto || (await database.holds.find(key))) return 0;
    const plan = await sweeper.plan(owners, policy);
    const foreign = plan.left.filter(({ why }) => why === 'not_ours');
    const [first] = foreign;
    if (first) {
      const example = `index ${first.owner.index}, ${first.owner.key}: ${first.detail}`;
      const message = `${foreign.length} deposit address(es) on ${key} are not swept, because they are not from the signer's seed (${example}). \`quayside sweep ${key}\` shows them; find out who changed the addresses`;
      await alarm('sweep_not_ours', message);
    }
    const planned = await sweeper.commit(plan);
    if (planned.length > 0) log.info({ sweeps: planned.length, left: plan.left.length }, 'sweeps planned');
    return planned.length;
  }

  /** A network that is not followed may show money that no longer exists. */
  async function isReady(): Promise<boolean> {
    const status = await database.networks.find(key);
    return status !== null && isFollowed(status, clock.nowMs());
  }

  /** A fault that only a person can end is an alarm. Others are retried. */
  async function onFault({ kind, code, message }: Fault): Promise<void> {
    if (kind === 'permanent') await alarm(code, message);
    else log.debug({ code, reason: message }, 'sweeps are waiting');
  }

  return {
    look,
    /** Works until the signal aborts. Faults are reported and waited out. */
    run(signal: AbortSignal): Promise<void> {
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

/** Addresses in one read. Other work gets its turn between two reads. */
const PAGE = 200;
const PAUSE_MS = 1;

/**
 * Returns the money on a network's deposit addresses, and the part that open sweeps will take, in the network's present
 * currencies.
 */
export async function readOwners(
  { key, family, mode, tokens }: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens'>,
  database: Database,
  clock: Clock,
  signal?: AbortSignal,
): Promise<SweepOwner[]> {
  const all: SweepOwner[] = [];
  for (let after: number | null = 0; after !== null && !signal?.aborted; ) {
    const page = await database.sweeps.unswept({ network: key, pool: { family, mode } }, after, PAGE);
    for (const owner of page.owners) if (tokens.some(({ symbol }) => symbol === owner.currency)) all.push(owner);
    after = page.next;
    if (after !== null) await clock.sleep(PAUSE_MS, signal);
  }
  return all;
}

/** Returns the sums of unswept money by currency. */
export function levelsOf(network: NetworkKey, owners: readonly SweepOwner[], readAtMs: number): UnsweptLevel[] {
  const levels = new Map<Currency, UnsweptLevel>();
  for (const { currency, units, openUnits } of owners) {
    const level = levels.get(currency) ?? { network, currency, owners: 0, units: 0n, openUnits: 0n, readAtMs };
    levels.set(currency, {
      ...level,
      owners: level.owners + 1,
      units: level.units + units,
      openUnits: level.openUnits + openUnits,
    });
  }
  return [...levels.values()];
}
