/**
 * Manual resolution of stuck payouts. The operator's claim is never trusted. Chain data must support it, and a payout
 * that may still be paid stays open. A database restored from a backup may lack the newest attempts, so transactions
 * that are unknown here count too.
 */
import type { Payout, Proof } from './payout.ts';
import { type Reason, type ReasonCode, type ReasonValues, reason } from './reasons.ts';
import type { Outcome } from './spend.ts';

/** Reason of a refund whose lock is set on the chain. It was paid, unless the lock is proved to be a stranger's. */
export const LOCK_SET = 'refund_lock_set';

/** An attempt is final, and its record does not show the payment. `feeUnits`: its fee; null if unknown. */
type Unclear = Readonly<{ kind: 'unclear'; message: string; feeUnits: bigint | null }>;

/** The outcome of one generation's signed attempts, as the nodes show it. */
export type ShownOutcome = Outcome | Unclear;

export type ShownGeneration = Readonly<{ generation: number; txs: readonly string[]; outcome: ShownOutcome }>;

/** All evidence about a payout's attempts. */
export type Evidence = Readonly<{
  /** An attempt is allotted, and the signer may be signing it now. */
  isSigning: boolean;
  /** Generations with a signature. */
  generations: readonly ShownGeneration[];
  /** Another possible payment: a transaction that no attempt explains, or a lock on the chain. */
  suspect: string | null;
}>;

/** A transaction that, according to the operator, has paid. */
export type NamedPayment = Readonly<{
  tx: string;
  /** The payout with an attempt of this transaction; null if none has. */
  ownerId: string | null;
  /** The nodes' view. `absent`: it is not final on each of them, or it failed, or it is not ours. */
  shown: Readonly<{ kind: 'paid'; feeUnits: bigint }> | Readonly<{ kind: 'absent' }> | Unclear;
}>;

type Refused = Readonly<{ kind: 'refused' }> & Reason;

export type Exit =
  /** It was paid. `generation`: the generation of the attempt that paid; null if the attempt is not known here. */
  | Readonly<{ kind: 'paid'; tx: string; feeUnits: bigint; generation: number | null }>
  /**
   * Nothing paid it, and no signed attempt can. `ended`: the attempt of the newest generation that failed at a cost.
   */
  | Readonly<{ kind: 'never'; proof: Proof | null; ended: Readonly<{ tx: string; feeUnits: bigint }> | null }>
  /** It is no longer stuck. The engine looks at it again. */
  | Readonly<{ kind: 'look' }>
  | Refused;

const refuse = <C extends ReasonCode>(...of: [C, ...ReasonValues<C>]): Refused => ({
  kind: 'refused',
  ...reason(...of),
});

/** An exit of a kind, or why it is refused. */
type ExitOf<K extends Exit['kind']> = Extract<Exit, { kind: K }> | Refused;

type Named = Pick<Payout, 'id' | 'network' | 'state' | 'wait' | 'tx' | 'generation'>;

/**
 * Decides whether a transaction settles a payout.
 * @param isAgreed the operator has seen that the final, successful record of the payout's own attempt shows no payment
 */
export function judgePaid(payout: Named, evidence: Evidence, named: NamedPayment, isAgreed: boolean): ExitOf<'paid'> {
  const { id, network } = payout;
  const { tx, ownerId, shown } = named;
  if (payout.state === 'succeeded') return refuse('payout_ended', { id, how: `paid by ${payout.tx}` });
  if (ownerId !== null && ownerId !== id) return refuse('payout_of_another', { id, tx, ownerId });
  const own = evidence.generations.find(({ txs }) => txs.includes(tx));
  if (shown.kind === 'absent') return refuse('payout_not_shown', { network, tx });
  if (shown.kind === 'unclear' && !(isAgreed && own)) {
    return refuse('payout_outcome_unclear', { id, shown: shown.message, tx: own ? tx : null, isNamed: true });
  }
  const others = evidence.generations.filter((one) => one !== own && one.outcome.kind !== 'foreign');
  const rest = whyOpen(payout, { ...evidence, generations: others });
  if (rest) return rest;
  return { kind: 'paid', tx, feeUnits: shown.feeUnits ?? 0n, generation: own?.generation ?? null };
}

/** Decides whether a payout was never paid and no signed attempt can still pay it. */
export function judgeNever(payout: Named, evidence: Evidence): ExitOf<'never'> {
  const { id, state } = payout;
  if (state === 'succeeded' || state === 'failed' || state === 'canceled')
    return refuse('payout_ended', { id, how: state });
  const open = whyOpen(payout, evidence);
  if (open) return open;
  if (evidence.suspect !== null) return refuse('payout_maybe_paid', { id, suspect: evidence.suspect });
  const last = evidence.generations.find(({ generation }) => generation === payout.generation)?.outcome ?? null;
  if (last === null) return { kind: 'never', proof: null, ended: null };
  const ended = last.kind === 'failed' ? { tx: last.tx, feeUnits: last.feeUnits } : null;
  return { kind: 'never', proof: last.kind === 'dead' ? 'dead' : 'failed', ended };
}

const lookingCodes: readonly string[] = ['payout_may_be_included', 'payout_nonce_foreign'];

/**
 * Decides whether a payout is signed or looked at again. It is signed again if no attempt has paid it or can. It is
 * looked at again if it is stuck while its attempts can still be included, or before the engine has seen that their
 * nonce was used.
 */
export function judgeRetry(payout: Named, evidence: Evidence): ExitOf<'never' | 'look'> {
  const exit = judgeNever(payout, evidence);
  const isOpen = exit.kind === 'refused' && lookingCodes.includes(exit.code);
  return isOpen && payout.state === 'stuck' ? { kind: 'look' } : exit;
}

/** Returns why some attempt may still pay, or has paid; null if all have ended without effect. */
function whyOpen(payout: Named, { isSigning, generations }: Evidence): Refused | null {
  const { id, network } = payout;
  if (isSigning) return refuse('payout_being_signed', { id, network });
  for (const { generation, txs, outcome } of generations) {
    if (outcome.kind === 'foreign' && !isFrozenFor(payout, generation))
      return refuse('payout_nonce_foreign', { network, txs: txs.join(', ') });
    const refused = whyOpenOutcome(id, txs, outcome);
    if (refused) return refused;
  }
  return null;
}

/**
 * Returns whether the network was frozen for a nonce that another transaction used. The end of that freeze proves that
 * its blocks were read, and their transfers looked at.
 */
const isFrozenFor = ({ state, wait, generation }: Named, used: number): boolean =>
  used < generation || (state === 'stuck' && wait?.code === 'payout_nonce_foreign');

function whyOpenOutcome(id: string, txs: readonly string[], outcome: ShownOutcome): Refused | null {
  switch (outcome.kind) {
    case 'dead':
    case 'failed':
    case 'foreign':
      return null;
    case 'succeeded':
      return refuse('payout_was_paid', { id, tx: outcome.tx });
    case 'unclear':
      return refuse('payout_outcome_unclear', { id, shown: outcome.message, tx: txs.at(-1) ?? null, isNamed: false });
    case 'waiting':
      return refuse('payout_may_be_included', { id, txs: txs.join(', ') });
  }
}

/**
 * Returns the state in which a stuck payout continues; null if it is not stuck. With attempts, the engine looks at them
 * again. Without any, it quotes again.
 */
export const resumed = (state: Payout['state'], attemptCount: number): 'waiting' | 'sent' | null => {
  if (state !== 'stuck') return null;
  return attemptCount === 0 ? 'waiting' : 'sent';
};
