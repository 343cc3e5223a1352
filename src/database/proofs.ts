/**
 * What was proved about the installation, and when: that its books add up, and that the seed phrase restores it.
 * Backups have a report of their own.
 * @module
 */
import type { OperatorAct } from './audit-log.ts';

export const proofKinds = ['books', 'seed'] as const;
export type ProofKind = (typeof proofKinds)[number];

/** `by`: who ran the check. `about`: what it found, or where it was run, in words. */
export type InstallationProof = Readonly<{ kind: ProofKind; atMs: number; ok: boolean; by: string; about: string }>;

/** The newest proof, and the newest that failed after it. */
export type ProofState = Readonly<{ proved: InstallationProof | null; failed: InstallationProof | null }>;

/** Of each kind, so many are kept. */
export const PROOFS_KEPT = 100;

export interface ProofDatabase {
  /** Saves what a check has found. */
  recordProof(proof: InstallationProof): Promise<void>;
  /** Saves that a person says a check was done elsewhere, with an entry in the audit log. */
  vouchForProof(kind: ProofKind, act: OperatorAct, about: string): Promise<void>;
  latestProofs(): Promise<Readonly<Record<ProofKind, ProofState>>>;
}
