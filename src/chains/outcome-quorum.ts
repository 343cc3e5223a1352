/**
 * The outcome of a payout's attempts on which several nodes of a network agree.
 */
import { invariant, transient } from '../core/fault.ts';
import type { Outcome } from '../core/spend.ts';
import type { PaidBy } from './spend.ts';

const isSettled = (outcome: Outcome): boolean => outcome.kind === 'succeeded' || outcome.kind === 'failed';

/**
 * Returns an outcome only if every node has it as final.
 * @throws Fault transient `payout_nodes_disagree`
 */
export function agreeOnOutcome(outcomes: readonly Outcome[]): Outcome {
  const [first] = outcomes;
  invariant(first, 'at least one node answered');
  const disagreement = (): Error =>
    transient(
      'payout_nodes_disagree',
      `the network's nodes disagree about a payout's outcome: ${outcomes.map(describe).join('; ')}. This payout waits until they agree: find out which of them is wrong`,
    );
  const isForeign = outcomes.map(({ kind }) => kind === 'foreign');
  if (isForeign.every(Boolean)) return first;
  if (isForeign.some(Boolean)) throw disagreement();
  const settled = outcomes.filter(isSettled);
  const isDead = outcomes.map(({ kind }) => kind === 'dead');
  if (new Set(settled.map(describe)).size > 1 || (settled.length > 0 && isDead.some(Boolean))) throw disagreement();
  if (settled.length === outcomes.length || isDead.every(Boolean)) return first;
  // A node that lags behind delays the outcome.
  const included = outcomes.map(inclusion).find((one) => one !== null);
  return { kind: 'waiting', included: included ?? null };
}

/**
 * Returns the cost of a payment; null unless every node has the payment as final.
 * @throws Fault transient `payout_nodes_disagree`
 */
export function agreeOnPaid(answers: readonly (PaidBy | null)[]): PaidBy | null {
  const paid = answers.filter((one) => one !== null);
  const [first] = paid;
  if (!first || paid.length < answers.length) return null;
  if (paid.every(({ feeUnits, nonce }) => feeUnits === first.feeUnits && nonce === first.nonce)) return first;
  throw transient(
    'payout_nodes_disagree',
    "the network's nodes disagree about what a payment cost or which nonce it used: find out which of them is wrong",
  );
}

const inclusion = (outcome: Outcome): Readonly<{ tx: string; number: number }> | null => {
  if (outcome.kind === 'waiting') return outcome.included;
  return outcome.kind === 'succeeded' || outcome.kind === 'failed' ? { tx: outcome.tx, number: outcome.number } : null;
};

const describe = (outcome: Outcome): string => {
  const at = inclusion(outcome);
  return at ? `${outcome.kind} ${at.tx} in block ${at.number}` : outcome.kind;
};
