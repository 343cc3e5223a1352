/**
 * Finds the money on a network's deposit addresses and brings it to the treasury: applies the policy, gets quotes, and
 * plans sweeps, with native coin for those that lack it. The payout engine makes them.
 *
 * @module
 */
import type { PayoutNode, Quote, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant, permanent } from '../../src/core/fault.ts';
import type { GasIntent, SweepIntent } from '../../src/core/intent.ts';
import { divideCeil, toPar } from '../../src/core/money.ts';
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
  unitsOfGroup,
} from '../../src/core/sweep.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { PlannedSweep, SweepPlace } from '../../src/database/sweeps.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { ADDRESSES_MAX } from '../../src/signer/protocol.ts';
import type { Signer } from '../../src/signer/signer.ts';
import { priceRefunds, type RefundCosts } from './waiting-refunds.ts';
import { createPayoutWallets } from './wallets.ts';

/** Transactions of one round; each takes a few requests to the node. */
const SWEEPS_MAX = 200;
/** How often a sweep is sent native coin; if it still lacks some, a person must act. */
const TOP_UPS_MAX = 5;
/** Reasons that may never resolve by themselves. */
const hopeless: readonly string[] = ['token_short', 'would_fail'];
/** Sends a tenth more native coin than is missing now: the price moves until the sweep is signed. */
const withMargin = (missing: bigint): bigint => divideCeil(missing * 11n, 10n);

export type SweeperOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  signer: Signer;
  database: Database;
  clock: Clock;
}>;

/** What a sweep needs before it, in this order, and after it. */
export type SweepNeeds = Pick<PlannedSweep, 'before' | 'after'>;

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
  /** What each way of paying for it would cost; the planned one is a loan if enough stake is free. */
  ways: SweepWays | null;
}>;

/** Where an address can be sent coins or be lent a stake, in base units of the native coin. */
export type SweepWays = Readonly<{
  /** Cost with coins that the address burns; null: refused now. */
  burnedUnits: bigint | null;
  /** The stake that would be lent for a while, and what the transactions around it cost; null: not enough is free. */
  lentUnits: bigint;
  lendingUnits: bigint | null;
}>;

/** What would be swept, and what would be left; nothing is planned yet. */
export type SweepPlan = Readonly<{ treasury: string; sweeps: readonly PricedSweep[]; left: readonly LeftOwner[] }>;

export interface Sweeper {
  /**
   * Plans without saving.
   * @throws Fault of the node or the signer; permanent `treasury_collects`, `payouts_not_adopted`
   */
  plan(owners: readonly SweepOwner[], policy: SweepPolicy): Promise<SweepPlan>;
  /**
   * Prices the refunds that wait, whose energy or coins are planned beside those of sweeps.
   * @throws Fault of the node or the signer
   */
  priceRefunds(): Promise<RefundCosts>;
  /**
   * Saves a plan.
   * @returns the ids of the planned sweeps: those whose money is in no other plan meanwhile
   */
  commit(plan: SweepPlan): Promise<readonly string[]>;
  /**
   * Helps waiting sweeps: those that lack native coin get more, and those that are impossible, because an address holds
   * less or is frozen, are withdrawn, to be planned again without it.
   */
  tend(): Promise<Readonly<{ toppedUp: number; takenBack: number }>>;
}

/** The price of a group, or why it is impossible. */
type Price = Readonly<{ kind: 'priced'; costUnits: bigint; needs: SweepNeeds; ways?: SweepWays }> | Refused;
type Refused = Quote & Readonly<{ kind: 'refused' }>;

/** What the swept address lacks to pay for its sweep. */
type Short = Readonly<{ index: number; missing: bigint; loan: NonNullable<Refused['loan']> | null }>;

/** What one plan has lent already. */
type Round = { lentUnits: bigint };

const noNeeds: SweepNeeds = { before: [], after: null };

export function createSweeper({ network, rules, node, signer, database, clock }: SweeperOptions): Sweeper {
  const { key, family, mode, tokens } = network;
  const place: SweepPlace = { network: key, pool: { family, mode } };
  const wallets = createPayoutWallets({ network: key, tokens, rules, signer });
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

  /** Returns what the sweep's own address lacks; null for any other quote. */
  function shortOf(sweep: SweepIntent, quote: Quote): Short | null {
    const payer = rules.payer(sweep);
    if (quote.kind !== 'refused' || quote.code !== 'native_short' || payer.role !== 'collection') return null;
    const { missingUnits: missing, loan = null } = quote;
    return missing === undefined ? null : { index: payer.index, missing, loan };
  }

  async function price(sweep: SweepIntent, round: Round): Promise<Price> {
    const quote = await node.quote(await wallets.draft(sweep), null, []);
    if (quote.kind === 'quoted') return { kind: 'priced', costUnits: quote.feeUnits, needs: noNeeds };
    const short = shortOf(sweep, quote);
    if (!short) return quote;
    const lent = await lend(sweep, short, round);
    const given = await give(sweep, short.index, short.missing);
    const priced = lent ?? given;
    if (!short.loan || priced.kind === 'refused') return priced;
    const costOf = (price: Price | null) => (price?.kind === 'priced' ? price.costUnits : null);
    const lentUnits = withMargin(short.loan.units);
    const ways: SweepWays = { burnedUnits: costOf(given), lentUnits, lendingUnits: costOf(lent) };
    return { ...priced, ways };
  }

  /**
   * Plans native coin for the whole fee. The missing amount is the maximum cost: nothing else is paid from a deposit
   * address.
   */
  async function give({ id }: SweepIntent, index: number, missing: bigint): Promise<Price> {
    const gas = gasIntent(id, 'transfer', index, 0, withMargin(missing));
    const quote = await node.quote(await wallets.draft(gas), null, []);
    if (quote.kind === 'refused') return quote;
    return { kind: 'priced', costUnits: missing + quote.feeUnits, needs: { before: [gas], after: null } };
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
    if (quote.kind === 'refused') return null;
    const coin = loan.missingUnits > 0n ? await give(sweep, index, loan.missingUnits) : null;
    if (coin?.kind === 'refused') return coin;
    round.lentUnits += units;
    const after = gasIntent(sweep.id, 'reclaim', index, 0, units);
    const before = [...(coin?.needs.before ?? []), delegate];
    return { kind: 'priced', costUnits: (coin?.costUnits ?? 0n) + 2n * quote.feeUnits, needs: { before, after } };
  }

  async function judgeGroup(
    group: SweepGroup,
    policy: SweepPolicy,
    round: Round,
  ): Promise<Omit<SweepPlan, 'treasury'>> {
    const sweep = sweepIntent(key, group);
    const priced = await price(sweep, round);
    const leave = (why: LeftOwner['why'], detail: string) => ({
      sweeps: [],
      left: ownersOf(group).map((owner) => ({ owner, why, detail })),
    });
    if (priced.kind === 'refused') {
      // One of them may be frozen, or hold less than it received: the others must not wait for it.
      if (group.due.length > 1 && (priced.code === 'would_fail' || priced.code === 'token_short')) {
        const singles = groupSweeps(group.due, 1);
        const judged = [];
        for (const single of singles) judged.push(await judgeGroup(single, policy, round));
        return { sweeps: judged.flatMap((one) => one.sweeps), left: judged.flatMap((one) => one.left) };
      }
      return leave('refused', `${priced.code}: ${priced.message}`);
    }
    const { costUnits, needs, ways = null } = priced;
    const decimals = decimalsOf(group.currency);
    invariant(decimals !== undefined, `${group.currency} is a token of ${key}`);
    const sharePpm = costSharePpm(costUnits, rules.nativeDecimals, toPar(unitsOfGroup(group), decimals), policy);
    if (isTooDear(sharePpm, policy)) return leave('too_dear', `it would cost ${percent(sharePpm ?? 0n)} of its value`);
    return { sweeps: [{ group, sweep, needs, costUnits, sharePpm, ways }], left: [] };
  }

  /** Returns whether more is being sent now. */
  async function topUp(sweep: SweepIntent): Promise<boolean> {
    const topUp = await database.countTopUps(sweep.id);
    const short = shortOf(sweep, await node.quote(await wallets.draft(sweep), null, []));
    if (!short || topUp >= TOP_UPS_MAX) return false;
    const gas = gasIntent(sweep.id, 'transfer', short.index, topUp, withMargin(short.missing));
    return database.topUpSweep(sweep.id, gas, clock.nowMs());
  }

  /**
   * Money that an older database calls unswept may have been swept already.
   * @throws Fault permanent `payouts_not_adopted`
   */
  async function refuseBehind(): Promise<void> {
    const served = await signer.fence(key);
    const engine = (await database.listEngines()).find((one) => one.network === key);
    if (served <= (engine?.fence ?? 0)) return;
    throw permanent(
      'payouts_not_adopted',
      `this database is older than the newest signatures on ${key}: run \`quayside payouts adopt ${key}\` before any sweep`,
    );
  }

  return {
    async plan(all, policy) {
      await refuseBehind();
      // The gas wallet may have been rotated.
      await wallets.refresh();
      const { treasury } = await wallets.own();
      await database.checkTreasury(place.pool, treasury);
      const { due, left } = judgeOwners(all, policy, (currency) => decimalsOf(currency) ?? 0, clock.nowMs());
      const { own, foreign } = await ours(due);
      const groups = groupSweeps(own, rules.sweepOwnersMax);
      const later = groups.slice(SWEEPS_MAX).flatMap(ownersOf);
      const judged = [];
      const round: Round = { lentUnits: 0n };
      for (const group of groups.slice(0, SWEEPS_MAX)) judged.push(await judgeGroup(group, policy, round));
      return {
        treasury,
        sweeps: judged.flatMap(({ sweeps }) => sweeps),
        left: [
          ...foreign,
          ...judged.flatMap((one) => one.left),
          ...left,
          ...later.map((owner) => ({ owner, why: 'later' as const })),
        ],
      };
    },
    priceRefunds: () => priceRefunds(key, { node, wallets, database }),
    async commit({ treasury, sweeps }) {
      const planned = sweeps.map(({ sweep, needs, group }) => ({
        sweep,
        ...needs,
        keys: ownersOf(group).map((owner) => owner.key),
      }));
      return database.planSweeps({ ...place, treasury, sweeps: planned, nowMs: clock.nowMs() });
    },
    async tend() {
      const waiting = await database.listPayouts({ network: key, kind: 'sweep', state: 'waiting', limit: SWEEPS_MAX });
      let [toppedUp, takenBack] = [0, 0];
      for (const { id, intent, wait } of waiting) {
        if (!wait || intent.kind !== 'sweep') continue;
        if (wait.code === 'native_short' && (await topUp(intent))) toppedUp++;
        if (hopeless.includes(wait.code) && (await database.cancelPayout(id, clock.nowMs()))) takenBack++;
      }
      return { toppedUp, takenBack };
    },
  };
}

const percent = (ppm: bigint): string => `${Number(ppm) / 10_000} %`;
