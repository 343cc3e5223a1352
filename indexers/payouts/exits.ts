/**
 * Ends payouts at an operator's request. It collects the nodes' evidence on every attempt that was ever signed for a
 * payout, and `core/payout-exit.ts` judges it.
 */
import {
  type PaidBy,
  type PayoutNode,
  type SpendDraft,
  type SpendRules,
  UnclearOutcome,
} from '../../src/chains/spend.ts';
import { invariant, permanent } from '../../src/core/fault.ts';
import { type Attempt, isSigned, type Payout } from '../../src/core/payout.ts';
import {
  type Evidence,
  type Exit,
  judgeNever,
  judgePaid,
  judgeRetry,
  type NamedPayment,
  resumed,
  type ShownGeneration,
  type ShownOutcome,
} from '../../src/core/payout-exit.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import type { Outcome } from '../../src/core/spend.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { PayoutConclusion } from '../../src/database/payouts/outcomes.ts';
import type { PayoutWallets } from './wallets.ts';

export type ExitParts = Readonly<{
  node: Pick<PayoutNode, 'outcome' | 'paidBy'>;
  wallets: Pick<PayoutWallets, 'draft'>;
  rules: Pick<SpendRules, 'payer'>;
  database: Database;
  act: OperatorAct;
  isDryRun: boolean;
}>;

type Paid = Extract<Exit, { kind: 'paid' }>;

/**
 * Settles a payout if the nodes show that a transaction paid it.
 * @param isAgreed see `judgePaid`
 * @throws Fault permanent, with the reason, if the exit is refused; transient if the nodes cannot be asked now
 */
export async function settlePaid(parts: ExitParts, payout: Payout, tx: string, isAgreed: boolean): Promise<Paid> {
  const file = await openCase(parts, payout);
  const { draft, ...named } = await readNamed(file, tx);
  const exit = accepted(judgePaid(payout, await gatherEvidence(file), named, isAgreed));
  const payer = { payer: draft.payer, payerRole: parts.rules.payer(payout.intent).role };
  await conclude(file, { ...exit, learned: exit.generation === null ? payer : null });
  return exit;
}

/**
 * Ends a payout if the nodes show that nothing has paid it or can.
 * @param others transactions that equal the payout but, according to a person, were other payments
 * @throws Fault permanent, with the reason, if the exit is refused; transient if the nodes cannot be asked now
 */
export async function settleNever(parts: ExitParts, payout: Payout, others: readonly string[]): Promise<void> {
  const file = await openCase(parts, payout);
  const exit = accepted(judgeNever(payout, await gatherEvidence(file)));
  await conclude(file, { ...exit, isRenewed: false, others: await dismissed(file, others) });
}

/**
 * Tries a payout again. If the nodes show that nothing has paid it or can, it is signed in a new generation. A stuck
 * payout is resumed if its generation has no signed attempt, or one that can still be included.
 * @param others as for `settleNever`
 * @throws Fault permanent, with the reason, if the exit is refused; transient if the nodes cannot be asked now
 */
export async function retry(parts: ExitParts, payout: Payout, others: readonly string[]): Promise<void> {
  const file = await openCase(parts, payout);
  const newest = file.attempts.filter(({ generation }) => generation === payout.generation);
  const isBare = resumed(payout.state, newest.length) === 'waiting';
  const exit = isBare ? look : accepted(judgeRetry(payout, await gatherEvidence(file)));
  if (exit.kind === 'look') return conclude(file, exit);
  await conclude(file, { ...exit, isRenewed: true, others: await dismissed(file, others) });
}

const look = { kind: 'look' } as const;

/** A payout with all its attempts. */
type Case = ExitParts & Readonly<{ payout: Payout; attempts: readonly Attempt[] }>;

const openCase = async (parts: ExitParts, payout: Payout): Promise<Case> => ({
  ...parts,
  payout,
  attempts: await parts.database.payouts.attempts(payout.id),
});

/**
 * Returns the acknowledged transfers that equal a payout.
 * @throws Fault permanent `refund_equals_transfer` if `others` lacks one of them
 */
async function dismissed({ database, payout: { id } }: Case, others: readonly string[]): Promise<readonly number[]> {
  const equal = (await database.payouts.equalTo(id)).filter(({ state }) => state === 'known');
  const open = equal.find(({ tx }) => !others.includes(tx));
  if (open) throw reasonFault('refund_equals_transfer', { id, tx: open.tx });
  return equal.map((one) => one.id);
}

/** @throws Fault permanent if the exit was refused */
function accepted<E extends Exit>(exit: E): Exclude<E, { kind: 'refused' }> {
  if (exit.kind === 'refused') throw permanent(exit.code, exit.message);
  return exit as Exclude<E, { kind: 'refused' }>;
}

async function conclude(
  { database, act, isDryRun, payout, attempts }: Case,
  conclusion: PayoutConclusion,
): Promise<void> {
  if (isDryRun) return;
  const { id, network, state, generation } = payout;
  const seen = { state, generation, attemptCount: attempts.length };
  if (await database.payouts.conclude({ id, seen, conclusion, act })) return;
  const doubt = conclusion.kind === 'never' ? await database.payouts.doubt(id) : null;
  if (doubt) throw permanent(doubt.code, `payout ${id} may have been paid: ${doubt.message}`);
  throw reasonFault('payout_moved', { id, network });
}

// ── Evidence ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the evidence on a payout's attempts, of all generations.
 * @throws Fault transient if a node does not answer, or two disagree
 */
async function gatherEvidence(of: Case): Promise<Evidence> {
  const { node, wallets, payout, attempts } = of;
  if (payout.state === 'succeeded') return { isSigning: false, generations: [], suspect: null };
  const all = attempts.filter(isSigned);
  const generations: ShownGeneration[] = [];
  for (const generation of new Set(all.map((one) => one.generation))) {
    const signed = all.filter((one) => one.generation === generation);
    const draft = await wallets.draft(payout.intent, { payer: signed[0]?.payer });
    const sent = signed.map(({ tx, terms, payer }) => ({ tx, terms, payer }));
    const outcome: ShownOutcome = await unlessUnclear<Outcome>(() => node.outcome(draft, sent));
    generations.push({ generation, txs: signed.map(({ tx }) => tx), outcome });
  }
  const suspect = (await findLock(of)) ?? (await findUnexplained(of));
  return { isSigning: attempts.some((one) => !isSigned(one)), generations, suspect };
}

/** Returns a lock on the chain, by any wallet that has an attempt or pays now. */
async function findLock({ node, wallets, payout, attempts }: Case): Promise<string | null> {
  const signed = attempts.filter(isSigned).map(({ payer }) => payer);
  for (const payer of new Set([undefined, ...signed])) {
    const draft = await wallets.draft(payout.intent, { payer });
    const shown = await unlessUnclear(() => node.outcome(draft, []));
    if (shown.kind === 'unclear') return `the transaction that set its lock ${draft.lock}`;
  }
  return null;
}

/** Returns a transfer that may be this payout. No attempt explains it, and nobody has acknowledged it. */
async function findUnexplained({ database, payout }: Case): Promise<string | null> {
  const found = (await database.payouts.equalTo(payout.id)).find(({ state }) => state !== 'known');
  return found ? `transaction ${found.tx}` : null;
}

async function unlessUnclear<T>(work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnclearOutcome)) throw error;
    return { kind: 'unclear', message: error.message, feeUnits: error.feeUnits } as const;
  }
}

/**
 * Reads a transaction that an operator names, as a payment by any wallet that may have made it.
 * @throws Fault transient if a node does not answer, or two disagree
 */
async function readNamed(
  { node, database, wallets, payout, attempts }: Case,
  tx: string,
): Promise<NamedPayment & Readonly<{ draft: SpendDraft }>> {
  const ownerId = await database.payouts.ownerOf(tx);
  const known = attempts.map(({ payer }) => payer).reverse();
  let first: (NamedPayment & Readonly<{ draft: SpendDraft }>) | null = null;
  for (const payer of new Set([...known, undefined])) {
    const draft = await wallets.draft(payout.intent, { payer });
    // A transaction's record does not show transfers of native coin. Only our own attempts are known to make them.
    const isReadable = draft.token !== null || ownerId === payout.id;
    const paid = isReadable ? await unlessUnclear(() => node.paidBy(draft, tx)) : null;
    const named = { tx, ownerId, shown: shownBy(paid), draft };
    if (named.shown.kind === 'paid') return named;
    if (first === null || first.shown.kind === 'absent') first = named;
  }
  invariant(first, 'a payout has a wallet that pays it');
  return first;
}

function shownBy(paid: PaidBy | Extract<ShownOutcome, { kind: 'unclear' }> | null): NamedPayment['shown'] {
  if (paid === null) return { kind: 'absent' };
  return 'message' in paid ? paid : { kind: 'paid', feeUnits: paid.feeUnits };
}
