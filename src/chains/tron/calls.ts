/**
 * The interface of transports to a java-tron node. `node/http.ts` uses the node's own HTTP interface, and
 * `node/bridge-transport.ts` the bridge next to it.
 */
import { Fault, transient } from '../../core/fault.ts';
import type { Node } from '../chain.ts';

/** One POST. Paths under `/wallet/` query the full node, those under `/walletsolidity/` the solidified chain. */
export type Call = Readonly<{ path: string; body: Readonly<Record<string, unknown>> }>;

/** The position of one answer within the bytes of all: from (inclusive) to (exclusive). */
export type Part = Readonly<{ from: number; to: number }>;

/** The raw answers to several calls, in order, in a buffer of their own. There may be other bytes between them. */
export type Answers = Readonly<{ bytes: Uint8Array; parts: readonly Part[] }>;

export type TronTransport = Readonly<{
  /**
   * Makes the calls one after the other. Each is sent after the answer to the one before.
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`, …
   */
  ask(calls: readonly Call[], signal: AbortSignal): Promise<Answers>;
  /** Calls `listener` at each new head and each new connection. Over HTTP it is never called. */
  onChange(listener: () => void): void;
  health: Node['health'];
  close(): Promise<void>;
}>;

/** Adds the path to the message of a fault. */
export async function about<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw transient(error.code, `${path} at ${error.message}`, error);
  }
}
