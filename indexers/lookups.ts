/**
 * Answers what payers ask about transactions on this network: the payment page writes a row, here the node is asked, and the store judges
 * what it said. It tells people and credits nothing; only blocks that the follower has read do.
 * @module
 */
import type { Node } from '../src/chains/chain.ts';
import { Fault } from '../src/core/fault.ts';
import type { TransactionReport } from '../src/core/lookup.ts';
import type { NetworkKey } from '../src/core/transfer.ts';
import type { Database, NetworkState } from '../src/database/database.ts';
import type { Clock } from '../src/lib/clock.ts';
import { every } from '../src/lib/every.ts';
import type { Log } from '../src/lib/log.ts';

const POLL_MS = 500;
/** Asked of the node side by side; followers come first, and payers ask seldom. */
const AT_ONCE_MAX = 8;

export type LookupOptions = Readonly<{
  network: NetworkKey;
  database: Pick<Database, 'dueLookups' | 'answerLookup'>;
  node: Pick<Node, 'lookup'>;
  /** What the follower thinks of the node: only one that it follows is believed. */
  state: () => NetworkState;
  clock: Clock;
  log: Log;
}>;

/** Answers until the signal aborts. @throws what is no operating fault */
export function answerLookups(options: LookupOptions, signal: AbortSignal): Promise<void> {
  const { network, database, node, state, clock, log } = options;
  /** A node that fails has told nothing: it is asked again later, and the others' questions do not wait for this one. */
  async function ask(tx: string): Promise<TransactionReport | null> {
    try {
      return await node.lookup(tx);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (!signal.aborted) log.warn({ code: error.code, error: error.message, tx }, 'a look-up waits for the node');
      return null;
    }
  }

  async function answer({ id, tx }: Readonly<{ id: number; tx: string }>): Promise<void> {
    const report = await ask(tx);
    if (!signal.aborted) await database.answerLookup({ id, report, nowMs: clock.nowMs() });
  }

  async function answerDue(): Promise<void> {
    if (state() !== 'following' && state() !== 'behind') return;
    await Promise.all((await database.dueLookups(network, clock.nowMs(), AT_ONCE_MAX)).map(answer));
  }

  return every(POLL_MS, answerDue, { clock, log, signal, what: 'answering lookups' });
}
