/**
 * Answers payers' lookups of transactions on this network: the payment page writes a row, the node is asked here, and
 * the answer is judged in `src/core/lookup.ts`. A lookup is informational and credits nothing; only blocks that the
 * follower has read do.
 */
import type { Node } from '../src/chains/chain.ts';
import { Fault } from '../src/core/fault.ts';
import type { TransactionReport } from '../src/core/lookup.ts';
import type { NetworkKey } from '../src/core/transfer.ts';
import type { Lookups } from '../src/database/database.ts';
import type { NetworkState } from '../src/database/networks.ts';
import type { Clock } from '../src/lib/clock.ts';
import { every } from '../src/lib/every.ts';
import type { Log } from '../src/lib/log.ts';

const POLL_MS = 500;
/** Concurrent lookups. Kept low: following blocks has priority and lookups are rare. */
const AT_ONCE_MAX = 8;

type LookupOptions = Readonly<{
  network: NetworkKey;
  lookups: Lookups;
  node: Pick<Node, 'lookup'>;
  /** The follower's state: the node is believed only while the network is followed. */
  state: () => NetworkState;
  clock: Clock;
  log: Log;
}>;

/**
 * Answers until the signal aborts.
 * @throws anything but operating faults
 */
export function answerLookups(options: LookupOptions, signal: AbortSignal): Promise<void> {
  const { network, lookups, node, state, clock, log } = options;
  /** Returns null if the node fails: it is asked again later, and other lookups do not wait for this one. */
  async function ask(tx: string): Promise<TransactionReport | null> {
    try {
      return await node.lookup(tx);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (!signal.aborted) log.warn({ code: error.code, error: error.message, tx }, 'a lookup is waiting for the node');
      return null;
    }
  }

  async function answer(due: Awaited<ReturnType<Lookups['claim']>>[number]): Promise<void> {
    const report = await ask(due.tx);
    if (!signal.aborted) await lookups.answer({ ...due, report, nowMs: clock.nowMs() });
  }

  async function answerDue(): Promise<void> {
    if (state() !== 'following' && state() !== 'behind') return;
    await Promise.all((await lookups.claim(network, clock.nowMs(), AT_ONCE_MAX)).map(answer));
  }

  return every(POLL_MS, answerDue, { clock, log, signal, what: 'answering lookups' });
}
