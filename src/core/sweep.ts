/**
 * Chooses the deposit addresses to sweep into the treasury by balance and cost. The caller asks for the price of a
 * transaction and plans the payouts.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from './fault.ts';
import type { GasIntent, SweepIntent } from './intent.ts';
import { divideCeil, pow10, toPar } from './money.ts';
import type { Payout } from './payout.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** Time that a planned sweep may wait for its signature. Fees change meanwhile, and only a new plan compares them. */
export const PLAN_MS_MAX = 600_000;

/**
 * Reasons that concern a wallet, not the sweep. A new plan would meet the same one, and would end its alarm too early.
 */
const walletReasons: readonly string[] = ['native_short', 'signer_refused_cap'];

/** A deposit address's balance in one currency, counting only final transfers. */
export type SweepOwner = Readonly<{
  /** Derivation index of its key. */
  index: number;
  /** Address key. */
  key: string;
  currency: Currency;
  /** Base units that no sweep has taken or plans to take. */
  units: bigint;
  /** Base units that open sweeps plan to take. */
  openUnits: bigint;
  /** Number of sweeps ever planned for it, with any outcome. */
  sweepCount: number;
}>;

export type SweepPolicy = Readonly<{
  /** Whether the engine sweeps on its own. An operator always can. */
  auto: boolean;
  /** Smallest balance, at par, that is swept. */
  minPar: bigint;
  /** The largest acceptable cost as a share of the amount, in millionths. */
  costSharePpmMax: bigint;
  /** Par value of one native coin; null if unknown. Then the cost is not judged. */
  nativePricePar: bigint | null;
}>;

/**
 * `not_ours`: the signer has another key at that index. `refused`: the network reports that the transaction would fail.
 * `later`: this round is full.
 */
export type LeftReason = 'too_small' | 'too_expensive' | 'in_flight' | 'not_ours' | 'refused' | 'later';

export type LeftOwner = Readonly<{ owner: SweepOwner; why: LeftReason; detail?: string }>;

/** The content of one sweep transaction. */
export type SweepGroup = Readonly<{ currency: Currency; owners: readonly SweepOwner[] }>;

/** Splits owners into those to sweep now and those to leave, each with its reason. */
export function judgeOwners(
  owners: readonly SweepOwner[],
  { minPar }: Pick<SweepPolicy, 'minPar'>,
  decimalsOf: (currency: Currency) => number,
): Readonly<{ due: SweepOwner[]; left: LeftOwner[] }> {
  const due: SweepOwner[] = [];
  const left: LeftOwner[] = [];
  for (const owner of owners) {
    // Two concurrent sweeps of one address would each count on the other's coins for the fee.
    if (owner.openUnits > 0n) left.push({ owner, why: 'in_flight' });
    else if (owner.units === 0n) continue;
    else if (toPar(owner.units, decimalsOf(owner.currency)) >= minPar) due.push(owner);
    else left.push({ owner, why: 'too_small' });
  }
  return { due, left };
}

/**
 * Groups due owners into transactions by currency, largest amounts first, so that an expensive group can be left out.
 */
export function groupSweeps(due: readonly SweepOwner[], ownersMax: number): SweepGroup[] {
  invariant(Number.isInteger(ownersMax) && ownersMax > 0, 'a sweep empties at least one address');
  const byCurrency = new Map<Currency, SweepOwner[]>();
  for (const owner of due) {
    const same = byCurrency.get(owner.currency);
    if (same) same.push(owner);
    else byCurrency.set(owner.currency, [owner]);
  }
  return [...byCurrency].flatMap(([currency, all]) => {
    all.sort(greatestFirst);
    const groups: SweepGroup[] = [];
    for (let at = 0; at < all.length; at += ownersMax) groups.push({ currency, owners: all.slice(at, at + ownersMax) });
    return groups;
  });
}

function greatestFirst(one: SweepOwner, other: SweepOwner): number {
  if (one.units !== other.units) return one.units > other.units ? -1 : 1;
  return one.index - other.index;
}

/**
 * Returns a cost as a share of a value, in millionths, rounded up; null if the coin's price is unknown.
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

export const isTooExpensive = (
  sharePpm: bigint | null,
  { costSharePpmMax }: Pick<SweepPolicy, 'costSharePpmMax'>,
): boolean => sharePpm !== null && sharePpm > costSharePpmMax;

type Planned = Pick<Payout, 'state' | 'wait' | 'createdAtMs' | 'settledAtMs'>;

/**
 * Returns whether an unsigned sweep is withdrawn, so that the next plan judges its cost again. It has then waited too
 * long since it was planned, or since the last of its gas ended.
 * @param gas gas payouts that its addresses get before it
 */
export function isPlanStale(sweep: Planned, gas: readonly Planned[], nowMs: number): boolean {
  if (sweep.state !== 'waiting' || gas.some(({ state }) => state === 'sent' || state === 'stuck')) return false;
  const waiting = [sweep, ...gas].filter(({ state }) => state === 'waiting');
  if (waiting.some(({ wait }) => wait !== null && walletReasons.includes(wait.code))) return false;
  const sinceMs = Math.max(sweep.createdAtMs, ...gas.map(({ settledAtMs }) => settledAtMs ?? 0));
  return nowMs - sinceMs >= PLAN_MS_MAX;
}

/**
 * Returns the intent of a group. The id is derived from the addresses and their sweep counts, so a database restored
 * from a backup produces the same id and gets the same signed bytes.
 */
export function sweepIntent(network: NetworkKey, { currency, owners }: SweepGroup): SweepIntent {
  const name = owners.map(({ index, sweepCount, units }) => `${index}.${sweepCount}.${units}`);
  return {
    kind: 'sweep',
    id: `sw_${digest([network, currency, ...name])}`,
    network,
    currency,
    from: owners.map(({ index, units }) => ({ index, units })),
  };
}

/** Returns a gas intent for the sweep of an address. A sweep has at most one of each form. */
export const gasIntent = (
  { id, network }: Pick<SweepIntent, 'id' | 'network'>,
  form: GasIntent['form'],
  index: number,
  units: bigint,
): GasIntent => ({ kind: 'gas', id: `ga_${digest([id, form])}`, network, form, index, units });

/** Hashes parts that contain no line feed. */
const digest = (parts: readonly string[]): string => bytesToHex(sha256(utf8ToBytes(parts.join('\n')))).slice(0, 26);
