/**
 * Deposit addresses: pools per family and mode, each filled from one source at a time.
 *
 * An address is `free` until a session takes it, and keeps that session. An address that received money before any
 * session took it is `spoiled`. It stays watched and is never given out, because its session would begin with somebody
 * else's payment. Addresses that a lost database may have given out are spoiled too. Free addresses of any source but
 * the pool's current one are retired, until that source is the current one again.
 */

import { invariant } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import { sortableTime } from '../lib/id.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows, insertRow, perDatabase } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
import type { MacedRow, SealedDb } from './sealing.ts';
import { addresses, pools } from './tables.ts';

/** The pool of deposit addresses of one family and mode. Its source is an xpub, or the signer of imported lists. */
export type PoolKey = Readonly<{ family: string; mode: Mode }>;

/** Addresses from `nextIndex` to below `retiredThrough` must be watched and are not derived yet. */
export type PoolLevel = PoolKey & Readonly<{ free: number; taken: number; nextIndex: number; retiredThrough: number }>;

export type AddressRow = typeof addresses.$inferSelect;
export type Address = Pick<AddressRow, 'id' | 'seq' | 'derivationIndex' | 'sessionId' | 'state'>;
type PoolRow = typeof pools.$inferSelect;

type Place = Pick<AddressRow, 'family' | 'mode' | 'key' | 'poolId' | 'derivationIndex' | 'sessionId'>;

/** Returns the columns that the MAC of an address covers: its derivation, and the session that it receives for. */
export const macedAddress = ({ family, mode, key, poolId, derivationIndex, sessionId }: Place): MacedRow => ({
  table: 'addresses',
  key: [family, mode, key],
  fields: [poolId, derivationIndex, sessionId],
});

const REMEDY = 'restore the database from a backup, and read the blocks since then with `quayside network reread`';
/** Most altered rows that one request passes over in its search for a free address. */
const ALTERED_MAX = 100;

/** Queries that raise an alarm for rows whose MAC fails, and do not return them. */
export const addressRowsOf = perDatabase((db: SealedDb) => {
  const { guard } = db;
  const nextFree = `WHERE state = 'free'
    AND pool_id = (SELECT id FROM pools WHERE family = :family AND mode = :mode AND current = 1)
     ORDER BY id LIMIT 1`;
  const spoil = db.client.prepare(`UPDATE addresses SET state = 'spoiled' WHERE id = ?`);
  const highestSeq = db.client.values(
    'SELECT coalesce(max(seq), 0) FROM addresses WHERE family = :family AND mode = :mode',
  );

  function accepts(row: AddressRow): boolean {
    const owner = row.sessionId === null ? '' : ` of session ${row.sessionId}`;
    const name = `deposit address ${row.id} (${row.family}, ${row.mode}, ${row.key})${owner}`;
    return guard.accepts(macedAddress(row), row.mac, name, REMEDY);
  }

  return {
    /** Returns the free address with the lowest id of the pool's current source, or null. */
    async nextFree({ family, mode }: PoolKey): Promise<AddressRow | null> {
      for (let passed = 0; passed < ALTERED_MAX; passed++) {
        const row = await findRow(db, addresses, nextFree, { family, mode });
        if (!row) return null;
        if (accepts(row)) return row;
        await spoil.run(row.id);
      }
      return null;
    },
    /** Gives a free address to a session for good. */
    async take(address: AddressRow, sessionId: string): Promise<void> {
      const { id } = address;
      const mac = guard.seal(macedAddress({ ...address, sessionId }));
      const taken = await changeRows(db, addresses, { id, state: 'free' }, { state: 'taken', sessionId, mac });
      invariant(taken === 1, `address ${id} is free when it is taken`);
    },
    async find({ family, mode }: PoolKey, key: string): Promise<Address | null> {
      const row = await findRow(db, addresses, { family, mode, key });
      return row && accepts(row) ? row : null;
    },
    spoil: async (id: number): Promise<void> => {
      await spoil.run(id);
    },
    /** Returns the `seq` of the newest address in the pool; 0 when it is empty. */
    highestSeq: async ({ family, mode }: PoolKey): Promise<number> => Number(await highestSeq.get({ family, mode })),
    /** Returns the keys of a session's addresses, by family. */
    async ofSession(sessionId: string): Promise<Record<string, string>> {
      const own = (await findRows(db, addresses, { sessionId })).filter(accepts);
      return Object.fromEntries(own.map(({ family, key }) => [family, key]));
    },
  };
});

const counting = (client: Db['client'], state: 'free' | 'spoiled') =>
  client.values(`SELECT count(*) FROM addresses WHERE pool_id = ? AND state = '${state}'`);

/** Shortest gap that counts. A restart takes less. A longer gap is a stop or a restore. */
export const GAP_MS_MIN = 15_000;
/** Assumed use in a gap, in multiples of the busiest hour or day before it. */
const USE_FACTOR = 3;
/** Addresses that are retired in any case, because a new shop has no busy hour yet. */
const SPARE = 10;
/** Most addresses that a gap retires. They are derived before blocks are read, in about a minute of one core. */
const RETIRED_MAX = 50_000;
/** Days before the gap that are searched for the busiest hour. */
const USE_DAYS = 30;
const DAY_HOURS = DAY_MS / HOUR_MS;

type Gap = Readonly<{
  nowMs: number;
  /** The last time at which this process was known to run. Null stands for the last time a network was followed. */
  sinceMs: number | null;
  /** Families whose addresses are derived. A pool of imported addresses keeps at least half of them. */
  derivedFamilies: ReadonlySet<string>;
}>;

/** Sessions that were created in one hour. `hour` counts from 1970. */
type HourOfUse = Readonly<{ hour: number; sessions: number }>;

/** Estimates from the hours before a gap how many addresses a pool may have given out in it. */
export function mayHaveGiven(hours: readonly HourOfUse[], gapMs: number): number {
  const days = new Map<number, number>();
  for (const { hour, sessions } of hours) {
    const day = Math.floor(hour / DAY_HOURS);
    days.set(day, (days.get(day) ?? 0) + sessions);
  }
  const byHour = (Math.max(0, ...hours.map(({ sessions }) => sessions)) * gapMs) / HOUR_MS;
  const byDay = Math.max(0, ...days.values()) * Math.max(1, gapMs / DAY_MS);
  return Math.min(RETIRED_MAX, SPARE + Math.ceil(USE_FACTOR * Math.min(byHour, byDay)));
}

/** Commands for addresses that a run unknown to this database may have given out. */
function gapCommands(db: Db) {
  const { client, write } = db;
  const lastFollowed = client.values<number | null>('SELECT max(updated_at_ms) FROM networks');
  const use = client.prepare<HourOfUse>(
    `SELECT created_at_ms / ${HOUR_MS} AS hour, count(*) AS sessions FROM sessions
     WHERE id >= :fromId AND id < :toId GROUP BY created_at_ms / ${HOUR_MS}`,
  );
  const idAt = (ms: number) => `cs_${sortableTime(Math.max(0, ms))}`;

  const countFree = counting(client, 'free');
  const spoilNext = client.values<number>(
    `UPDATE addresses SET state = 'spoiled' WHERE id IN (
         SELECT id FROM addresses WHERE pool_id = :id AND state = 'free' ORDER BY id LIMIT :count)
       RETURNING derivation_index`,
  );

  /** Retires the pool's next addresses, including those that are not derived yet. */
  async function retireNext({ id, nextIndex, retiredThrough }: PoolRow, count: number): Promise<void> {
    const spoiled = await spoilNext.all({ id, count });
    const unknown = count - spoiled.length;
    const through = unknown > 0 ? Math.max(nextIndex, retiredThrough) + unknown : 0;
    const known = spoiled.reduce((most, index) => Math.max(most, index + 1), retiredThrough);
    const retired = { retiredThrough: Math.max(known, through) };
    await changeRows(db, pools, { id }, retired);
  }

  return {
    /**
     * Retires the addresses that each pool may have given out in a gap, during which nothing followed the chains. The
     * database may have been restored from an earlier state, and another payer may hold such an address. Retired
     * addresses stay watched. A derived pool retires at least one for each minute. Call it before addresses are given
     * out or blocks are read. A second call for the same gap retires only for the time since the first.
     * @returns the number of retired addresses, by pool
     */
    async retireAfterGap({
      nowMs,
      sinceMs,
      derivedFamilies,
    }: Gap): Promise<readonly (PoolKey & { retired: number })[]> {
      return write(async () => {
        const lastMs = sinceMs ?? (await lastFollowed.get()) ?? null;
        if (lastMs === null || nowMs < lastMs + GAP_MS_MIN) return [];
        const fromId = idAt(lastMs - USE_DAYS * DAY_MS);
        const guess = mayHaveGiven(await use.all({ fromId, toId: idAt(lastMs) }), nowMs - lastMs);
        const retired: (PoolKey & { retired: number })[] = [];
        for (const pool of await findRows(db, pools, { current: true })) {
          const { id, family, mode } = pool;
          const imported = !derivedFamilies.has(family);
          const minutes = Math.ceil((nowMs - lastMs) / MINUTE_MS);
          const all = imported ? guess : Math.min(RETIRED_MAX, Math.max(guess, SPARE + minutes));
          const before = pool.gapSinceMs === lastMs ? pool.gapGiven : 0;
          const free = imported ? Number(await countFree.get(id)) : 0;
          const count = Math.min(all - before, imported ? Math.floor(free / 2) : RETIRED_MAX);
          if (count <= 0) continue;
          await retireNext(pool, count);
          await changeRows(db, pools, { id }, { gapSinceMs: lastMs, gapGiven: all });
          retired.push({ family, mode, retired: count });
        }
        return retired;
      });
    },
  };
}

/** Upper bound of a pool's indexes (BIP 32). An address's id is its pool's id times this, plus its index. */
export const INDEXES = 2 ** 32;

const newPool = { nextIndex: 0, retiredThrough: 0, gapSinceMs: null, gapGiven: 0 };

export function poolCommands(db: SealedDb) {
  const countFree = counting(db.client, 'free');
  const countSpoiled = counting(db.client, 'spoiled');
  const watched = db.client.prepare<Readonly<{ seq: number; key: string }>>(
    `SELECT seq, key FROM addresses WHERE family = :family AND mode = :mode AND seq > :after ORDER BY seq LIMIT :limit`,
  );
  const firstTaken = db.client.prepare(
    `SELECT a.id FROM pools AS p JOIN addresses AS a ON a.id >= p.id * ${INDEXES} AND a.id < (p.id + 1) * ${INDEXES}
     WHERE p.family = :family AND p.mode = :mode AND a.state = 'taken' LIMIT 1`,
  );
  /** Makes `source` the pool's current source. */
  async function usePool({ family, mode }: PoolKey, source: string): Promise<PoolRow> {
    const known = await findRow(db, pools, { family, mode, source });
    if (known?.current) return known;
    await changeRows(db, pools, { family, mode, current: true }, { current: false });
    const pool = {
      ...(known ?? { ...newPool, id: await nextNumber(db, 'pools'), family, mode, source }),
      current: true,
    };
    if (known) await changeRows(db, pools, { id: known.id }, { current: true });
    else await insertRow(db, pools, pool);
    return pool;
  }
  return {
    ...gapCommands(db),
    /** Adds addresses `firstIndex…` of a source, which becomes the pool's. Retires free ones of other sources. */
    async add(
      input: PoolKey & Readonly<{ source: string; firstIndex: number; keys: readonly string[] }>,
    ): Promise<void> {
      const { family, mode, source, firstIndex, keys } = input;
      await db.write(async () => {
        const pool = await usePool({ family, mode }, source);
        for (const [at, key] of keys.entries()) {
          if (await findRow(db, addresses, { family, mode, key })) continue;
          const index = firstIndex + at;
          const state = index < pool.retiredThrough ? 'spoiled' : 'free';
          const row = { poolId: pool.id, family, mode, key, derivationIndex: index, sessionId: null };
          const seq = await nextNumber(db, `addresses:${mode}:${family}`);
          await insertRow(db, addresses, {
            ...row,
            id: pool.id * INDEXES + index,
            seq,
            state,
            mac: db.guard.seal(macedAddress(row)),
          });
        }
        const nextIndex = Math.max(pool.nextIndex, firstIndex + keys.length);
        await changeRows(db, pools, { id: pool.id }, { nextIndex });
      });
    },
    /** Returns whether any session has taken an address of the pool. */
    async isUsed({ family, mode }: PoolKey): Promise<boolean> {
      return (await db.read(() => firstTaken.get({ family, mode }))) !== undefined;
    },
    /** Returns the level for new sessions. A retired source has no free addresses until some are added to it again. */
    async level({ family, mode }: PoolKey, source: string): Promise<PoolLevel> {
      return db.read(async () => {
        const pool = await findRow(db, pools, { family, mode, source });
        if (!pool) return { family, mode, free: 0, taken: 0, nextIndex: 0, retiredThrough: 0 };
        const { nextIndex, retiredThrough } = pool;
        const free = Number(await countFree.get(pool.id));
        const taken = nextIndex - free - Number(await countSpoiled.get(pool.id));
        return { family, mode, free: pool.current ? free : 0, taken, nextIndex, retiredThrough };
      });
    },
    /** Returns the current source of the pool; null before the first. */
    async source({ family, mode }: PoolKey): Promise<string | null> {
      return (await db.read(() => findRow(db, pools, { family, mode, current: true })))?.source ?? null;
    },
    /**
     * Returns the addresses above the `seq` `after`, in its order. They include retired ones, because all are watched.
     */
    async watchList(
      { family, mode }: PoolKey,
      after: number,
      limit: number,
    ): Promise<readonly Readonly<{ seq: number; key: string }>[]> {
      const page = { family, mode, after, limit };
      return db.read(() => watched.all(page));
    },
  };
}
