/**
 * Follows one payment through the tables. Everything is read; nothing is written.
 */
import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { addresses, blocks, outgoingTransfers, pools, sessions, stores, transfers } from './tables.ts';

/** Rows of one kind that a trace returns, at most: anyone can send any number of transfers to an address. */
export const TRACED_MAX = 100;

type Traces = ReturnType<typeof traceQueries>;
type RowOf<Query extends (...input: never[]) => Promise<readonly unknown[]>> = Awaited<ReturnType<Query>>[number];

/** One of our deposit addresses. */
export type TracedAddress = RowOf<Traces['findAddresses']>;
/** A transfer to one of our addresses with its block; dust, and what is in blocks that left the chain, included. */
export type TracedTransfer = RowOf<Traces['ofSession']>;
export type TracedOutgoing = RowOf<Traces['outgoingOf']>;

const addressFields = {
  id: addresses.id,
  family: addresses.family,
  mode: addresses.mode,
  key: addresses.key,
  index: addresses.derivationIndex,
  state: addresses.state,
  sessionId: addresses.sessionId,
};
/** The pool of an address says whether it is retired: watched and never given out. */
const poolFields = { current: pools.current, retiredThrough: pools.retiredThrough };

type AddressOfPool = Pick<typeof addresses.$inferSelect, 'state'> & Readonly<{ index: number }>;

const isRetired = ({ state, index }: AddressOfPool, pool: Readonly<{ current: boolean; retiredThrough: number }>) =>
  (state === 'free' && !pool.current) || (state === 'spoiled' && index < pool.retiredThrough);

const transferFields = {
  id: transfers.id,
  network: transfers.network,
  tx: transfers.tx,
  index: transfers.position,
  currency: transfers.currency,
  units: transfers.units,
  decimals: transfers.decimals,
  isDust: transfers.dust,
  isConfirmed: transfers.confirmed,
  firstConfirmedAtMs: transfers.firstConfirmedAtMs,
  phase: transfers.phase,
  counted: transfers.counted,
};
const blockFields = { hash: blocks.hash, number: blocks.number, timeS: blocks.timeS, isCanonical: blocks.canonical };
const outgoingFields = {
  network: outgoingTransfers.network,
  number: outgoingTransfers.blockNumber,
  role: outgoingTransfers.role,
  to: outgoingTransfers.toKey,
  currency: outgoingTransfers.currency,
  units: outgoingTransfers.units,
  state: outgoingTransfers.state,
};

export function traceQueries({ orm, read }: Db) {
  /** Returns the newest transfers that match, oldest first. */
  async function newest(which: SQL | undefined) {
    const rows = await orm
      .select({ transfer: transferFields, block: blockFields, address: addressFields, pool: poolFields })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(addresses, eq(addresses.id, transfers.addressId))
      .innerJoin(pools, eq(pools.id, addresses.poolId))
      .where(which)
      .orderBy(desc(transfers.id))
      .limit(TRACED_MAX)
      .all();
    return rows.reverse().map(({ transfer, block, address, pool }) => {
      return { ...transfer, block, address: { ...address, isRetired: isRetired(address, pool) } };
    });
  }

  /** Dust counts for nothing and costs its sender nothing, so it does not displace other transfers. */
  async function ofAddresses(ids: readonly number[]) {
    const isOwn = inArray(transfers.addressId, [...ids]);
    const both = await mapInOrder([0, 1], (dust) => newest(and(isOwn, eq(transfers.dust, sql.raw(String(dust))))));
    return both.flat().sort((a, b) => a.id - b.id);
  }

  return {
    /** Returns the transfers to us in a transaction. Reads the index of all transfers: for operators only. */
    ofTransaction: (tx: string) => read(() => newest(eq(transfers.tx, tx))),
    /** Returns the newest transfers to a session's addresses, oldest first. */
    ofSession: (sessionId: string) =>
      read(async () => {
        const own = await orm.select().from(addresses).where(eq(addresses.sessionId, sessionId)).all();
        return ofAddresses(own.map(({ id }) => id));
      }),
    /** Returns the newest transfers to an address, oldest first. */
    ofAddress: (addressId: number) => read(() => ofAddresses([addressId])),
    /** Returns our addresses of a family with this key: one in each mode at most. */
    findAddresses: (family: string, key: string) =>
      read(async () => {
        const rows = await orm
          .select({ address: addressFields, pool: poolFields })
          .from(addresses)
          .innerJoin(pools, eq(pools.id, addresses.poolId))
          .where(and(eq(addresses.family, family), inArray(addresses.mode, ['live', 'test']), eq(addresses.key, key)))
          .all();
        return rows.map(({ address, pool }) => ({ ...address, isRetired: isRetired(address, pool) }));
      }),
    /** Returns the ids of the sessions of an order, one in each store and mode at most. */
    sessionsOfOrder: (orderId: string) =>
      read(async () => {
        const isOfOrder = and(inArray(sessions.mode, ['live', 'test']), eq(sessions.orderId, orderId));
        const ofStores = inArray(sessions.storeId, orm.select({ id: stores.id }).from(stores));
        const found = orm.select({ id: sessions.id }).from(sessions).where(and(ofStores, isOfOrder));
        return (await found.orderBy(sessions.id).limit(TRACED_MAX).all()).map(({ id }) => id);
      }),
    /** Returns what left our own wallets in a transaction and no attempt explains. */
    outgoingOf: (tx: string) =>
      read(() =>
        orm
          .select(outgoingFields)
          .from(outgoingTransfers)
          .where(eq(outgoingTransfers.tx, tx))
          .orderBy(outgoingTransfers.id)
          .limit(TRACED_MAX)
          .all(),
      ),
  };
}
