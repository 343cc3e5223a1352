/**
 * What a transport to a java-tron node offers, whatever it is made of: `http.ts` is the node's own interface, `bridge-transport.ts` the bridge beside it.
 * @module
 */
import { Fault, transient } from '../../core/fault.ts';
import type { Node } from '../chain.ts';

/** One POST. Paths under `/wallet/` ask the full node, those under `/walletsolidity/` what is solidified. */
export type Call = Readonly<{ path: string; body: Readonly<Record<string, unknown>> }>;

/** Where one answer stands within the bytes of all: from, inclusive, to, exclusive. */
export type Part = Readonly<{ from: number; to: number }>;

/** The raw answers to some calls, in their order, in one buffer of their own; between them may stand other bytes. */
export type Answers = Readonly<{ bytes: Uint8Array; parts: readonly Part[] }>;

export type TronTransport = Readonly<{
  /**
   * Makes the calls one after the other: the second is sent when the first was answered.
   * @throws Fault transient: `node_unreachable`, `node_timeout` (the signal aborted), `node_response_too_large`, …
   */
  ask(calls: readonly Call[], signal: AbortSignal): Promise<Answers>;
  /** Calls `ring` at each new head and each connection made again; never where there is no push. */
  onChange(ring: () => void): void;
  health: Node['health'];
  close(): Promise<void>;
}>;

/** Does some work for a path; a fault of it says so. */
export async function about<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw transient(error.code, `${path} at ${error.message}`, error);
  }
}
