/**
 * What becomes of old data: sessions that were never paid are archived, what identifies payers is removed, and so are
 * answers of merchants' servers and URLs of single sessions. Nothing that the ledger or refunds need is
 * ever touched.
 * @module
 */
import type { Mode } from '../core/transfer.ts';

/**
 * `archived`: sessions that were never paid and have no transfer. `anonymised`, `anonymised_archived`: sessions without
 * what their merchant sent about the payer. `attempts`: answers of merchants' servers. `endpoints`: URLs that single
 * sessions named.
 */
export const retentionKinds = ['anonymised', 'anonymised_archived', 'archived', 'attempts', 'endpoints'] as const;
export type RetentionKind = (typeof retentionKinds)[number];

/** Where a walk through old rows goes on: behind the row with these keys, of which one may be unused. */
export type RetentionPlace = readonly [number, string];

export type RetentionSlice = Readonly<{
  kind: RetentionKind;
  /** Only what ended, was sent or was retired before this time. */
  beforeMs: number;
  /** What the slice before returned; null: the beginning. */
  place: RetentionPlace | null;
  nowMs: number;
  /** Counts, and changes nothing. */
  isDryRun: boolean;
}>;

/** An archived session as lists show it. */
export type ArchivedSession = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  orderId: string;
  endedAtS: number;
  archivedAtMs: number;
  /** Whether what its merchant sent about the payer is still there. */
  hasPayerData: boolean;
}>;

/** How many rows of each kind were changed. */
export type RetentionDone = Readonly<Record<RetentionKind, number>>;
export type RetentionRun = Readonly<{ atMs: number; done: RetentionDone }>;

export type ArchiveSummary = Readonly<{
  sessions: number;
  /** Bytes of their content, without indexes. */
  bytes: number;
  /** When the first and the last of them ended; null when there is none. */
  firstEndedAtS: number | null;
  lastEndedAtS: number | null;
  withPayerData: number;
  /** The last time that old data was looked for. */
  lastRun: RetentionRun | null;
}>;

/** What a program that removes old data needs, on a connection of its own. */
export type RetentionDatabase = Readonly<{
  /**
   * Does the next slice of one kind of work, in one short transaction.
   * @returns how many it changed, and where the next slice begins; null at the end
   */
  retainSlice(slice: RetentionSlice): Promise<Readonly<{ done: number; next: RetentionPlace | null }>>;
  rememberRun(run: RetentionRun): Promise<void>;
  close(): void;
}>;

export interface ArchiveDatabase {
  /** Returns an archived session; null if it is not archived. `findSession` returns it as it was. */
  findArchived(sessionId: string): Promise<ArchivedSession | null>;
  /** Reads every archived session: for operators, not for servers. */
  archiveSummary(): Promise<ArchiveSummary>;
}
