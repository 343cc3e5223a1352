/** Proofs about the installation: of each kind the newest, and a failure after it, as one value. */

import type { InstallationProof, ProofState } from './audit-log.ts';
import { type ProofKind, proofKinds } from './column-values.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { createMeta } from './meta.ts';

const nameOf = (kind: ProofKind): string => `proof_${kind}`;

export function proofCommands(db: Db) {
  const meta = createMeta(db);
  const stateOf = async (kind: ProofKind): Promise<ProofState> =>
    (await meta.readData<ProofState>(nameOf(kind))) ?? { proved: null, failed: null };

  async function add(proof: InstallationProof): Promise<void> {
    const state = proof.ok ? { proved: proof, failed: null } : { ...(await stateOf(proof.kind)), failed: proof };
    await meta.writeData(nameOf(proof.kind), state);
  }

  return {
    /** Saves what a check has found. */
    async recordProof(proof: InstallationProof): Promise<void> {
      await db.write(() => add(proof));
    },
    async latestProofs(): Promise<Readonly<Record<ProofKind, ProofState>>> {
      return db.read(
        async () =>
          Object.fromEntries(await mapInOrder(proofKinds, async (kind) => [kind, await stateOf(kind)])) as Record<
            ProofKind,
            ProofState
          >,
      );
    },
  };
}
