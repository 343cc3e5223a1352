/**
 * What was proved about the installation. A few rows of each kind are kept.
 */

import { and, desc, eq, lt } from 'drizzle-orm';
import type { OperatorAct } from './audit-log.ts';
import { type InstallationProof, PROOFS_KEPT, type ProofState, type RecordAct } from './audit-log.ts';
import { type ProofKind, proofKinds } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { proofs } from './tables.ts';

export function proofCommands(db: Db, recordAct: RecordAct) {
  const { orm } = db;
  const newest = (kind: ProofKind, limit: number) =>
    orm.select().from(proofs).where(eq(proofs.kind, kind)).orderBy(desc(proofs.id)).limit(limit).all();

  function add(proof: InstallationProof): void {
    orm.insert(proofs).values(proof).run();
    const oldest = newest(proof.kind, PROOFS_KEPT).at(-1);
    if (oldest) {
      orm
        .delete(proofs)
        .where(and(eq(proofs.kind, proof.kind), lt(proofs.id, oldest.id)))
        .run();
    }
  }

  function stateOf(kind: ProofKind): ProofState {
    const all = newest(kind, PROOFS_KEPT).map(({ id: _, ...proof }) => proof);
    return { proved: all.find(({ ok }) => ok) ?? null, failed: all[0]?.ok === false ? all[0] : null };
  }

  return {
    /** Saves what a check has found. */
    async recordProof(proof: InstallationProof): Promise<void> {
      await db.write(() => add(proof));
    },
    /** Saves that a person says a check was done elsewhere, with an entry in the audit log. */
    async vouchForProof(kind: ProofKind, act: OperatorAct, about: string): Promise<void> {
      await db.write(() => {
        add({ kind, atMs: act.atMs, ok: true, by: act.operator, about });
        recordAct(act, { target: kind, before: null, after: { proved: true, about } });
      });
    },
    async latestProofs(): Promise<Readonly<Record<ProofKind, ProofState>>> {
      return db.read(
        () => Object.fromEntries(proofKinds.map((kind) => [kind, stateOf(kind)])) as Record<ProofKind, ProofState>,
      );
    },
  };
}
