/**
 * Ends payouts on what the nodes show, when an operator asks for it: collects what they show of everything that was
 * ever signed for a payout, and has `core/payout-exit.ts` judge that.
 */
import { type PayoutNode, type SpendDraft, type SpendRules, UnclearOutcome } from '../../src/chains/spend.ts';
import { type Fault, invariant, permanent } from '../../src/core/fault.ts';
import { isPaidBy } from '../../src/core/outgoing.ts';
import { type Attempt, isSigned, type Payout, type SignedAttempt } from '../../src/core/payout.ts';
import {
  type Evidence,
  type Exit,
  isUnsigned,
  judgeNever,
  judgePaid,
  judgeRetry,
  type NamedPayment,
  type ShownGeneration,
  type ShownOutcome,
} from '../../src/core/payout-exit.ts';
import { type Reason, refusal } from '../../src/core/reasons.ts';
import type { Outcome } from '../../src/core/spend.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { PayoutConclusion } from '../../src/database/payouts/outcomes.ts';
import type { EqualTransfer } from '../../src/database/payouts/outgoing.ts';
import type { PayoutWallets } from './wallets.ts';

export type ExitParts = Readonly<{
  node: EvidenceParts['node'];
  wallets: Pick<PayoutWallets, 'draft' | 'ofRole'>;
  rules: Pick<SpendRules, 'payer'>;
  database: Database;
  act: OperatorAct;
  isDryRun: boolean;
}>;

type Paid = Extract<Exit, { kind: 'paid' }>;

/**
 * Settles a payout by a transaction, if the nodes show that it paid.
 * @param isAgreed see `judgePaid`
 * @throws Fault permanent, with the reason, if they do not; transient if they cannot be asked now
 */
export async function settlePaid(parts: ExitParts, payout: Payout, tx: string, isAgreed: boolean): Promise<Paid> {
  const { node, database, wallets, rules } = parts;
  const attempts = await database.payouts.attempts(payout.id);
  const payers = await payersOf(parts, payout);
  const named = await readNamedByPayers(parts, payout, attempts, payers, tx);
  const { draft } = named;
  const evidenceParts = { node, database, draft: draftBy(wallets, payout), payers };
  const isJudged = payout.state !== 'succeeded';
  const evidence = isJudged ? await gatherEvidence(evidenceParts, payout, attempts) : noEvidence;
  const exit = expectExit('paid', judgePaid(payout, evidence, named, isAgreed));
  const { nonce } = named;
  const learned = { payer: draft.payer, payerRole: rules.payer(payout.intent).role, nonce };
  await conclude(parts, payout, attempts.length, { ...exit, learned: exit.generation === null ? learned : null });
  return exit;
}

/**
 * Ends a payout if the nodes show that nothing has paid it or can.
 * @param isAgreed whether a person says that an acknowledged transfer which equals the payout was not this one
 * @returns the acknowledged transfer that equals it, if there is one
 * @throws Fault permanent, with the reason, if they do not; transient if they cannot be asked now
 */
export async function settleNever(parts: ExitParts, payout: Payout, isAgreed: boolean): Promise<EqualTransfer | null> {
  const attempts = await parts.database.payouts.attempts(payout.id);
  const exit = expectExit('never', judgeNever(payout, await evidenceOf(parts, payout, attempts)));
  const despite = await agreeToEqual(parts, payout, isAgreed);
  const other = despite && (await parts.database.payouts.findEqual(payout.id, despite.id));
  if (despite && other) throw refused(refusal('payout_equals', { id: payout.id, tx: despite.tx, other: other.tx }));
  await conclude(parts, payout, attempts.length, { ...exit, isRenewed: false, despite });
  return despite;
}

/**
 * Has a payout tried again: signed in a new generation if the nodes show that nothing has paid it or can, and looked at
 * again if it is stuck and nothing is signed in its generation, or what is signed can still be included.
 * @param isAgreed whether a person says that an acknowledged transfer which equals the payout was not this one
 * @returns the acknowledged transfer that equals it, if there is one
 * @throws Fault permanent, with the reason, if they do not; transient if they cannot be asked now
 */
export async function retry(parts: ExitParts, payout: Payout, isAgreed: boolean): Promise<EqualTransfer | null> {
  const attempts = await parts.database.payouts.attempts(payout.id);
  const newest = attempts.filter(({ generation }) => generation === payout.generation);
  const isBare = payout.state === 'stuck' && isUnsigned(payout.state, newest.length);
  const exit = isBare ? look : judgeRetry(payout, await evidenceOf(parts, payout, attempts));
  if (exit.kind === 'look') {
    await conclude(parts, payout, attempts.length, exit);
    return null;
  }
  const never = expectExit('never', exit);
  const despite = await agreeToEqual(parts, payout, isAgreed);
  await conclude(parts, payout, attempts.length, { ...never, isRenewed: true, despite });
  return despite;
}

const look = { kind: 'look' } as const;

async function evidenceOf(parts: ExitParts, payout: Payout, attempts: readonly Attempt[]) {
  if (payout.settledAtMs !== null) return noEvidence;
  const { node, database, wallets } = parts;
  const draft = draftBy(wallets, payout);
  return gatherEvidence({ node, database, draft, payers: await payersOf(parts, payout) }, payout, attempts);
}

/** @throws Fault permanent `payout_equals` if a person has not said that an equal transfer was another payment */
async function agreeToEqual({ database }: ExitParts, { id }: Payout, isAgreed: boolean): Promise<EqualTransfer | null> {
  const equal = await database.payouts.findEqual(id);
  if (equal && !isAgreed) throw refused(refusal('payout_equals', { id, tx: equal.tx, other: null }));
  return equal;
}

const refused = ({ code, message }: Reason): Fault => permanent(code, message);

/** Returns a function that drafts a payout as a wallet pays it. */
const draftBy =
  (wallets: Pick<PayoutWallets, 'draft'>, { intent }: Payout) =>
  (payer: string | undefined): Promise<SpendDraft> =>
    wallets.draft(intent, { payer });

/** Returns the wallets that may have paid a payout: those of its role, where the intent names no certain one. */
async function payersOf({ wallets, rules }: ExitParts, { intent }: Payout): Promise<readonly string[]> {
  const wallet = rules.payer(intent);
  return wallet.role !== 'collection' && wallet.index === undefined ? wallets.ofRole(wallet.role) : [];
}

/** Reads what a transaction shows, as paid by a wallet that may have: those of the attempts and of the role. */
async function readNamedByPayers(
  { node, database, wallets }: ExitParts,
  payout: Payout,
  attempts: readonly Attempt[],
  ofRole: readonly string[],
  tx: string,
) {
  const known = attempts.map(({ payer }) => payer).reverse();
  const payers = new Set([...known, ...(ofRole.length > 0 ? ofRole : [undefined])]);
  const all = [];
  for (const payer of payers) {
    const draft = await draftBy(wallets, payout)(payer);
    const named = await readNamed({ node, database, draft }, payout, tx);
    if (named.shown.kind === 'paid') return { ...named, draft };
    all.push({ ...named, draft });
  }
  const found = all.find(({ shown }) => shown.kind !== 'absent') ?? all[0];
  invariant(found, 'a payout has a wallet that pays it');
  return found;
}

const noEvidence = { isSigning: false, generations: [], suspect: null } as const;

/** @throws Fault permanent if the exit was refused */
function expectExit<K extends 'paid' | 'never'>(kind: K, exit: Exit): Extract<Exit, { kind: K }> {
  if (exit.kind === kind) return exit as Extract<Exit, { kind: K }>;
  if (exit.kind === 'refused') throw refused(exit);
  throw new Error(`an exit of kind ${exit.kind} where ${kind} was asked for`);
}

async function conclude(
  { database, act, isDryRun }: ExitParts,
  { id, network, state, generation }: Payout,
  attemptCount: number,
  conclusion: PayoutConclusion,
): Promise<void> {
  if (isDryRun) return;
  const seen = { state, generation, attemptCount };
  if (await database.payouts.conclude({ id, seen, conclusion, act, nowMs: act.atMs })) return;
  const doubt = conclusion.kind === 'never' ? await database.payouts.doubt(id) : null;
  if (doubt) throw permanent(doubt.code, `payout ${id} may have been paid: ${doubt.message}`);
  throw refused(refusal('payout_moved', { id, network }));
}

/** How many of the newest unexplained transfers are compared. */
const COMPARED_MAX = 1_000;

type EvidenceParts = Readonly<{
  node: Pick<PayoutNode, 'outcome' | 'paidBy'>;
  database: Database;
}>;

/**
 * Returns what is known of a payout's attempts, those of all generations.
 * @param parts.payers wallets that may have paid it besides those of the attempts and the one that pays now
 * @throws Fault transient if a node does not answer, or two disagree
 */
async function gatherEvidence(
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
    if (shown.kind === 'unclear') return `the transaction that set its lock ${drafted.lock}`;
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
  for (const record of await database.wallets.listOutgoing(intent.network, COMPARED_MAX)) {
    const isOpen = record.state === 'open' || record.state === 'foreign';
    if (!isOpen || !isPaidBy({ intent }, record)) continue;
    if ((await database.payouts.ownerOf(record.tx)) === null) return `transaction ${record.tx}`;
  }
  return null;
}

/**
 * Reads what a transaction shows that an operator names, with the number that it used.
 * @throws Fault transient if a node does not answer, or two disagree
 */
async function readNamed(
  { node, database, draft }: EvidenceParts & Readonly<{ draft: SpendDraft }>,
  { id }: Pick<Payout, 'id'>,
  tx: string,
): Promise<NamedPayment & Readonly<{ nonce: number | null }>> {
  const ownerId = await database.payouts.ownerOf(tx);
  // No record of its effects shows a transfer of native coin: only of our own attempts is known what they do.
  const isReadable = draft.token !== null || ownerId === id;
  const paid = isReadable ? await unlessUnclear(() => node.paidBy(draft, tx)) : null;
  if (paid === null) return { tx, ownerId, shown: { kind: 'absent' }, nonce: null };
  if ('message' in paid) return { tx, ownerId, shown: paid, nonce: null };
  return { tx, ownerId, shown: { kind: 'paid', feeUnits: paid.feeUnits }, nonce: paid.nonce };
}
