/** Balances of deposit addresses, computed from facts, and the sweeps that empty them. */

import { permanent } from '../../core/fault.ts';
import type { GasIntent, Intent, SweepIntent } from '../../core/intent.ts';
import { isPlanStale, type SweepOwner } from '../../core/sweep.ts';
import type { Currency, NetworkKey } from '../../core/transfer.ts';
import { INDEXES, type PoolKey } from '../addresses.ts';
import { filterInOrder, mapInOrder } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { findRow, findRows } from '../engine/rows.ts';
import { listData, writeData } from '../meta.ts';
import { lockNetwork, lockNetworkOf } from '../networks.ts';
import { addresses, payouts as payoutTable, pools } from '../tables.ts';
import { type PayoutRow, payoutStepsOf, toPayout } from './payouts.ts';

/** A network, and the pool of its deposit addresses. */
export type SweepPlace = Readonly<{ network: NetworkKey; pool: PoolKey }>;

/**
 * A sweep, the keys of its addresses in the intent's order, and its gas payouts. Those in `before` run one after
 * another before the sweep. `after` runs once the sweep has ended with any outcome, and takes lent resources back.
 */
export type PlannedSweep = Readonly<{
  sweep: SweepIntent;
  keys: readonly string[];
  before: readonly GasIntent[];
  after: GasIntent | null;
}>;

/** Balances of a network's deposit addresses when the engine last looked. */
export type UnsweptLevel = Readonly<{
  network: NetworkKey;
  currency: Currency;
  /** Number of addresses with a balance. */
  owners: number;
  /** Their total, in base units. */
  units: bigint;
  /** The part of it that open sweeps take. */
  openUnits: bigint;
  readAtMs: number;
}>;

type Given = Readonly<{ id: number; index: number; key: string }>;
type Received = Readonly<{ currency: Currency; units: string }>;
type Part = Readonly<{ currency: Currency; units: string; state: string }>;

/** Units that sweeps took from one address in one currency. `openUnits` are those of open sweeps. */
type Taken = Readonly<{ units: bigint; openUnits: bigint; sweepCount: number }>;
const nothingTaken: Taken = { units: 0n, openUnits: 0n, sweepCount: 0 };

/** States of a sweep that has moved nothing. */
const without = ['failed', 'canceled'];
/** States of a loan that is not made. */
const unmade = ['waiting', ...without];

export function sweepCommands(db: Db) {
  const payouts = payoutStepsOf(db);
  const { given, received, parts } = sweepStatements(db);
  const poolIdOf = async ({ family, mode }: PoolKey) => (await findRow(db, pools, { family, mode, current: true }))?.id;

  /** Returns the balances of one address, by currency. */
  async function ownersAt(poolId: number, network: NetworkKey, { id, index, key }: Given): Promise<SweepOwner[]> {
    const taken = takenFrom(await parts.all(network, index, poolId));
    const sums = new Map<Currency, bigint>();
    for (const { currency, units } of await received.all(id, network))
      sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(units));
    return [...sums].map(([currency, sum]) => {
      const { units: gone, openUnits, sweepCount } = taken.get(currency) ?? nothingTaken;
      const left = sum - gone - openUnits;
      return { index, key, currency, units: left > 0n ? left : 0n, openUnits, sweepCount };
    });
  }

  async function refuseTreasury({ family, mode }: PoolKey, treasury: string): Promise<void> {
    if ((await findRow(db, addresses, { family, mode, key: treasury })) === undefined) return;
    throw permanent(
      'treasury_collects',
      `the treasury ${treasury} in the signer's policy is one of our deposit addresses: a sweep would look like a ` +
        'payment. Set another treasury there',
    );
  }

  /** Returns whether every address still has the sweep's amount, and no other open sweep. */
  async function isStillThere(
    poolId: number,
    { pool: { family, mode } }: SweepPlace,
    { sweep, keys }: PlannedSweep,
  ): Promise<boolean> {
    for (const [at, { index, units }] of sweep.from.entries()) {
      const address = await findRow(db, addresses, { family, mode, key: keys[at] ?? '' });
      if (address?.poolId !== poolId || address.derivationIndex !== index) return false;
      const owners = await ownersAt(poolId, sweep.network, { ...address, index });
      const owner = owners.find(({ currency }) => currency === sweep.currency);
      if (owner === undefined || owner.openUnits !== 0n || owner.units < units) return false;
    }
    return true;
  }

  /** Returns the gas payouts of a sweep in the order of sending. */
  async function gasOf(id: string): Promise<PayoutRow[]> {
    const givers = await findRows(db, payoutTable, { servesId: id });
    return (await mapInOrder(givers, async (row) => [...(await gasOf(row.id)), row])).flat();
  }

  async function withdraw(id: string, isPossible: boolean, nowMs: number): Promise<boolean> {
    const sweep = await payouts.find(id);
    const gas = await gasOf(id);
    if (!sweep || (isPossible && !isPlanStale(toPayout(sweep), gas.map(toPayout), nowMs))) return false;
    const waiting = gas.filter(({ state }) => state === 'waiting');
    for (const row of [...waiting, sweep]) if (!(await payouts.cancel(row.id, nowMs))) return false;
    const isLent = gas.some(({ intent, state }) => isLoan(intent) && !unmade.includes(state));
    if (sweep.servesId !== null && !isLent) await payouts.cancel(sweep.servesId, nowMs);
    return true;
  }

  /** Plans a sweep with its gas. Each payout serves the next one, which waits for it. */
  async function planChain({ sweep, before, after }: PlannedSweep, poolId: number, nowMs: number): Promise<void> {
    const plan = async (intent: GasIntent | SweepIntent, servesId: string | null): Promise<string> => {
      await payouts.plan({ intent, sessionId: null, servesId, notBeforeMs: nowMs, nowMs }, poolId);
      return intent.id;
    };
    if (after) await plan(after, null);
    await plan(sweep, after?.id ?? null);
    let servesId = sweep.id;
    for (const gas of before.toReversed()) servesId = await plan(gas, servesId);
  }

  return {
    /**
     * Returns the balances of deposit addresses by facts: canonical, confirmed payments at or below the network's final
     * height, less the amounts of sweeps. Empty addresses are left out.
     * @param afterId `next` of the previous page; 0 for the first
     * @param limit addresses to look at, with or without money
     * @returns `next`: the `afterId` of the next page; null at the end
     */
    async unswept({ network, pool }: SweepPlace, afterId: number, limit: number) {
      return db.read(async () => {
        const poolId = await poolIdOf(pool);
        if (poolId === undefined) return { owners: [], next: null };
        const first = poolId * INDEXES;
        const page = await given.all(Math.max(afterId, first - 1), first + INDEXES, limit);
        const owners = (await mapInOrder(page, (address) => ownersAt(poolId, network, address))).flat();
        return {
          owners: owners.filter(({ units, openUnits }) => units > 0n || openUnits > 0n),
          next: page.length < limit ? null : (page.at(-1)?.id ?? null),
        };
      });
    },
    /**
     * @throws Fault permanent `treasury_collects` if the treasury is a deposit address, where sweeps would be income
     */
    async checkTreasury(pool: PoolKey, treasury: string): Promise<void> {
      await db.read(() => refuseTreasury(pool, treasury));
    },
    /**
     * Plans sweeps with their gas. A sweep is left out unless every address still has its amount and no other open
     * sweep.
     * @returns ids of the sweeps that were planned
     * @throws as `checkTreasury`
     */
    async plan({
      treasury,
      sweeps,
      nowMs,
      ...place
    }: SweepPlace & Readonly<{ treasury: string; sweeps: readonly PlannedSweep[]; nowMs: number }>): Promise<
      readonly string[]
    > {
      return db.write(async () => {
        await lockNetwork(db, place.network);
        await refuseTreasury(place.pool, treasury);
        const poolId = await poolIdOf(place.pool);
        if (poolId === undefined) return [];
        const planned = await filterInOrder(sweeps, async (one) => {
          if ((await payouts.find(one.sweep.id)) !== undefined || !(await isStillThere(poolId, place, one)))
            return false;
          await planChain(one, poolId, nowMs);
          return true;
        });
        return planned.map(({ sweep }) => sweep.id);
      });
    },
    /**
     * Withdraws a waiting sweep with its gas, and with the return of a loan that was not made.
     * @param isPossible it could be signed as planned, and is therefore withdrawn only if it has waited too long
     * @returns false if it was not withdrawn, as when an unknown transaction may have paid it
     */
    async withdraw(id: string, isPossible: boolean, nowMs: number): Promise<boolean> {
      return db.write(async () => {
        await lockNetworkOf(db, id);
        return withdraw(id, isPossible, nowMs);
      });
    },
    /** Replaces the levels of a network with those that the engine just read. */
    async recordUnswept(network: NetworkKey, levels: readonly UnsweptLevel[]): Promise<void> {
      await db.write(() => writeData(db, `unswept ${network}`, levels));
    },
    async listUnswept(): Promise<readonly UnsweptLevel[]> {
      return (await db.read(() => listData<readonly UnsweptLevel[]>(db, 'unswept'))).flat();
    },
  };
}

const sweepStatements = ({ client }: Db) => ({
  given: client.prepare<Given>(
    `SELECT id, derivation_index AS "index", key FROM addresses
     WHERE id > ? AND id < ? AND state <> 'free' ORDER BY id LIMIT ?`,
  ),
  received: client.prepare<Received>(
    `SELECT t.currency, t.units
     FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id JOIN networks AS n ON n.key = t.network
     WHERE t.address_id = ? AND t.dust = 0 AND t.network = ? AND t.confirmed = 1 AND b.canonical = 1 AND b.number <= n.floor
     ORDER BY t.id`,
  ),
  parts: client.prepare<Part>(
    `SELECT p.currency, p.units, y.state
     FROM sweep_parts AS p JOIN payouts AS y ON y.id = p.payout_id
     WHERE p.network = ? AND p.derivation_index = ? AND (p.pool_id IS NULL OR p.pool_id = ?)`,
  ),
});

const isLoan = (intent: Intent): boolean => intent.kind === 'gas' && intent.form === 'delegate';

function takenFrom(parts: readonly Part[]): Map<Currency, Taken> {
  const taken = new Map<Currency, Taken>();
  for (const { currency, units: text, state } of parts) {
    const { units, openUnits, sweepCount } = taken.get(currency) ?? nothingTaken;
    const more = BigInt(text);
    const isOpen = state !== 'succeeded' && !without.includes(state);
    taken.set(currency, {
      units: state === 'succeeded' ? units + more : units,
      openUnits: isOpen ? openUnits + more : openUnits,
      sweepCount: sweepCount + 1,
    });
  }
  return taken;
}
