/**
 * Ends payouts on what the nodes show, when an operator asks for it.
 * @module
 */
import type { SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import { invariant, permanent } from '../../src/core/fault.ts';
import type { Attempt, Payout } from '../../src/core/payout.ts';
import { type Exit, judgeNever, judgePaid } from '../../src/core/payout-exit.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { PayoutConclusion } from '../../src/database/money-out.ts';
import type { EqualTransfer } from '../../src/database/outgoing.ts';
import { type EvidenceParts, gatherEvidence, readNamed } from './exit-evidence.ts';
import type { PayoutWallets } from './wallets.ts';

export type ExitParts = Readonly<{
  node: EvidenceParts['node'];
  wallets: Pick<PayoutWallets, 'draft' | 'ofRole'>;
  rules: Pick<SpendRules, 'payer'>;
  database: EvidenceParts['database'] &
    Pick<Database, 'listPayoutAttempts' | 'concludePayout' | 'findEqualTransfer' | 'payoutDoubt'>;
  act: OperatorAct;
  isDryRun: boolean;
}>;

type Paid = Extract<Exit, { kind: 'paid' }>;
type Never = Extract<Exit, { kind: 'never' }> & Readonly<{ despite: EqualTransfer | null }>;

/**
 * Settles a payout by a transaction, if the nodes show that it paid.
 * @param vouches see `judgePaid`
 * @throws Fault permanent, with the reason, if they do not; transient if they cannot be asked now
 */
export async function settlePaid(parts: ExitParts, payout: Payout, tx: string, vouches: boolean): Promise<Paid> {
  const { node, database, wallets, rules } = parts;
  const attempts = await database.listPayoutAttempts(payout.id);
  const payers = await payersOf(parts, payout);
  const named = await readNamedByPayers(parts, payout, attempts, payers, tx);
  const { draft } = named;
  const evidenceParts = { node, database, draft: draftBy(wallets, payout), payers };
  const isJudged = payout.state !== 'succeeded';
  const evidence = isJudged ? await gatherEvidence(evidenceParts, payout, attempts) : noEvidence;
  const exit = expectExit('paid', judgePaid(payout, evidence, named, vouches));
  const { nonce } = named;
  const learned = { payer: draft.payer, payerRole: rules.payer(payout.intent).role, nonce };
  await conclude(parts, payout, attempts.length, { ...exit, learned: exit.generation === null ? learned : null });
  return exit;
}

/**
 * Ends a payout, or has it signed in a new generation, if the nodes show that nothing has paid it or can.
 * @param how.isAgreed whether a person says that an acknowledged transfer which equals the payout was not this one
 * @returns the proof, and the acknowledged transfer that equals it, if there is one
 * @throws Fault permanent, with the reason, if they do not; transient if they cannot be asked now
 */
export async function settleNever(
  parts: ExitParts,
  payout: Payout,
  { isRenewed, isAgreed }: Readonly<{ isRenewed: boolean; isAgreed: boolean }>,
): Promise<Never> {
  const { node, database, wallets } = parts;
  const attempts = await database.listPayoutAttempts(payout.id);
  const isOpen = payout.settledAtMs === null;
  const evidenceParts = { node, database, draft: draftBy(wallets, payout), payers: await payersOf(parts, payout) };
  const evidence = isOpen ? await gatherEvidence(evidenceParts, payout, attempts) : noEvidence;
  const exit = expectExit('never', judgeNever(payout, evidence));
  const despite = await database.findEqualTransfer(payout.id);
  if (despite && !isAgreed) {
    const why = `${equalText(despite)}. If it paid ${payout.id}, settle that with --paid ${despite.tx}`;
    throw permanent('payout_maybe_paid', `${why}; if it did not, run the command again with --yes`);
  }
  const other = despite && !isRenewed ? await database.findEqualTransfer(payout.id, despite.id) : null;
  if (despite && other) {
    const again = `\`quayside payouts settle ${payout.id} --never --again --yes --reason …\``;
    throw permanent(
      'payout_maybe_paid',
      `${equalText(other)}, and so has ${despite.tx}. If ${despite.tx} did not pay ${payout.id}, run ${again}: it is not ` +
        `paid before you have answered for ${other.tx}, too, and can then be ended`,
    );
  }
  await conclude(parts, payout, attempts.length, { ...exit, isRenewed, despite });
  return { ...exit, despite };
}

/** Describes an acknowledged transfer that equals a payout. */
export const equalText = ({ tx }: EqualTransfer): string =>
  `transaction ${tx} has paid the same amount to the same address, and no payout explains it`;

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
    const named = await readNamed({ node, database, draft }, { id: payout.id, attempts }, tx);
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
  if (exit.kind === 'refused') throw permanent(exit.code, exit.message);
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
  if (await database.concludePayout({ id, seen, conclusion, act, nowMs: act.atMs })) return;
  const doubt = conclusion.kind === 'never' ? await database.payoutDoubt(id) : null;
  if (doubt) throw permanent(doubt.code, `payout ${id} may have been paid: ${doubt.message}`);
  throw permanent(
    'payout_moved',
    `payout ${id} has changed meanwhile, or a transfer on ${network} that no payout explains may have paid it: look at it ` +
      `with \`quayside payouts show ${id}\`, and run the command again`,
  );
}
