/**
 * What several nodes of a network together say of a payout's attempts.
 * @module
 */
import { invariant, transient } from '../core/fault.ts';
import type { Outcome } from './spend.ts';

const isSettled = (outcome: Outcome): boolean => outcome.kind === 'succeeded' || outcome.kind === 'failed';

/**
 * What all nodes together say: an outcome only where each of them has it as final.
 * @throws Fault transient `payout_nodes_disagree`
 */
export function agreeOnOutcome(outcomes: readonly Outcome[]): Outcome {
  const [first] = outcomes;
  invariant(first, 'at least one node was asked');
  const disagreement = (): Error =>
    transient(
      'payout_nodes_disagree',
      `the network's nodes disagree on an outcome: ${outcomes.map(tell).join('; ')}. Nothing more is paid until they agree: find out which of them is wrong`,
    );
  const isForeign = outcomes.map(({ kind }) => kind === 'foreign');
  if (isForeign.every(Boolean)) return first;
  if (isForeign.some(Boolean)) throw disagreement();
  const settled = outcomes.filter(isSettled);
  const isDead = outcomes.map(({ kind }) => kind === 'dead');
  if (new Set(settled.map(tell)).size > 1 || (settled.length > 0 && isDead.some(Boolean))) throw disagreement();
  if (settled.length === outcomes.length || isDead.every(Boolean)) return first;
  // A node that is behind holds the outcome up.
  const included = outcomes.map(inclusion).find((one) => one !== null);
  return { kind: 'waiting', included: included ?? null };
}

const inclusion = (outcome: Outcome): Readonly<{ tx: string; number: number }> | null => {
  if (outcome.kind === 'waiting') return outcome.included;
  return outcome.kind === 'succeeded' || outcome.kind === 'failed' ? { tx: outcome.tx, number: outcome.number } : null;
};

const tell = (outcome: Outcome): string => {
  const at = inclusion(outcome);
  return at ? `${outcome.kind} ${at.tx} in block ${at.number}` : outcome.kind;
};
