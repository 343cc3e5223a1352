/**
 * Reports the state of a follower to the database, for `status`, readiness and metrics, and changes of it to the log.
 * It reports once a second as a sign of life, and at once when the state or its reason changes.
 */
import type { Node } from '../../src/chains/chain.ts';
import { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Networks } from '../../src/database/database.ts';
import type { NetworkReport } from '../../src/database/networks.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { every } from '../../src/lib/every.ts';
import type { Log } from '../../src/lib/log.ts';
import { createWakeup } from '../wakeup.ts';

const REPORT_MS = 1000;

export type Situation = Pick<NetworkReport, 'state' | 'reason' | 'headNumber' | 'readThroughS' | 'recoveries'>;

type ReporterOptions = Readonly<{
  network: NetworkKey;
  networks: Networks;
  node: Pick<Node, 'health'>;
  clock: Clock;
  log: Log;
  pid: number;
  /** The earlier report, so that a restart does not forget how far the chain was read. */
  before: Pick<Situation, 'headNumber' | 'readThroughS'> | null;
}>;

export type Reporter = ReturnType<typeof createReporter>;

export function createReporter({ network, networks, node, clock, log, pid, before }: ReporterOptions) {
  const wakeup = createWakeup(clock);
  let situation: Situation = {
    state: 'starting',
    reason: null,
    headNumber: before?.headNumber ?? null,
    readThroughS: before?.readThroughS ?? 0,
  };
  const stopping = new AbortController();

  async function report(): Promise<void> {
    const { connected, heardAtMs } = node.health();
    await networks.report({
      network,
      ...situation,
      nodeConnected: connected,
      nodeHeardAtMs: heardAtMs,
      pid,
      nowMs: clock.nowMs(),
    });
  }

  return {
    update(change: Partial<Situation>): void {
      const last = situation;
      situation = { ...last, ...change };
      const { state, reason } = situation;
      if (state === last.state && reason?.code === last.reason?.code) return;
      const isWarning = state === 'fault' || (state === 'following' && reason !== null);
      const level = state === 'halted' ? 'error' : isWarning ? 'warn' : 'info';
      log[level]({ code: reason?.code, reason: reason?.message, headNumber: situation.headNumber }, state);
      wakeup.notify();
    },
    /** Reports until `stop`, also the last situation. If the database is unavailable, tries again. */
    async run(): Promise<void> {
      const what = 'reporting the network';
      await every(REPORT_MS, report, { clock, log, signal: stopping.signal, what, wait: wakeup.wait });
      await report().catch((error: unknown) => {
        if (!(error instanceof Fault) || error.kind === 'permanent') throw error;
      });
    },
    stop(): void {
      stopping.abort();
      wakeup.notify();
    },
  };
}
