/**
 * The signer's journal and this database. The lease is an engine's right to request signatures on a network. It needs
 * proof that this database has every signature. Adoption brings a database that was restored from a backup up to date.
 * An operator requests it after making sure that no other installation uses the signer.
 */

import type { SpendRules } from '../../src/chains/spend.ts';
import type { Fault } from '../../src/core/fault.ts';
import { attemptName, judgeRefusal } from '../../src/core/payout.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database, Payouts } from '../../src/database/database.ts';
import type { Adoption } from '../../src/database/payouts/engines.ts';
import type { PayingSigner } from '../../src/signer/client.ts';

/** Signatures in one request to the signer and one write transaction. */
const PAGE = 100;
/** Stops an engine after its database was restored from a backup. */
export const NOT_ADOPTED = 'payouts_not_adopted';
const JOURNAL_BEHIND = 'signer_journal_behind';

/** Returns whether a fault ends the lease, because the next signature could be a second payment. */
export const endsLease = ({ code }: Fault): boolean =>
  code === NOT_ADOPTED || code === JOURNAL_BEHIND || judgeRefusal(code) === 'stop';

/** An engine's right to request signatures. */
export type PayoutLease = Awaited<ReturnType<typeof acquireLease>>;

/**
 * Acquires the next lease.
 * @throws Fault permanent `payouts_not_adopted`, `signer_journal_behind`; faults of the signer and the database
 */
export async function acquireLease(network: NetworkKey, signer: PayingSigner, database: Database) {
  const served = await signer.fence(network);
  const fence = await database.engines.nextFence(network, served);
  if (fence === null) throw reasonFault(NOT_ADOPTED, { network, what: `fence ${served}` });
  let journalId = (await database.engines.list()).find((engine) => engine.network === network)?.journalId ?? 0;

  /**
   * Reads the signer's journal beyond the entries that are recorded here, and records the new ones. Called after each
   * signature, before its bytes are used.
   * @throws Fault permanent `payouts_not_adopted`
   */
  async function follow(): Promise<void> {
    for (;;) {
      const entries = await signer.journal(network, journalId, PAGE);
      const last = entries.at(-1);
      if (!last) return;
      const stray = await database.payouts.recordSigned(network, entries);
      if (stray) {
        const { id, intent } = stray;
        const what = `attempt ${attemptName(stray)} of ${intent.kind} ${intent.id} (entry ${id})`;
        throw reasonFault(NOT_ADOPTED, { network, what });
      }
      journalId = Math.max(journalId, last.id);
    }
  }

  if (journalId > 0) {
    const [known] = await signer.journal(network, journalId - 1, 1);
    if (known?.id !== journalId) throw reasonFault(JOURNAL_BEHIND, { network, what: `entry ${journalId}` });
  }
  await follow();
  return { fence, follow };
}

type Parts = Readonly<{
  network: NetworkKey;
  rules: SpendRules;
  signer: Pick<PayingSigner, 'fence' | 'journal'>;
  payouts: Pick<Payouts, 'adopt'>;
  nowMs: number;
  /** Called with the number of signatures compared so far. */
  onProgress?: (signatures: number) => void;
  /** Signatures in a page; 100 if absent. */
  page?: number;
}>;

/**
 * Adopts the network's journal, page by page. If it is interrupted, payouts stay stopped until another call finishes
 * it.
 * @returns the numbers of the network's signatures and of the attempts added for them
 * @throws Fault those of the signer and the database
 */
export async function adoptPayouts(parts: Parts): Promise<Readonly<{ signatures: number; added: number }>> {
  const { network, rules, signer, payouts, nowMs, onProgress, page = PAGE } = parts;
  const servedFence = await signer.fence(network);
  let signatures = 0;
  let added = 0;
  let entries = await signer.journal(network, 0, page);
  for (let isContinued = false; ; isContinued = true) {
    const last = entries.at(-1);
    // Only the last page ends the adoption. The first page may be the last and empty.
    const next = last ? await signer.journal(network, last.id, page) : [];
    added += await payouts.adopt(network, {
      signatures: entries.map((entry): Adoption => ({ ...entry, payerRole: rules.payer(entry.intent).role })),
      ...(isContinued && { isContinued }),
      servedFence: next.length === 0 ? servedFence : null,
      nowMs,
    });
    signatures += entries.length;
    onProgress?.(signatures);
    if (next.length === 0) return { signatures, added };
    entries = next;
  }
}

/** Returns whether the signer has signatures on the network that this database lacks. */
export async function isBehindSigner(
  network: NetworkKey,
  database: Database,
  signer: Pick<PayingSigner, 'fence' | 'journal'>,
): Promise<boolean> {
  const engine = (await database.engines.list()).find((one) => one.network === network);
  const [unknown] = await signer.journal(network, engine?.journalId ?? 0, 1);
  if (unknown || engine?.reason?.code === NOT_ADOPTED) return true;
  return (await signer.fence(network)) > (engine?.fence ?? 0);
}
