/**
 * The audit log: what operators changed with the `quayside` command. An entry is saved in the transaction of the change
 * that it describes, so each command that an operator runs takes an `OperatorAct`.
 */

/** Who runs a command, when and why. */
export type OperatorAct = Readonly<{
  atMs: number;
  /** The user of the operating system. */
  operator: string;
  /** The words that ran it, such as `network rewind`. */
  command: string;
  reason: string | null;
}>;

/** Plain data, as JSON has it. Money is decimal text. */
export type AuditedState = Readonly<Record<string, string | number | boolean | null>> | null;

/** `target` is an id or a network's key; `before` and `after` are what the command replaced and what it left. */
export type AuditedChange = Readonly<{ target: string; before: AuditedState; after: AuditedState }>;

export type AuditEntry = OperatorAct & AuditedChange & Readonly<{ id: number }>;

/** An act of which only the target is known. */
export type TargetedAct = OperatorAct & Readonly<{ target: string }>;

/** Which entries: texts that the person, and the command or its target, contain; times, `toMs` not included. */
export type AuditSearch = Readonly<{
  who: string | null;
  what: string | null;
  fromMs: number | null;
  toMs: number | null;
}>;

export const proofKinds = ['books', 'seed'] as const;
export type ProofKind = (typeof proofKinds)[number];

/** `by`: who ran the check. `about`: what it found, or where it was run, in words. */
export type InstallationProof = Readonly<{ kind: ProofKind; atMs: number; ok: boolean; by: string; about: string }>;

/** The newest proof, and the newest that failed after it. */
export type ProofState = Readonly<{ proved: InstallationProof | null; failed: InstallationProof | null }>;

/** Of each kind, so many are kept. */
export const PROOFS_KEPT = 100;

export interface Audit {
  /** Records what an operator's command changed outside the database, such as in the settings. */
  record(act: OperatorAct, change: AuditedChange): Promise<void>;
  /**
   * Returns the newest entries, newest first.
   * @param page `sinceMs`: none before this time; `beforeId`: only entries that are older than this one
   */
  list(limit: number, page?: Readonly<{ sinceMs?: number; beforeId?: number }>): Promise<readonly AuditEntry[]>;
  /**
   * Returns the newest entries that fit, newest first. It looks at `entriesMax` of the time that is asked for.
   * @returns `goOnId`: the `beforeId` of what follows; null at the end
   */
  search(
    search: AuditSearch & Readonly<{ beforeId: number | null; limit: number; entriesMax: number }>,
  ): Promise<Readonly<{ entries: readonly AuditEntry[]; goOnId: number | null }>>;
  /** Saves what a check has found. */
  recordProof(proof: InstallationProof): Promise<void>;
  /** Saves that a person says a check was done elsewhere, with an entry in the audit log. */
  vouchForProof(kind: ProofKind, act: OperatorAct, about: string): Promise<void>;
  latestProofs(): Promise<Readonly<Record<ProofKind, ProofState>>>;
}
