/**
 * Answers what payers ask about transactions on this network: the payment page writes a row, here the node is asked, and the store judges
 * what it said. It tells people and credits nothing; only blocks that the follower has read do.
 * @module
 */
import type { Node } from '../src/chains/chain.ts';
import type { Clock } from '../src/lib/clock.ts';
import { Fault } from '../src/core/fault.ts';
import type { Sighting } from '../src/core/lookup.ts';
import type { NetworkKey } from '../src/core/transfer.ts';
import type { Log } from '../src/lib/log.ts';
import type { NetworkState, Store } from '../src/database/database.ts';

const POLL_MS = 500;
/** Asked of the node side by side; followers come first, and payers ask seldom. */
const AT_ONCE_MAX = 8;

export type LookUpOptions = Readonly<{
  network: NetworkKey;
  store: Pick<Store, 'dueLookUps' | 'answerLookUp'>;
  node: Pick<Node, 'lookUp'>;
  /** What the follower thinks of the node: only one that it follows is believed. */
  state: () => NetworkState;
  clock: Clock;
  log: Log;
}>;

/** Answers until the signal aborts. @throws what is no operating fault */
export async function answerLookUps(options: LookUpOptions, signal: AbortSignal): Promise<void> {
  const { network, store, node, state, clock, log } = options;
  let isStoreOut = false;

  /** A node that fails has told nothing: it is asked again later, and the others' questions do not wait for this one. */
  async function ask(tx: string): Promise<Sighting | null> {
    try {
      return await node.lookUp(tx);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (!signal.aborted) log.warn({ code: error.code, error: error.message, tx }, 'a look-up waits for the node');
      return null;
    }
  }

  async function answer({ id, tx }: Readonly<{ id: number; tx: string }>): Promise<void> {
    const sighting = await ask(tx);
    if (!signal.aborted) await store.answerLookUp({ id, sighting, nowMs: clock.nowMs() });
  }

  while (!signal.aborted) {
    try {
      if (state() === 'following' || state() === 'behind') {
        await Promise.all((await store.dueLookUps(network, clock.nowMs(), AT_ONCE_MAX)).map(answer));
      }
      isStoreOut = false;
    } catch (error) {
      if (!(error instanceof Fault) || error.kind === 'permanent') throw error;
      if (!isStoreOut) log.warn({ code: error.code, error: error.message }, 'look-ups wait for the store');
      isStoreOut = true;
    }
    await clock.sleep(POLL_MS, signal);
  }
}
