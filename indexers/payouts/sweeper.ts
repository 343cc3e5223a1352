/**
 * Plans the sweeps of a network's deposit addresses to the treasury: applies the policy, and prices each sweep with the
 * gas that it needs. The payout engine makes the sweeps.
 */
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { SweepIntent } from '../../src/core/intent.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import { divideCeil, toPar } from '../../src/core/money.ts';
import type { Payout } from '../../src/core/payout.ts';
import { reasonFault } from '../../src/core/reasons.ts';
import { isRefused, type Missing, type Refused } from '../../src/core/spend.ts';
import {
  costSharePpm,
  gasIntent,
  groupSweeps,
  isTooExpensive,
  judgeOwners,
  type LeftOwner,
  PLAN_MS_MAX,
  type SweepGroup,
  type SweepOwner,
  type SweepPolicy,
  sweepIntent,
} from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { PlannedSweep, SweepPlace } from '../../src/database/payouts/sweeps.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import { ADDRESSES_MAX } from '../../src/signer/protocol.ts';
import { NOT_ADOPTED } from './journal.ts';
import { createPayoutWallets, type PayoutWallets } from './wallets.ts';

/** The likely cost of a sweep with its gas, in base units of the native coin, or why it is impossible. */
type Price = Priced | Refused;
type Priced = Pick<PricedSweep, 'costUnits' | 'before' | 'after'>;

/** Energy that the present plan has lent already. */
type Round = { lentUnits: bigint };

type Pricing = Pick<SweeperOptions, 'rules' | 'node'> & Readonly<{ wallets: Pick<PayoutWallets, 'draft' | 'own'> }>;

/** Adds a tenth to the missing native coin, because the price may move until the sweep is signed. */
const withMargin = (missing: bigint): bigint => divideCeil(missing * 11n, 10n);

/**
 * Prices a sweep with the gas that it needs.
 * @param round loans of this plan so far, to which a loan for this sweep is added
 * @throws Fault of the node or the signer
 */
async function priceOf(pricing: Pricing, sweep: SweepIntent, round: Round): Promise<Price> {
  const { rules, node, wallets } = pricing;
  const quote = await node.quote(await wallets.draft(sweep), null, []);
  if (!isRefused(quote)) return { costUnits: quote.feeUnits, before: [], after: null };
  const payer = rules.payer(sweep);
  if (quote.refused !== 'native_short' || payer.role !== 'collection' || !quote.missing) return quote;
  const { units, costUnits = units, loan } = quote.missing;
  const lent = loan && (await lend(pricing, sweep, payer.index, loan, round));
  // The coin on the address counts too. Otherwise coin sent in small parts would never be too much.
  return lent ?? give(pricing, sweep, payer.index, units, costUnits);
}

/** Plans a transfer of the missing native coin. `sweepUnits`: the cost of the sweep itself. */
async function give(
  { node, wallets }: Pricing,
  sweep: SweepIntent,
  index: number,
  missing: bigint,
  sweepUnits: bigint,
): Promise<Price> {
  const gas = gasIntent(sweep, 'transfer', index, withMargin(missing));
  const quote = await node.quote(await wallets.draft(gas), null, []);
  return isRefused(quote) ? quote : { costUnits: sweepUnits + quote.feeUnits, before: [gas], after: null };
}

/**
 * Plans a loan of the gas wallet's stake, which is reclaimed after the sweep; null if too little of the stake is free.
 * A loan costs only its two transactions.
 */
async function lend(
  pricing: Pricing,
  sweep: SweepIntent,
  index: number,
  loan: NonNullable<Missing['loan']>,
  round: Round,
): Promise<Price | null> {
  const { node, wallets } = pricing;
  const units = withMargin(loan.units);
  const delegate = gasIntent(sweep, 'delegate', index, units);
  // Nothing can be lent to an address without an account. The refund wallet has one, and is quoted instead.
  const draft = { ...(await wallets.draft(delegate)), to: (await wallets.own()).refund };
  const asked = { ...draft, intent: { ...delegate, units: round.lentUnits + units } };
  const quote = await node.quote(asked, null, []);
  if (isRefused(quote)) return null;
  const { coinUnits } = loan;
  const coin = coinUnits > 0n ? await give(pricing, sweep, index, coinUnits, coinUnits) : null;
  if (coin && isRefused(coin)) return coin;
  round.lentUnits += units;
  return {
    costUnits: (coin?.costUnits ?? 0n) + 2n * quote.feeUnits,
    before: [...(coin?.before ?? []), delegate],
    after: gasIntent(sweep, 'reclaim', index, units),
  };
}

/** Returns a share in percent. */
const percentOf = (ppm: bigint): string => `${Number(ppm) / 10_000} %`;

/** Sweeps in one plan. Each takes a few requests to the node. */
const SWEEPS_MAX = 200;
/** Sweeps that are priced for one plan. */
const PRICED_MAX = 5 * SWEEPS_MAX;
/** Refusals that withdraw a sweep, because its address has less than was planned. */
const withdrawing: readonly string[] = ['token_short', 'would_fail'];

export type SweeperOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens' | 'sweep'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  signer: PayingSigner;
  database: Database;
  clock: Clock;
}>;

/** A sweep that would be planned now. `costUnits` is its likely cost with its gas, in base units of the native coin. */
export type PricedSweep = Omit<PlannedSweep, 'keys'> &
  Readonly<{
    group: SweepGroup;
    costUnits: bigint;
    /** Cost relative to the value, in millionths; null: the coin's price is unknown. */
    sharePpm: bigint | null;
  }>;

/** Sweeps that would be planned, and owners that would be left out. */
export type SweepPlan = Judged & Readonly<{ treasury: string }>;
type Judged = Readonly<{ sweeps: readonly PricedSweep[]; left: readonly LeftOwner[] }>;

export type Sweeper = ReturnType<typeof createSweeper>;

export function createSweeper({ network, rules, node, signer, database, clock }: SweeperOptions) {
  const { key, family, mode, tokens } = network;
  const place: SweepPlace = { network: key, pool: { family, mode } };
  const wallets = createPayoutWallets({ network: key, tokens, rules, signer });
  const pricing = { rules, node, wallets };
  const decimalsOf = (currency: Currency): number => tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;

  /**
   * Separates the owners whose address the signer has at their index. Sweeps of others would be signed with the wrong
   * key.
   */
  async function ours(due: readonly SweepOwner[]): Promise<Readonly<{ own: SweepOwner[]; foreign: LeftOwner[] }>> {
    const own: SweepOwner[] = [];
    const foreign: LeftOwner[] = [];
    for (let at = 0; at < due.length; at += ADDRESSES_MAX) {
      const some = due.slice(at, at + ADDRESSES_MAX);
      const keys = await signer.addresses(
        key,
        some.map(({ index }) => index),
      );
      for (const [n, owner] of some.entries()) {
        if (keys[n] === owner.key) own.push(owner);
        else foreign.push({ owner, why: 'not_ours', detail: `the signer has ${keys[n]} at this index` });
      }
    }
    return { own, foreign };
  }

  async function judgeGroup(group: SweepGroup, policy: SweepPolicy, round: Round): Promise<Judged> {
    const sweep = sweepIntent(key, group);
    const priced = await priceOf(pricing, sweep, round);
    const leave = (why: LeftOwner['why'], detail: string): Judged => ({
      sweeps: [],
      left: group.owners.map((owner) => ({ owner, why, detail })),
    });
    if (isRefused(priced)) {
      // One owner may be frozen, or have less than it received. The others must not wait for it.
      if (group.owners.length > 1 && withdrawing.includes(priced.refused))
        return judgeGroups(groupSweeps(group.owners, 1), policy, round);
      return leave('refused', `${priced.refused}: ${priced.message}`);
    }
    const value = toPar(unitsOf(sweep), decimalsOf(sweep.currency));
    const sharePpm = costSharePpm(priced.costUnits, rules.nativeDecimals, value, policy);
    if (isTooExpensive(sharePpm, policy))
      return leave('too_expensive', `it would cost ${percentOf(sharePpm ?? 0n)} of its value`);
    return { sweeps: [{ ...priced, group, sweep, sharePpm }], left: [] };
  }

  /** Prices groups until there are enough sweeps for a plan. */
  async function judgeGroups(groups: readonly SweepGroup[], policy: SweepPolicy, round: Round): Promise<Judged> {
    const [sweeps, left]: [PricedSweep[], LeftOwner[]] = [[], []];
    for (const [priced, group] of groups.entries()) {
      const judged: Judged =
        sweeps.length < SWEEPS_MAX && priced < PRICED_MAX
          ? await judgeGroup(group, policy, round)
          : { sweeps: [], left: group.owners.map((owner) => ({ owner, why: 'later' })) };
      sweeps.push(...judged.sweeps);
      left.push(...judged.left);
    }
    return { sweeps, left };
  }

  /** Returns whether a waiting sweep can never be signed as planned. */
  function isImpossible({ intent, wait }: Payout): boolean {
    if (!wait) return false;
    // The next plan sends the missing coin to the address, if the sweep is still worth its cost.
    const isAddressShort = wait.code === 'native_short' && rules.payer(intent).role === 'collection';
    return isAddressShort || withdrawing.includes(wait.code);
  }

  /**
   * Refuses to plan while the database is behind the signer, because money that looks unswept may have been swept.
   * @throws Fault permanent `payouts_not_adopted`
   */
  async function refuseBehind(): Promise<void> {
    const served = await signer.fence(key);
    const engine = (await database.engines.list()).find((one) => one.network === key);
    if (served <= (engine?.fence ?? 0)) return;
    throw reasonFault(NOT_ADOPTED, { network: key, what: `fence ${served}` });
  }

  return {
    /**
     * Plans without saving.
     * @throws Fault of the node or the signer; permanent `treasury_collects`, `payouts_not_adopted`
     */
    async plan(all: readonly SweepOwner[], policy: SweepPolicy): Promise<SweepPlan> {
      await refuseBehind();
      // Another gas wallet may pay now.
      await wallets.refresh();
      const { treasury } = await wallets.own();
      await database.sweeps.checkTreasury(place.pool, treasury);
      const { due, left } = judgeOwners(all, policy, decimalsOf);
      const { own, foreign } = await ours(due);
      const judged = await judgeGroups(groupSweeps(own, rules.sweepOwnersMax), policy, { lentUnits: 0n });
      return { treasury, sweeps: judged.sweeps, left: [...foreign, ...judged.left, ...left] };
    },
    /**
     * Saves a plan.
     * @returns the ids of the planned sweeps; those whose money got into another plan meanwhile are left out
     */
    async commit({ treasury, sweeps }: SweepPlan): Promise<readonly string[]> {
      const planned = sweeps.map((one) => ({ ...one, keys: one.group.owners.map((owner) => owner.key) }));
      return database.sweeps.plan({ ...place, treasury, sweeps: planned, nowMs: clock.nowMs() });
    },
    /**
     * Withdraws waiting sweeps, to be planned again. A sweep is withdrawn if an address has less than was planned, is
     * frozen or lacks native coin, or if the sweep is automatic and was not signed in time.
     * @returns the number of withdrawn sweeps
     */
    async tend(): Promise<number> {
      const nowMs = clock.nowMs();
      let withdrawn = 0;
      const waiting = { network: key, kind: 'sweep', state: 'waiting', limit: SWEEPS_MAX } as const;
      for (const sweep of await database.payouts.list(waiting)) {
        const isPossible = !isImpossible(sweep);
        // Sweeps that nobody plans again are not withdrawn.
        if (isPossible && (!network.sweep.auto || nowMs < sweep.createdAtMs + PLAN_MS_MAX)) continue;
        if (await database.sweeps.withdraw(sweep.id, isPossible, nowMs)) withdrawn++;
      }
      return withdrawn;
    },
  };
}
