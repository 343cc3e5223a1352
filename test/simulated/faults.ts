/**
 * Ways in which a node may fail, injected on purpose. Whether a request is hit depends only on the seed, the request
 * and how often it was made before, never on the order in which different requests arrive: a failing run can be
 * repeated.
 */
import type { Family } from '../../src/chains/chain.ts';
import { digest } from '../../src/sandbox/digest.ts';
import type { DialectName } from '../../src/sandbox/evm-dialect.ts';
import { createRandom } from '../support/random.ts';
import type { World } from './world.ts';

/** A simulated chain whose nodes fail. */
export type FailingChain = Readonly<{
  family: Family;
  world: World;
  chainId: string;
  dialect?: DialectName | undefined;
}>;

const faultKinds = [
  /** An error of the node instead of an answer. */
  'rpc_error',
  /** HTTP 429 or 503; over a WebSocket, the corresponding JSON-RPC error. */
  'http_error',
  /** Over HTTP, 403 as for an unexpected host name, or 401 as at go-ethereum's engine port; never over a WebSocket. */
  'http_refused',
  /** Batches of more than 5 calls are refused. */
  'batch_limited',
  /** In a batch, calls after 5,000 characters of answers are refused. */
  'answers_limited',
  /** No answer, ever. */
  'hang',
  /** The answer is cut off in the middle. */
  'cut',
  /** The connection is closed instead of answering. */
  'drop',
  /** The WebSocket stays open, but transmits nothing any more in either direction. */
  'half_open',
  /** The head is shown `lagBlocks` behind. */
  'lag',
  /** The head is shown 1 to `lagBlocks` behind, so that it jumps back and forth. */
  'backwards',
  /** No block is final yet. */
  'finality_missing',
  /** The final block is an old one, and stays it. */
  'finality_stalled',
  /** Accounts and contracts are known only at the head. */
  'states_gone',
  /** A known block, or a transaction in it, is reported as unknown. */
  'unknown_block',
  /** A block with transactions is reported as empty. */
  'empty_content',
  /** The node answers in plain text that it keeps no history. */
  'history_closed',
  /** The content of another block is returned. */
  'sibling_content',
  /** A header that belongs to no known chain is returned. */
  'unlinked',
  /** The chain id of another network. */
  'wrong_chain',
  /** The token's decimals are off by one. */
  'wrong_decimals',
  /** A new head is not announced. */
  'push_lost',
  /** A new head is announced twice. */
  'push_twice',
  /** Block times are `CLOCK_BEHIND_S` behind the clock, as on a chain whose time follows its slots. */
  'clock_behind',
  /** The node came up from a snapshot: it has lost the blocks below its newest `lagBlocks`. */
  'blocks_lost',
  /** The node has just started: for a moment it shows its chain as of the genesis, and says that it is healthy. */
  'restarted',
  /** The newest block is shown below the final one, because each is counted by its own commitment. */
  'finality_ahead',
  /** The node says that it is behind, and takes no transactions. */
  'unhealthy',
  /** A signed transaction is accepted, and discarded. */
  'send_dropped',
  /** A signed transaction is accepted, and the answer is an error. */
  'send_denied',
  /** A signed transaction is accepted, and will fail in its block. */
  'send_failed',
  /** The method is switched off in the node's configuration. */
  'method_off',
  /** A read-only call of a contract fails in the node. */
  'call_failed',
  /** Failed transactions are reported with the logs that they would have had. */
  'failed_logs',
] as const;
export type FaultKind = (typeof faultKinds)[number];

type FaultRates = Partial<Record<FaultKind, number>>;

/**
 * A fault that hits one request; `roll` (0 to 2³² − 1) decides its details, `lagBlocks` is how far a lagging head may
 * be behind.
 */
export type InjectedFault = Readonly<{ kind: FaultKind; roll: number; lagBlocks: number }>;

type FaultSettings = Readonly<{ rates: FaultRates; lagBlocks: number }>;

export type Faults = ReturnType<typeof createFaults>;

/** How many different requests are counted separately; beyond that, counting restarts. */
const COUNTED_REQUESTS_MAX = 20_000;
const LAG_BLOCKS = 5;
export const CLOCK_BEHIND_S = 90;

export function createFaults(seed: string) {
  const timesAsked = new Map<string, number>();
  const injected: FaultRates = {};
  let rates: FaultRates = {};
  let lagBlocks = LAG_BLOCKS;

  /** Adds to the current rates. */
  function set(changes: Partial<FaultSettings>): void {
    rates = { ...rates, ...changes.rates };
    lagBlocks = changes.lagBlocks ?? lagBlocks;
  }

  return {
    /** Returns the fault that hits this request, of the kinds that apply to it. */
    strike(kinds: readonly FaultKind[], method: string, params: unknown): InjectedFault | null {
      const possible = kinds.filter((kind) => (rates[kind] ?? 0) > 0);
      if (possible.length === 0) return null;
      const request = digest(method, JSON.stringify(params ?? null));
      if (timesAsked.size >= COUNTED_REQUESTS_MAX) timesAsked.clear();
      const asked = timesAsked.get(request) ?? 0;
      timesAsked.set(request, asked + 1);
      // One random stream per kind, so that one kind's rate does not change when another strikes.
      for (const kind of possible) {
        const random = createRandom(seed, kind, request, asked);
        if (!random.chance(rates[kind] ?? 0)) continue;
        injected[kind] = (injected[kind] ?? 0) + 1;
        return { kind, roll: random.int(2 ** 32), lagBlocks };
      }
      return null;
    },
    set,
    /** Ends all faults. Connections that are already dead stay dead. */
    heal() {
      rates = {};
    },
    report: () => ({ rates: { ...rates }, lagBlocks, injected: { ...injected } }),
  };
}
