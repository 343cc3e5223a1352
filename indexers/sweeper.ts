/**
 * Finds what lies on a network's collection addresses and brings it to the treasury: judges it by the policy, asks what it costs, and plans
 * sweeps, with native coin for those that lack it. The payout engine makes them.
 * @module
 */
import type { PayoutNode, Quote, SpendRules } from '../src/chains/spend.ts';
import type { Clock } from '../src/clock.ts';
import type { NetworkConfig } from '../src/config.ts';
import { invariant } from '../src/core/fault.ts';
import type { GasIntent, SweepIntent } from '../src/core/intent.ts';
import { divideCeil, toPar } from '../src/core/money.ts';
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
} from '../src/core/sweep.ts';
import type { Currency } from '../src/core/transfer.ts';
import type { Signer } from '../src/signing.ts';
import { ADDRESSES_MAX } from '../src/signing-wire.ts';
import type { Store } from '../src/store/store.ts';
import type { SweepPlace, UnsweptLevel } from '../src/store/sweeps.ts';
import { createPayoutWallets } from './payout-wallets.ts';

/** Addresses in one read of the store, after which other work has its turn. */
const PAGE = 200;
const PAUSE_MS = 1;
/** Transactions of one round; each takes a few questions to the node. */
const SWEEPS_MAX = 200;
/** So many times a sweep is given native coin; what still lacks some then needs a person. */
const TOP_UPS_MAX = 5;
/** Native coin is given with a tenth more than is missing now: the price moves until the sweep is signed. */
const withMargin = (missing: bigint): bigint => divideCeil(missing * 11n, 10n);

export type SweeperOptions = Readonly<{
  network: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens'>;
  rules: SpendRules;
  node: Pick<PayoutNode, 'quote'>;
  signer: Signer;
  store: Store;
  clock: Clock;
}>;

/** A sweep as it would be planned now. `costUnits` is its likely cost with that of its gas, in base units of the native coin. */
export type PricedSweep = Readonly<{
  group: SweepGroup;
  sweep: SweepIntent;
  gas: readonly GasIntent[];
  costUnits: bigint;
  /** Cost of value, in millionths; null: nobody told the coin's price. */
  sharePpm: bigint | null;
}>;

/** What would be swept, and what would be left; nothing is planned yet. */
export type SweepPlan = Readonly<{ treasury: string; sweeps: readonly PricedSweep[]; left: readonly LeftOwner[] }>;

export interface Sweeper {
  /** @throws Fault of the node or the signer; permanent `treasury_collects` */
  plan(owners: readonly SweepOwner[], policy: SweepPolicy): Promise<SweepPlan>;
  /** @returns the ids of the sweeps that were planned: those whose money nobody else has planned meanwhile */
  commit(plan: SweepPlan): Promise<readonly string[]>;
  /** Plans more native coin for sweeps that wait for it. @returns how many sweeps */
  topUp(): Promise<number>;
}

/** Everything that lies on a network's collection addresses, and what open sweeps are to take, in currencies that the network has now. */
export async function readOwners(
  { key, family, mode, tokens }: SweeperOptions['network'],
  store: Pick<Store, 'unswept'>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<SweepOwner[]> {
  const all: SweepOwner[] = [];
  for (let after: number | null = 0; after !== null && !signal?.aborted; ) {
    const page = await store.unswept({ network: key, pool: { family, mode } }, after, PAGE);
    for (const owner of page.owners) if (tokens.some(({ symbol }) => symbol === owner.currency)) all.push(owner);
    after = page.next;
    if (after !== null) await clock.sleep(PAUSE_MS, signal);
  }
  return all;
}

/** What a group takes, or why it cannot be made. */
type Price =
  | Readonly<{ kind: 'priced'; costUnits: bigint; gas: readonly GasIntent[] }>
  | (Quote & Readonly<{ kind: 'refused' }>);

export function createSweeper({ network, rules, node, signer, store, clock }: SweeperOptions): Sweeper {
  const { key, family, mode, tokens } = network;
  const place: SweepPlace = { network: key, pool: { family, mode } };
  const wallets = createPayoutWallets({ network: key, tokens, rules, signer });
  const decimalsOf = (currency: Currency): number | undefined =>
    tokens.find(({ symbol }) => symbol === currency)?.decimals;

  /** Those whose key the signer has at their index; the others would be signed for with a stranger's key. */
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

  const gasIntent = (sweepId: string, index: number, turn: number, missing: bigint): GasIntent => ({
    kind: 'gas',
    id: gasIdOf(sweepId, index, turn),
    network: key,
    form: 'transfer',
    index,
    units: withMargin(missing),
  });

  /** How much native coin the sweep's own address lacks; null when the quote says anything else. */
  function missingGas(sweep: SweepIntent, quote: Quote): Readonly<{ index: number; missing: bigint }> | null {
    const payer = rules.payer(sweep);
    if (quote.kind !== 'refused' || quote.code !== 'native_short' || payer.role !== 'collection') return null;
    return quote.missingUnits === undefined ? null : { index: payer.index, missing: quote.missingUnits };
  }

  async function price(sweep: SweepIntent): Promise<Price> {
    const quote = await node.quote(await wallets.draft(sweep), null, []);
    if (quote.kind === 'quoted') return { kind: 'priced', costUnits: quote.feeUnits, gas: [] };
    const short = missingGas(sweep, quote);
    if (!short) return quote;
    const gas = gasIntent(sweep.id, short.index, 0, short.missing);
    const gasQuote = await node.quote(await wallets.draft(gas), null, []);
    if (gasQuote.kind === 'refused') return gasQuote;
    // What is missing is what it costs at most: nobody else pays from a payment address.
    return { kind: 'priced', costUnits: short.missing + gasQuote.feeUnits, gas: [gas] };
  }

  async function judgeGroup(group: SweepGroup, policy: SweepPolicy): Promise<Omit<SweepPlan, 'treasury'>> {
    const sweep = sweepIntent(key, group);
    const priced = await price(sweep);
    const leave = (why: LeftOwner['why'], detail: string) => ({
      sweeps: [],
      left: ownersOf(group).map((owner) => ({ owner, why, detail })),
    });
    if (priced.kind === 'refused') {
      // One of them may be frozen, or hold less than it received: the others must not wait for it.
      if (group.due.length > 1 && (priced.code === 'would_fail' || priced.code === 'token_short')) {
        const singles = groupSweeps(group.due, 1);
        const judged = [];
        for (const single of singles) judged.push(await judgeGroup(single, policy));
        return { sweeps: judged.flatMap((one) => one.sweeps), left: judged.flatMap((one) => one.left) };
      }
      return leave('refused', `${priced.code}: ${priced.message}`);
    }
    const { costUnits, gas } = priced;
    const decimals = decimalsOf(group.currency);
    invariant(decimals !== undefined, `${group.currency} is a token of ${key}`);
    const sharePpm = costSharePpm(costUnits, rules.nativeDecimals, toPar(unitsOfGroup(group), decimals), policy);
    if (isTooDear(sharePpm, policy)) return leave('too_dear', `it would cost ${percent(sharePpm ?? 0n)} of it`);
    return { sweeps: [{ group, sweep, gas, costUnits, sharePpm }], left: [] };
  }

  return {
    async plan(all, policy) {
      const { treasury } = await wallets.own();
      await store.checkTreasury(place.pool, treasury);
      const { due, left } = judgeOwners(all, policy, (currency) => decimalsOf(currency) ?? 0, clock.nowMs());
      const { own, foreign } = await ours(due);
      const groups = groupSweeps(own, rules.sweepOwnersMax);
      const later = groups.slice(SWEEPS_MAX).flatMap(ownersOf);
      const judged = [];
      for (const group of groups.slice(0, SWEEPS_MAX)) judged.push(await judgeGroup(group, policy));
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
    async commit({ treasury, sweeps }) {
      const planned = sweeps.map(({ sweep, gas, group }) => ({
        sweep,
        gas,
        keys: ownersOf(group).map((owner) => owner.key),
      }));
      return store.planSweeps({ ...place, treasury, sweeps: planned, nowMs: clock.nowMs() });
    },
    async topUp() {
      const waiting = await store.listPayouts({ network: key, kind: 'sweep', state: 'waiting', limit: SWEEPS_MAX });
      let count = 0;
      for (const { intent, wait } of waiting) {
        if (wait?.code !== 'native_short' || intent.kind !== 'sweep') continue;
        const turn = await store.countTopUps(intent.id);
        const short = missingGas(intent, await node.quote(await wallets.draft(intent), null, []));
        if (!short || turn >= TOP_UPS_MAX) continue;
        const gas = gasIntent(intent.id, short.index, turn, short.missing);
        if (await store.topUpSweep(intent.id, gas, clock.nowMs())) count++;
      }
      return count;
    },
  };
}

const percent = (ppm: bigint): string => `${Number(ppm) / 10_000} %`;

/** What lies there, added up by currency. */
export function levelsOf(
  network: NetworkConfig['key'],
  owners: readonly SweepOwner[],
  readAtMs: number,
): UnsweptLevel[] {
  const levels = new Map<Currency, UnsweptLevel>();
  for (const { currency, units, openUnits } of owners) {
    const level = levels.get(currency) ?? { network, currency, owners: 0, units: 0n, openUnits: 0n, readAtMs };
    levels.set(currency, {
      ...level,
      owners: level.owners + 1,
      units: level.units + units,
      openUnits: level.openUnits + openUnits,
    });
  }
  return [...levels.values()];
}
