/**
 * What several nodes of a network together say of a payout's attempts.
 * @module
 */
import { invariant, transient } from '../core/fault.ts';
import type { Fate } from './spend.ts';

const isSettled = (fate: Fate): boolean => fate.kind === 'succeeded' || fate.kind === 'failed';

/**
 * What all nodes together say: an outcome only where each of them has it as final.
 * @throws Fault transient `payout_nodes_disagree`
 */
export function agreedFate(fates: readonly Fate[]): Fate {
  const [first] = fates;
  invariant(first, 'at least one node was asked');
  const disagreement = (): Error =>
    transient(
      'payout_nodes_disagree',
      `the network's nodes disagree on an outcome: ${fates.map(tell).join('; ')}. Nothing more is paid until they agree: find out which of them is wrong`,
    );
  const isForeign = fates.map(({ kind }) => kind === 'foreign');
  if (isForeign.every(Boolean)) return first;
  if (isForeign.some(Boolean)) throw disagreement();
  const settled = fates.filter(isSettled);
  const isDead = fates.map(({ kind }) => kind === 'dead');
  if (new Set(settled.map(tell)).size > 1 || (settled.length > 0 && isDead.some(Boolean))) throw disagreement();
  if (settled.length === fates.length || isDead.every(Boolean)) return first;
  // A node that is behind holds the outcome up.
  const included = fates.map(inclusion).find((one) => one !== null);
  return { kind: 'waiting', included: included ?? null };
}

const inclusion = (fate: Fate): Readonly<{ tx: string; number: number }> | null => {
  if (fate.kind === 'waiting') return fate.included;
  return fate.kind === 'succeeded' || fate.kind === 'failed' ? { tx: fate.tx, number: fate.number } : null;
};

const tell = (fate: Fate): string => {
  const at = inclusion(fate);
  return at ? `${fate.kind} ${at.tx} in block ${at.number}` : fate.kind;
};
