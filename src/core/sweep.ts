/**
 * Which collection addresses are emptied into the treasury, and which are left: by what they hold, how long they have held it, and what it
 * costs. The shell asks what a transaction costs and plans the payouts.
 * @module
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from './fault.ts';
import type { GasIntent, SweepIntent } from './intent.ts';
import { divideCeil, pow10, toPar } from './money.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** What one collection address holds of one currency, by what came there and is final. */
export type SweepOwner = Readonly<{
  /** Derivation index of its key. */
  index: number;
  /** Address key. */
  key: string;
  currency: Currency;
  /** Base units that no sweep has taken or is to take. */
  units: bigint;
  /** Base units that open sweeps are to take. */
  openUnits: bigint;
  /** When the oldest of `units` came. */
  oldestAtMs: number;
  /** How many sweeps of it were ever planned, whatever became of them. */
  sweepCount: number;
}>;

export type SweepPolicy = Readonly<{
  /** Whether the engine sweeps by itself; an operator may always. */
  auto: boolean;
  /** What an address must hold, at par, to be swept for its value. */
  minPar: bigint;
  /** After so long an address is swept whatever it holds, as far as the cost allows. */
  ageMsMax: number;
  /** The most that a sweep may cost of what it moves, in millionths. */
  costSharePpmMax: bigint;
  /** Par value of one native coin; null: nobody knows, and the cost is not judged. */
  nativePricePar: bigint | null;
}>;

export type SweepReason = 'value' | 'age';
/** `not_ours`: the signer has another key at that index. `refused`: the network says that it would fail. `later`: this round is full. */
export type LeftReason = 'too_small' | 'too_dear' | 'in_flight' | 'not_ours' | 'refused' | 'later';

/** An owner whose sweepCount it is. */
export type DueOwner = Readonly<{ owner: SweepOwner; why: SweepReason }>;
export type LeftOwner = Readonly<{ owner: SweepOwner; why: LeftReason; detail?: string }>;

/** What one transaction empties. */
export type SweepGroup = Readonly<{ currency: Currency; due: readonly DueOwner[] }>;

export const ownersOf = ({ due }: SweepGroup): SweepOwner[] => due.map(({ owner }) => owner);
export const unitsOfGroup = (group: SweepGroup): bigint => ownersOf(group).reduce((sum, { units }) => sum + units, 0n);

/** The owners whose sweepCount it is, and those that are left, each with its reason. */
export function judgeOwners(
  owners: readonly SweepOwner[],
  policy: SweepPolicy,
  decimalsOf: (currency: Currency) => number,
  nowMs: number,
): Readonly<{ due: DueOwner[]; left: LeftOwner[] }> {
  const due: DueOwner[] = [];
  const left: LeftOwner[] = [];
  for (const owner of owners) {
    // Two sweeps of one address at once would each count on the other's coins for the fee.
    if (owner.openUnits > 0n) left.push({ owner, why: 'in_flight' });
    else if (owner.units === 0n) continue;
    else if (toPar(owner.units, decimalsOf(owner.currency)) >= policy.minPar) due.push({ owner, why: 'value' });
    else if (nowMs - owner.oldestAtMs >= policy.ageMsMax) due.push({ owner, why: 'age' });
    else left.push({ owner, why: 'too_small' });
  }
  return { due, left };
}

/** Puts what is due into transactions of one currency each, the greatest amounts together, so that a dear one can be left without them. */
export function groupSweeps(due: readonly DueOwner[], ownersMax: number): SweepGroup[] {
  invariant(Number.isInteger(ownersMax) && ownersMax > 0, 'a sweep empties at least one address');
  const byCurrency = new Map<Currency, DueOwner[]>();
  for (const one of due) {
    const same = byCurrency.get(one.owner.currency);
    if (same) same.push(one);
    else byCurrency.set(one.owner.currency, [one]);
  }
  return [...byCurrency].flatMap(([currency, all]) => {
    all.sort(greatestFirst);
    const groups: SweepGroup[] = [];
    for (let at = 0; at < all.length; at += ownersMax) groups.push({ currency, due: all.slice(at, at + ownersMax) });
    return groups;
  });
}

function greatestFirst({ owner: one }: DueOwner, { owner: other }: DueOwner): number {
  if (one.units !== other.units) return one.units > other.units ? -1 : 1;
  return one.index - other.index;
}

/**
 * What a cost is of a value, in millionths and rounded up; null where nobody knows the coin's price.
 * @param costUnits base units of the native coin
 */
export function costSharePpm(
  costUnits: bigint,
  nativeDecimals: number,
  valuePar: bigint,
  { nativePricePar }: Pick<SweepPolicy, 'nativePricePar'>,
): bigint | null {
  if (nativePricePar === null) return null;
  invariant(valuePar > 0n, 'a sweep moves something');
  const costPar = divideCeil(costUnits * nativePricePar, pow10(nativeDecimals));
  return divideCeil(costPar * 1_000_000n, valuePar);
}

export const isTooDear = (
  sharePpm: bigint | null,
  { costSharePpmMax }: Pick<SweepPolicy, 'costSharePpmMax'>,
): boolean => sharePpm !== null && sharePpm > costSharePpmMax;

/**
 * The intent of a group. Its id follows from whom it empties for the how many-th time, so that a database which was put back to an earlier state
 * names the same sweep again, and is given the same bytes.
 */
export function sweepIntent(network: NetworkKey, group: SweepGroup): SweepIntent {
  const owners = ownersOf(group);
  const name = owners.map(({ index, sweepCount, units }) => `${index}.${sweepCount}.${units}`);
  return {
    kind: 'sweep',
    id: `sw_${digest([network, group.currency, ...name])}`,
    network,
    currency: group.currency,
    from: owners.map(({ index, units }) => ({ index, units })),
  };
}

/** The id of the n-th payout of a form that a sweep needs. */
export const gasIdOf = (sweepId: string, form: GasIntent['form'], sweepCount: number): string =>
  `ga_${digest([sweepId, form, String(sweepCount)])}`;

/** None of the parts holds a line feed. */
const digest = (parts: readonly string[]): string => bytesToHex(sha256(utf8ToBytes(parts.join('\n')))).slice(0, 26);
