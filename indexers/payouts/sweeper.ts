/**
 * Finds the money on a network's deposit addresses and brings it to the treasury: applies the policy, prices sweeps
 * with the gas that they need, and plans them. The same price decides whether what of a sweep is signed later, and more
 * coin that it is sent, are worth it. The payout engine makes them.
 */
import type { PayoutNode, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant, permanent } from '../../src/core/fault.ts';
import type { GasIntent, SweepIntent } from '../../src/core/intent.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import { divideCeil, toPar } from '../../src/core/money.ts';
import { isRefused, type Missing, type Quote, type Refused } from '../../src/core/spend.ts';
import {
  costSharePpm,
  type DueOwner,
  gasIdOf,
  groupSweeps,
  isTooDear,
  judgeOwners,
  type LeftOwner,
  ownersOf,
  type SweepGroup,
  type SweepOwner,
  type SweepPolicy,
  sweepIntent,
} from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { PlannedSweep, SweepPlace } from '../../src/database/payouts/sweeps.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { ADDRESSES_MAX } from '../../src/signer/protocol.ts';
import type { Signer } from '../../src/signer/signer.ts';
import { createPayoutWallets, type PayoutWallets } from './wallets.ts';

/** Payouts that a sweep needs before it, in this order, and after it. */
type SweepNeeds = Pick<PlannedSweep, 'before' | 'after'>;

/** The likely cost of a sweep with its gas, in base units of the native coin, or why it is impossible. */
type Price = Priced | Refused;
type Priced = Readonly<{ costUnits: bigint; needs: SweepNeeds }>;

/** `sharePpm`: the cost relative to the value, in millionths; null: the coin's price is unknown. */
type Judged = Readonly<{ sharePpm: bigint | null; isTooDear: boolean }>;

/** Amount that the swept address lacks to pay for its sweep, and what its transaction costs at most. */
type Short = Readonly<{ index: number; missing: bigint; cost: bigint; loan: Missing['loan'] }>;

/** Energy that one plan has lent already. */
type Round = { lentUnits: bigint };

interface SweepCosts {
  /**
   * Prices a sweep.
   * @param round what has been lent to others of the same plan; what is lent for this one is added
   * @param quote of the sweep now, if known
   * @throws Fault of the node or the signer
   */
  price(sweep: SweepIntent, round: Round, quote?: Quote): Promise<Price>;
  judge(sweep: SweepIntent, costUnits: bigint, policy: SweepPolicy): Judged;
  /** Returns what the sweep's own address lacks; null for any other quote. */
  shortOf(sweep: SweepIntent, quote: Quote): Short | null;
  /** Returns the native coin that a sweep is sent, for the n-th time. */
  coinFor(sweep: SweepIntent, short: Pick<Short, 'index' | 'missing'>, topUp: number): GasIntent;
}

/** Sends a tenth more native coin than is missing now: the price moves until the sweep is signed. */
const withMargin = (missing: bigint): bigint => divideCeil(missing * 11n, 10n);

const noNeeds: SweepNeeds = { before: [], after: null };

function shortOf(rules: SpendRules, sweep: SweepIntent, quote: Quote): Short | null {
  const payer = rules.payer(sweep);
  if (!isRefused(quote) || quote.refused !== 'native_short' || payer.role !== 'collection') return null;
  if (!quote.missing) return null;
  // Count the coin that the address holds, too: otherwise coin sent in small parts would never be too much.
  const { units: missing, costUnits: cost = missing, loan } = quote.missing;
  return { index: payer.index, missing, cost, loan };
}

function createSweepCosts({
  network: { key, tokens },
  rules,
  node,
  wallets,
}: Readonly<{
  network: Pick<NetworkConfig, 'key' | 'tokens'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  wallets: Pick<PayoutWallets, 'draft' | 'own'>;
}>): SweepCosts {
  const gasIntent = (
    sweepId: string,
    form: GasIntent['form'],
    index: number,
    topUp: number,
    units: bigint,
  ): GasIntent => ({
    kind: 'gas',
    id: gasIdOf(sweepId, form, topUp),
    network: key,
    form,
    index,
    units,
  });

  const coinFor: SweepCosts['coinFor'] = ({ id }, { index, missing }, topUp) =>
    gasIntent(id, 'transfer', index, topUp, withMargin(missing));

  /** Plans native coin for what is missing. `cost`: of the sweep itself. */
  async function give(sweep: SweepIntent, short: Pick<Short, 'index' | 'missing' | 'cost'>): Promise<Price> {
    const gas = coinFor(sweep, short, 0);
    const quote = await node.quote(await wallets.draft(gas), null, []);
    if (isRefused(quote)) return quote;
    return { costUnits: short.cost + quote.feeUnits, needs: { before: [gas], after: null } };
  }

  /**
   * Plans a loan of the gas wallet's stake, reclaimed after the sweep, if enough of the stake is free; null otherwise.
   * Lent resources cost only the transactions around them.
   */
  async function lend(sweep: SweepIntent, { index, loan }: Short, round: Round): Promise<Price | null> {
    if (!loan) return null;
    const units = withMargin(loan.units);
    const delegate = gasIntent(sweep.id, 'delegate', index, 0, units);
    // Nothing can be lent to an address without an account; the refund wallet, which has one, is quoted instead.
    const draft = { ...(await wallets.draft(delegate)), to: (await wallets.own()).refund };
    const asked = { ...draft, intent: { ...delegate, units: round.lentUnits + units } };
    const quote = await node.quote(asked, null, []);
    if (isRefused(quote)) return null;
    const missing = loan.coinUnits;
    const coin = missing > 0n ? await give(sweep, { index, missing, cost: missing }) : null;
    if (coin && isRefused(coin)) return coin;
    round.lentUnits += units;
    const after = gasIntent(sweep.id, 'reclaim', index, 0, units);
    const before = [...(coin?.needs.before ?? []), delegate];
    return { costUnits: (coin?.costUnits ?? 0n) + 2n * quote.feeUnits, needs: { before, after } };
  }

  return {
    shortOf: (sweep, quote) => shortOf(rules, sweep, quote),
    coinFor,
    async price(sweep, round, known) {
      const quote = known ?? (await node.quote(await wallets.draft(sweep), null, []));
      if (!isRefused(quote)) return { costUnits: quote.feeUnits, needs: noNeeds };
      const short = shortOf(rules, sweep, quote);
      if (!short) return quote;
      return (await lend(sweep, short, round)) ?? give(sweep, short);
    },
    judge(sweep, costUnits, policy) {
      const token = tokens.find(({ symbol }) => symbol === sweep.currency);
      invariant(token, `${sweep.currency} is a token of ${key}`);
      const sharePpm = costSharePpm(costUnits, rules.nativeDecimals, toPar(unitsOf(sweep), token.decimals), policy);
      return { sharePpm, isTooDear: isTooDear(sharePpm, policy) };
    },
  };
}

/** Returns a share as people read it. */
const percentOf = (ppm: bigint): string => `${Number(ppm) / 10_000} %`;

/** Transactions of one round; each takes a few requests to the node. */
const SWEEPS_MAX = 200;
/** At most this many are priced for them. */
const PRICED_MAX = 5 * SWEEPS_MAX;
/** How often a sweep is sent native coin; if it still lacks some, a person must act. */
const TOP_UPS_MAX = 5;
/** Reasons to withdraw a sweep, because its address no longer holds what was planned. */
const withdrawing: readonly string[] = ['token_short', 'would_fail'];

export type SweeperOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens' | 'sweep'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  signer: Signer;
  database: Database;
  clock: Clock;
}>;

/**
 * A sweep as it would be planned now. `costUnits` is its likely cost including its gas, in base units of the native
 * coin.
 */
export type PricedSweep = Readonly<{
  group: SweepGroup;
  sweep: SweepIntent;
  needs: SweepNeeds;
  costUnits: bigint;
  /** Cost relative to the value, in millionths; null: the coin's price is unknown. */
  sharePpm: bigint | null;
}>;

/** Sweeps that would be planned, and what would be left. */
export type SweepPlan = Readonly<{ treasury: string; sweeps: readonly PricedSweep[]; left: readonly LeftOwner[] }>;

export interface Sweeper {
  /**
   * Plans without saving.
   * @throws Fault of the node or the signer; permanent `treasury_collects`, `payouts_not_adopted`
   */
  plan(owners: readonly SweepOwner[], policy: SweepPolicy): Promise<SweepPlan>;
  /**
   * Saves a plan.
   * @returns the ids of the planned sweeps: those whose money is in no other plan meanwhile
   */
  commit(plan: SweepPlan): Promise<readonly string[]>;
  /**
   * Helps waiting sweeps. Those that lack native coin get more. Withdrawn, to be planned again, are those that are
   * impossible, because an address holds less or is frozen, and automatic ones that were not signed in time.
   */
  tend(): Promise<Readonly<{ toppedUp: number; takenBack: number }>>;
}

export function createSweeper({ network, rules, node, signer, database, clock }: SweeperOptions): Sweeper {
  const { key, family, mode, tokens } = network;
  const place: SweepPlace = { network: key, pool: { family, mode } };
  const wallets = createPayoutWallets({ network: key, tokens, rules, signer });
  const costs = createSweepCosts({ network, rules, node, wallets });
  const decimalsOf = (currency: Currency): number | undefined =>
    tokens.find(({ symbol }) => symbol === currency)?.decimals;

  /**
   * Separates the owners whose key the signer has at their index; the others would be signed for with the wrong key.
   */
  async function ours(due: readonly DueOwner[]): Promise<Readonly<{ own: DueOwner[]; foreign: LeftOwner[] }>> {
    const own: DueOwner[] = [];
    const foreign: LeftOwner[] = [];
    for (let at = 0; at < due.length; at += ADDRESSES_MAX) {
      const some = due.slice(at, at + ADDRESSES_MAX);
      const keys = await signer.addresses(
        key,
        some.map(({ owner }) => owner.index),
      );
      for (const [n, one] of some.entries()) {
        if (keys[n] === one.owner.key) own.push(one);
        else foreign.push({ owner: one.owner, why: 'not_ours', detail: `the signer has ${keys[n]} at this index` });
      }
    }
    return { own, foreign };
  }

  async function judgeGroup(
    group: SweepGroup,
    policy: SweepPolicy,
    round: Round,
  ): Promise<Omit<SweepPlan, 'treasury'>> {
    const sweep = sweepIntent(key, group);
    const priced = await costs.price(sweep, round);
    const leave = (why: LeftOwner['why'], detail: string) => ({
      sweeps: [],
      left: ownersOf(group).map((owner) => ({ owner, why, detail })),
    });
    if (isRefused(priced)) {
      const [only] = group.due;
      if (only && group.due.length === 1 && priced.refused === 'token_short' && priced.missing)
        return judgeHeld(group, only.owner, priced.missing.units, policy, round);
      // One of them may be frozen, or hold less than it received: the others must not wait for it.
      if (group.due.length > 1 && (priced.refused === 'would_fail' || priced.refused === 'token_short')) {
        const singles = groupSweeps(group.due, 1);
        const judged = [];
        for (const single of singles) judged.push(await judgeGroup(single, policy, round));
        return { sweeps: judged.flatMap((one) => one.sweeps), left: judged.flatMap((one) => one.left) };
      }
      return leave('refused', `${priced.refused}: ${priced.message}`);
    }
    const { costUnits, needs } = priced;
    const { sharePpm, isTooDear } = costs.judge(sweep, costUnits, policy);
    if (isTooDear) return leave('too_dear', `it would cost ${percentOf(sharePpm ?? 0n)} of its value`);
    return { sweeps: [{ group, sweep, needs, costUnits, sharePpm }], left: [] };
  }

  /**
   * An address may hold less than the database calls unswept: a run that was lost when the machine was put back may
   * have swept it. What it holds is swept then.
   */
  async function judgeHeld(
    group: SweepGroup,
    owner: SweepOwner,
    missing: bigint,
    policy: SweepPolicy,
    round: Round,
  ): Promise<Omit<SweepPlan, 'treasury'>> {
    const held = { ...owner, units: owner.units - missing };
    if (held.units <= 0n) {
      const detail = 'the address holds nothing any more: it was swept by a run that is not known here';
      return { sweeps: [], left: [{ owner, why: 'refused', detail }] };
    }
    const { due, left } = judgeOwners([held], policy, (currency) => decimalsOf(currency) ?? 0, clock.nowMs());
    return due.length === 0 ? { sweeps: [], left } : judgeGroup({ ...group, due }, policy, round);
  }

  /** Prices groups until there are enough transactions for a round. */
  async function judgeGroups(groups: readonly SweepGroup[], policy: SweepPolicy) {
    const round: Round = { lentUnits: 0n };
    const [sweeps, left]: [PricedSweep[], LeftOwner[]] = [[], []];
    for (const [priced, group] of groups.entries()) {
      const judged =
        sweeps.length < SWEEPS_MAX && priced < PRICED_MAX
          ? await judgeGroup(group, policy, round)
          : { sweeps: [], left: ownersOf(group).map((owner) => ({ owner, why: 'later' }) as const) };
      sweeps.push(...judged.sweeps);
      left.push(...judged.left);
    }
    return { sweeps, left };
  }

  /** Returns whether more is being sent now: not if the sweep would cost too much by that. */
  async function topUp(sweep: SweepIntent): Promise<boolean> {
    const topUp = await database.sweeps.countTopUps(sweep.id);
    const quote = await node.quote(await wallets.draft(sweep), null, []);
    const short = costs.shortOf(sweep, quote);
    if (!short || topUp >= TOP_UPS_MAX) return false;
    const priced = await costs.price(sweep, { lentUnits: 0n }, quote);
    if (!isRefused(priced) && costs.judge(sweep, priced.costUnits, network.sweep).isTooDear) return false;
    return database.sweeps.topUp(sweep.id, costs.coinFor(sweep, short, topUp), clock.nowMs());
  }

  /**
   * Money that an older database calls unswept may have been swept already.
   * @throws Fault permanent `payouts_not_adopted`
   */
  async function refuseBehind(): Promise<void> {
    const served = await signer.fence(key);
    const engine = (await database.engines.list()).find((one) => one.network === key);
    if (served <= (engine?.fence ?? 0)) return;
    throw permanent(
      'payouts_not_adopted',
      `this database is older than the newest signatures on ${key}: run \`quayside payout reconcile ${key}\` before any sweep`,
    );
  }

  return {
    async plan(all, policy) {
      await refuseBehind();
      // Another gas wallet may pay by now.
      await wallets.refresh();
      const { treasury } = await wallets.own();
      await database.sweeps.checkTreasury(place.pool, treasury);
      const { due, left } = judgeOwners(all, policy, (currency) => decimalsOf(currency) ?? 0, clock.nowMs());
      const { own, foreign } = await ours(due);
      const groups = groupSweeps(own, rules.sweepOwnersMax);
      const judged = await judgeGroups(groups, policy);
      return { treasury, sweeps: judged.sweeps, left: [...foreign, ...judged.left, ...left] };
    },
    async commit({ treasury, sweeps }) {
      const planned = sweeps.map(({ sweep, needs, group }) => ({
        sweep,
        ...needs,
        keys: ownersOf(group).map((owner) => owner.key),
      }));
      return database.sweeps.plan({ ...place, treasury, sweeps: planned, nowMs: clock.nowMs() });
    },
    async tend() {
      // Sweeps that nobody plans again are not withdrawn.
      const stale = network.sweep.auto ? await database.sweeps.withdrawStale(key, clock.nowMs()) : [];
      const waiting = await database.payouts.list({ network: key, kind: 'sweep', state: 'waiting', limit: SWEEPS_MAX });
      let [toppedUp, takenBack] = [0, stale.length];
      for (const { id, intent, wait } of waiting) {
        if (!wait || intent.kind !== 'sweep') continue;
        if (wait.code === 'native_short' && (await topUp(intent))) toppedUp++;
        if (withdrawing.includes(wait.code) && (await database.payouts.cancel(id, clock.nowMs()))) takenBack++;
      }
      return { toppedUp, takenBack };
    },
  };
}
