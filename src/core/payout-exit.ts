/**
 * How a person ends a payout that does not end by itself. Nobody is believed: it ends only as the nodes show that it
 * has, and what may still be paid stays open. A database that was restored from a backup may lack the newest attempts,
 * so transactions that are unknown here count too.
 * @module
 */
import type { Payout, Proof } from './payout.ts';

/** Why a refund waits whose lock is set on the chain: it was paid, unless the lock is proved to be a stranger's. */
export const LOCK_SET = 'refund_lock_set';

/** What the nodes show of the signed attempts of one generation. */
export type ShownOutcome =
  | Readonly<{ kind: 'waiting' | 'dead' }>
  | Readonly<{ kind: 'succeeded' | 'failed'; tx: string; feeUnits: bigint }>
  /** One is final, and its record does not show the payment. `feeUnits`: what it cost; null if that is not known. */
  | Readonly<{ kind: 'unclear'; message: string; feeUnits: bigint | null }>
  /** Transaction `tx` used their number; null: the nodes no longer tell which. `paid`: whether it paid this payout. */
  | Readonly<{ kind: 'foreign'; tx: string | null; paid: boolean }>;

export type ShownGeneration = Readonly<{ generation: number; txs: readonly string[]; outcome: ShownOutcome }>;

/** Everything that is known of a payout's attempts. */
export type Evidence = Readonly<{
  /** An attempt is allotted, and the signer may be signing it now. */
  isSigning: boolean;
  /** Those with a signature. */
  generations: readonly ShownGeneration[];
  /** What else may have paid it: a transaction that no attempt explains, or a lock on the chain. */
  suspect: string | null;
}>;

/** A transaction that an operator says has paid. */
export type NamedPayment = Readonly<{
  tx: string;
  /** The payout that has an attempt with this transaction; null if none has. */
  ownerId: string | null;
  /** What the nodes show. `absent`: it is not final on each of them, or it failed, or it is not ours. */
  shown: Readonly<{ kind: 'paid'; feeUnits: bigint }> | Readonly<{ kind: 'absent' }> | ShownUnclear;
}>;
type ShownUnclear = Extract<ShownOutcome, { kind: 'unclear' }>;

export type Exit =
  /** It was paid. `generation`: that of the attempt which did; null if the attempt is not known here. */
  | Readonly<{ kind: 'paid'; tx: string; feeUnits: bigint; generation: number | null }>
  /** Nothing paid it, and nothing signed can. `ended`: the attempt of the newest generation that failed at a cost. */
  | Readonly<{ kind: 'never'; proof: Proof | null; ended: Readonly<{ tx: string; feeUnits: bigint }> | null }>
  | Readonly<{ kind: 'refused'; code: string; message: string }>;

const refuse = (code: string, message: string): Exit => ({ kind: 'refused', code, message });

type Named = Pick<Payout, 'id' | 'network' | 'state' | 'tx' | 'generation'>;

/**
 * Decides whether a payout is settled by a transaction.
 * @param vouches the operator takes it upon himself that one of the payout's own attempts, final and successful, paid
 */
export function judgePaid(payout: Named, evidence: Evidence, named: NamedPayment, vouches: boolean): Exit {
  const { id } = payout;
  const { tx, ownerId, shown } = named;
  if (payout.state === 'succeeded') return refuse('payout_ended', `payout ${id} was paid by ${payout.tx} already`);
  if (ownerId !== null && ownerId !== id) {
    return refuse('payout_of_another', `${tx} is an attempt of payout ${ownerId}, so it does not pay ${id}`);
  }
  const own = evidence.generations.find(({ txs }) => txs.includes(tx));
  if (shown.kind === 'absent') {
    return refuse(
      'payout_not_shown',
      `${tx} is not a final, successful transaction of our wallet on every node of ${payout.network}: check the ` +
        'transaction, or wait until it is final. If it is old, name nodes in rpc_url and witness_url that still find it ' +
        'by its id',
    );
  }
  if (shown.kind === 'unclear' && !(vouches && own)) {
    const may = own ? 'If an explorer shows that it was paid, add --vouch' : 'It cannot settle this payout';
    return refuse('payout_outcome_unclear', `${shown.message}. ${may}.`);
  }
  const others = evidence.generations.filter((one) => one !== own && !isUsedUpBy(tx, one));
  const rest = whyOpen(payout, { ...evidence, generations: others });
  if (rest) return rest;
  return { kind: 'paid', tx, feeUnits: shown.feeUnits ?? 0n, generation: own?.generation ?? null };
}

/** Returns whether attempts have ended because this transaction, or one that cannot be named, has their number. */
const isUsedUpBy = (tx: string, { outcome }: ShownGeneration): boolean =>
  outcome.kind === 'foreign' && (outcome.tx === null || outcome.tx === tx);

/** Decides whether a payout was never paid and can never be, by anything that was signed for it. */
export function judgeNever(payout: Named, evidence: Evidence): Exit {
  const { id, state } = payout;
  if (state === 'succeeded' || state === 'failed' || state === 'canceled') {
    return refuse('payout_ended', `payout ${id} has ended (${state}): \`quayside payouts show ${id}\``);
  }
  const open = whyOpen(payout, evidence);
  if (open) return open;
  if (evidence.suspect !== null) {
    const how = `look at it, and settle the payout with \`quayside payouts settle ${id} --paid <transaction> --reason …\` if it did`;
    return refuse('payout_maybe_paid', `${evidence.suspect} may have paid ${id}, and no attempt explains it: ${how}`);
  }
  const last = evidence.generations.find(({ generation }) => generation === payout.generation)?.outcome ?? null;
  if (last === null) return { kind: 'never', proof: null, ended: null };
  const ended = last.kind === 'failed' ? { tx: last.tx, feeUnits: last.feeUnits } : null;
  return { kind: 'never', proof: last.kind === 'dead' ? 'dead' : 'failed', ended };
}

/** Returns why some attempt may still pay, or has paid; null if all have ended without effect. */
function whyOpen({ id, network }: Named, { isSigning, generations }: Evidence): Exit | null {
  if (isSigning) {
    return refuse(
      'payout_being_signed',
      `an attempt of payout ${id} is allotted and may be signed at this moment: run the command again, or, if no ` +
        `engine runs, \`quayside payouts adopt ${network}\` first`,
    );
  }
  for (const { txs, outcome } of generations) {
    const refusal = whyOpenOutcome(id, txs, outcome);
    if (refusal) return refusal;
  }
  return null;
}

function whyOpenOutcome(id: string, txs: readonly string[], outcome: ShownOutcome): Exit | null {
  const settle = (tx: string) => `\`quayside payouts settle ${id} --paid ${tx} --reason …\``;
  switch (outcome.kind) {
    case 'dead':
    case 'failed':
      return null;
    case 'succeeded':
      return refuse('payout_was_paid', `${outcome.tx} has paid payout ${id}: run ${settle(outcome.tx)}`);
    case 'unclear':
      return refuse('payout_outcome_unclear', `${outcome.message}. If it was paid, run ${settle('<transaction>')}`);
    case 'waiting':
      return refuse(
        'payout_may_be_included',
        `${txs.join(', ')} of payout ${id} can still be included: wait until it is final or has expired. Where ` +
          'transactions have sequence numbers, it stays possible until a transaction with the same number is final',
      );
    case 'foreign':
      if (outcome.tx === null) {
        return refuse(
          'node_history_pruned',
          `another transaction used the number of ${txs.join(', ')}, and the node no longer has the state that tells ` +
            `which: name an archive node in rpc_url, or, if it paid payout ${id}, run ${settle('<transaction>')}`,
        );
      }
      if (!outcome.paid) return null;
      return refuse('payout_was_paid', `${outcome.tx} has paid payout ${id}: run ${settle(outcome.tx)}`);
  }
}

/** Returns whether nothing is signed in the current generation, so that the payout can be ended without the nodes. */
export const isUnsigned = (state: Payout['state'], attemptCount: number): boolean =>
  state === 'waiting' || (state === 'stuck' && attemptCount === 0);

/**
 * Returns how a stuck payout goes on; null if it is not stuck. Its attempts are looked at again; without any, it is
 * quoted again.
 */
export const resumed = (state: Payout['state'], attemptCount: number): 'waiting' | 'sent' | null => {
  if (state !== 'stuck') return null;
  return attemptCount === 0 ? 'waiting' : 'sent';
};
