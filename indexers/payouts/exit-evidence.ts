/**
 * Collects what the nodes show of everything that was ever signed for a payout, for `core/payout-exit.ts` to judge.
 */
import { type PayoutNode, type SpendDraft, UnclearOutcome } from '../../src/chains/spend.ts';
import { isPaidBy } from '../../src/core/outgoing.ts';
import { type Attempt, isSigned, type Payout, type SignedAttempt } from '../../src/core/payout.ts';
import type { Evidence, NamedPayment, ShownGeneration, ShownOutcome } from '../../src/core/payout-exit.ts';
import type { Outcome } from '../../src/core/spend.ts';
import type { Database } from '../../src/database/database.ts';

/** How many of the newest unexplained transfers are compared. */
const COMPARED_MAX = 1_000;

export type EvidenceParts = Readonly<{
  node: Pick<PayoutNode, 'outcome' | 'paidBy'>;
  database: Pick<Database, 'listOutgoing' | 'findAttemptOwner'>;
}>;

/**
 * Returns what is known of a payout's attempts, those of all generations.
 * @param parts.payers wallets that may have paid it besides those of the attempts and the one that pays now
 * @throws Fault transient if a node does not answer, or two disagree
 */
export async function gatherEvidence(
  parts: EvidenceParts & Readonly<{ payers: readonly string[]; draft(payer: string | undefined): Promise<SpendDraft> }>,
  { intent }: Pick<Payout, 'intent'>,
  attempts: readonly Attempt[],
): Promise<Evidence> {
  const all = attempts.filter(isSigned);
  const generations: ShownGeneration[] = [];
  for (const generation of new Set(all.map((one) => one.generation))) {
    const signed = all.filter((one) => one.generation === generation);
    const outcome = await shownOutcome({ ...parts, draft: await parts.draft(signed[0]?.payer) }, signed);
    generations.push({ generation, txs: signed.map(({ tx }) => tx), outcome });
  }
  const suspect = (await findLock(parts, all)) ?? (await unexplained(parts, intent));
  return { isSigning: attempts.some((one) => !isSigned(one)), generations, suspect };
}

/** Returns a lock on the chain of any wallet that has an attempt, of one that may have paid it, or pays now. */
async function findLock(
  { node, draft, payers }: Parameters<typeof gatherEvidence>[0],
  signed: readonly SignedAttempt[],
): Promise<string | null> {
  for (const payer of new Set([undefined, ...signed.map((one) => one.payer), ...payers])) {
    const drafted = await draft(payer);
    const shown = await unlessUnclear(() => node.outcome(drafted, []));
    if (shown.kind === 'unclear') return `whoever set its lock ${drafted.lock}`;
  }
  return null;
}

async function shownOutcome(
  { node, draft }: EvidenceParts & Readonly<{ draft: SpendDraft }>,
  signed: readonly SignedAttempt[],
): Promise<ShownOutcome> {
  const sent = signed.map(({ tx, terms, payer }) => ({ tx, terms, payer }));
  return unlessUnclear<Outcome>(() => node.outcome(draft, sent));
}

async function unlessUnclear<T>(work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnclearOutcome)) throw error;
    return { kind: 'unclear', message: error.message, feeUnits: error.feeUnits } as const;
  }
}

/** Returns a transfer out of our wallets that no attempt explains, and that may be this payout. */
async function unexplained({ database }: EvidenceParts, intent: Payout['intent']): Promise<string | null> {
  for (const record of await database.listOutgoing(intent.network, COMPARED_MAX)) {
    const isOpen = record.state === 'open' || record.state === 'foreign';
    if (!isOpen || !isPaidBy({ intent }, record)) continue;
    if ((await database.findAttemptOwner(record.tx)) === null) return `transaction ${record.tx}`;
  }
  return null;
}

/**
 * Reads what a transaction shows that an operator names, with the number that it used.
 * @throws Fault transient if a node does not answer, or two disagree
 */
export async function readNamed(
  { node, database, draft }: EvidenceParts & Readonly<{ draft: SpendDraft }>,
  { id }: Pick<Payout, 'id'>,
  tx: string,
): Promise<NamedPayment & Readonly<{ nonce: number | null }>> {
  const ownerId = await database.findAttemptOwner(tx);
  // No record of its effects shows a transfer of native coin: only of our own attempts is known what they do.
  const isReadable = draft.token !== null || ownerId === id;
  const paid = isReadable ? await unlessUnclear(() => node.paidBy(draft, tx)) : null;
  if (paid === null) return { tx, ownerId, shown: { kind: 'absent' }, nonce: null };
  if ('message' in paid) return { tx, ownerId, shown: paid, nonce: null };
  return { tx, ownerId, shown: { kind: 'paid', feeUnits: paid.feeUnits }, nonce: paid.nonce };
}
