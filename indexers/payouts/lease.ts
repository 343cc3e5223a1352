/**
 * An engine's lease: its right to request signatures on a network, and the proof that this database knows every
 * signature that was made.
 */
import { type Fault, permanent } from '../../src/core/fault.ts';
import { judgeRefusal } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Signer } from '../../src/signer/signer.ts';

const PAGE = 100;

export interface PayoutLease {
  readonly fence: number;
  /**
   * Reads what the signer's journal has beyond what is recorded here, and records it. Called after each signature,
   * before its bytes are used.
   * @throws Fault permanent `payouts_not_adopted`
   */
  follow(): Promise<void>;
}

/** This database is not the one that the signer served last. Both messages say what the operator must do. */
const notAdopted = (network: NetworkKey, why: string): Fault =>
  permanent(
    'payouts_not_adopted',
    `${why}, so this database is older than the newest signatures, or another one is in use. Nothing is paid out. Make sure that no other installation uses this signer, then run \`quayside payout reconcile ${network}\``,
  );

/** The signer's journal is older than this database: it no longer knows everything that it must not sign again. */
export const journalBehind = (network: NetworkKey, why: string): Fault =>
  permanent(
    'signer_journal_behind',
    `the signer's journal was restored from an older backup: ${why}. Nothing is paid out. Restore the newest signer.db; if it is lost, run \`quayside payout reconcile ${network}\`, and settle by hand what the signer then refuses`,
  );

/** Returns whether a fault ends the lease: whatever is signed next could be a second payment. */
export const endsLease = ({ code }: Fault): boolean =>
  code === 'payouts_not_adopted' || code === 'signer_journal_behind' || judgeRefusal(code) === 'stop';

/**
 * Acquires the next lease.
 * @throws Fault permanent `payouts_not_adopted`, `signer_journal_behind`; faults of the signer and the database
 */
export async function acquireLease(
  network: NetworkKey,
  signer: Signer,
  database: Pick<Database, 'nextFence' | 'listEngines' | 'recordSigned'>,
  nowMs: number,
): Promise<PayoutLease> {
  const served = await signer.fence(network);
  const fence = await database.nextFence(network, served, nowMs);
  if (fence === null)
    throw notAdopted(network, `the signer has served turn ${served} of ${network}, which is unknown here`);
  let journalId = (await database.listEngines()).find((engine) => engine.network === network)?.journalId ?? 0;

  async function follow(): Promise<void> {
    for (;;) {
      const entries = await signer.journal(network, journalId, PAGE);
      const last = entries.at(-1);
      if (!last) return;
      const outcome = await database.recordSigned(network, entries);
      if (outcome.kind === 'stray') {
        const { id, intent, generation, attempt } = outcome.signature;
        const name = `${intent.kind} ${intent.id}, generation ${generation}, attempt ${attempt}`;
        throw notAdopted(
          network,
          `entry ${id} of the signer's journal (${name}) was not requested here on these terms`,
        );
      }
      journalId = Math.max(journalId, last.id);
    }
  }

  if (journalId > 0) {
    const [known] = await signer.journal(network, journalId - 1, 1);
    if (known?.id !== journalId) throw journalBehind(network, `entry ${journalId} of ${network} is no longer there`);
  }
  await follow();
  return { fence, follow };
}
