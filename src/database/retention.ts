/**
 * The removal of old data: what merchants sent about payers, the answers of their servers, and URLs of single sessions.
 * Nothing that the ledger, refunds or late money need is ever touched.
 */

/**
 * `anonymised`: sessions without what their merchant sent about the payer. `attempts`: attempts without the answer of
 * the merchant's server. `endpoints`: removed URLs that single sessions named.
 */
export const retentionKinds = ['anonymised', 'attempts', 'endpoints'] as const;
export type RetentionKind = (typeof retentionKinds)[number];

/** `beforeMs`: only what ended, was sent or was retired before this time. */
export type RetentionTimes = Readonly<{ beforeMs: number; nowMs: number }>;

/** What a program that removes old data needs, on a connection of its own. */
export type RetentionDatabase = Readonly<{
  /**
   * Walks through what is due of one kind, in short transactions: one for each step of the iteration.
   * @returns how many rows each of them changed
   */
  retain(kind: RetentionKind, times: RetentionTimes): AsyncIterable<number>;
  /** Keeps the time of the run for `stats`. */
  rememberRun(atMs: number): Promise<void>;
  close(): void;
}>;
