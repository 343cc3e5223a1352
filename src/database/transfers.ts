/** Transfers to our addresses, which are facts of blocks. Core decides which of them count. */
import { and, asc, desc, eq, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import type { Counted, Phase, ReceiptState, Recount } from '../core/session.ts';
import { type Currency, type NetworkKey, nameOf } from '../core/transfer.ts';
import type { AddressRow } from './addresses.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { builtOnce, changeRows, findRow, findRows, insertRow, perDatabase } from './engine/rows.ts';
import type { MacedRow, SealedDb } from './sealing.ts';
import { addresses, blocks, networks, pools, transfers } from './tables.ts';

export type TransferRow = typeof transfers.$inferSelect;

type Fact = Omit<TransferRow, 'mac'>;

/** Most transfers that are searched for the largest, so that nobody can make a refund slow. */
const SENDERS_MAX = 1_000;

/** Returns the columns that the MAC of a transfer covers: sender, amount and our address. */
export const macedTransfer = (
  row: Omit<Fact, 'id' | 'confirmed' | 'firstConfirmedAtMs' | 'dust' | 'phase' | 'counted'>,
): MacedRow => {
  const { blockId, tx, position, network, currency, fromKey, addressId, units, decimals } = row;
  const fields = [network, currency, fromKey, addressId, units.toString(), decimals];
  return { table: 'transfers', key: [blockId, tx, position], fields };
};

/** Statements about transfers. A shown transfer is one that is not dust. */
export const transferRowsOf = perDatabase((db: SealedDb) => ({ ...factSteps(db), ...sessionQueries(db) }));

const isShown = eq(transfers.dust, sql`0`);
const canonicalPlace = { canonical: blocks.canonical, number: blocks.number };

const shownQueryOf = perDatabase(({ orm }: Db) =>
  builtOnce(
    orm
      .select({ transfer: transfers, block: canonicalPlace, to: addresses.key, sessionId: addresses.sessionId })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(addresses, eq(addresses.id, transfers.addressId))
      .where(and(eq(transfers.blockId, sql.placeholder('blockId')), isShown))
      .orderBy(asc(transfers.id)),
  ),
);

/**
 * Returns the shown transfers of a block in order, each with the key and the session of its address. Call it within a
 * transaction.
 */
export const shownIn = (db: Db, blockId: number) => shownQueryOf(db)().all({ blockId });

function factSteps(db: SealedDb) {
  const confirm = (which: string) =>
    db.client.prepare(
      `UPDATE transfers SET confirmed = 1, first_confirmed_at_ms = coalesce(first_confirmed_at_ms, :nowMs)
       WHERE block_id = :blockId AND dust = 0 ${which}`,
    );
  const earlier = db.client.values<Phase>(
    `SELECT phase FROM transfers WHERE address_id = :addressId AND tx = :tx AND network = :network AND phase IS NOT NULL
       ORDER BY id LIMIT 1`,
  );
  const blocksBetween = db.client.values<number>(
    `SELECT DISTINCT b.id FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id AND t.dust = 0
       WHERE b.network = :network AND b.canonical = 1 AND b.number > :above AND b.number <= :through ORDER BY b.id`,
  );
  return {
    insert: async (transfer: Fact) => {
      await insertRow(db, transfers, { ...transfer, mac: db.guard.seal(macedTransfer(transfer)) });
    },
    /** Confirms the transfers of these transactions in a block; all of the block if `txs` is absent. */
    async confirm(blockId: number, nowMs: number, txs?: readonly string[]): Promise<void> {
      if (!txs) await confirm('').run({ blockId, nowMs });
      else for (const tx of txs) await confirm('AND tx = :tx').run({ blockId, nowMs, tx });
    },
    /** Returns the phase of a transaction whose earlier block paid the address, or null. */
    phaseOf: async (addressId: number, network: NetworkKey, tx: string): Promise<Phase | null> =>
      (await earlier.get({ addressId, network, tx })) ?? null,
    /** Returns the canonical blocks with shown transfers and `above` < number ≤ `through`. */
    blocksBetween: (network: NetworkKey, above: number, through: number): Promise<number[]> =>
      blocksBetween.all({ network, above, through }),
    /**
     * Compares the shown transfers of blocks with their parts in the sums of sessions, and marks the differences as
     * counted. @returns the differences by session, each of which the caller must add to the sums
     */
    async recount(blockIds: readonly number[], floor: number): Promise<Map<string, Recount[]>> {
      const found = new Map<string, Recount[]>();
      for (const blockId of new Set(blockIds)) {
        for (const { transfer, sessionId, block } of await shownIn(db, blockId)) {
          if (sessionId === null) continue;
          const changed = found.get(sessionId) ?? [];
          found.set(sessionId, changed);
          const { id, network, currency, decimals, units, phase, counted: from } = transfer;
          const to = countedAs({ ...transfer, ...block, floor });
          if (phase === null || from === to) continue;
          await changeRows(db, transfers, { id }, { counted: to });
          changed.push({ network, currency, decimals, phase, units, from, to });
        }
      }
      return found;
    },
  };
}

/** A payment that a session shows. */
const shownPayment = {
  networkKey: transfers.network,
  currency: transfers.currency,
  units: transfers.units,
  decimals: transfers.decimals,
  tx: transfers.tx,
  index: transfers.position,
  block: blocks.hash,
  from: transfers.fromKey,
  blockTimeS: blocks.timeS,
};
const itsPlace = { ...canonicalPlace, id: transfers.id, confirmed: transfers.confirmed, floor: networks.floor };

/** Queries about the transfers to one session. */
function sessionQueries(db: SealedDb) {
  const { client, orm, guard } = db;
  const addressesOf = client.values<number>('SELECT id FROM addresses WHERE session_id = ?');
  const newest = builtOnce(
    orm
      .select({ payment: shownPayment, place: { ...itsPlace, tipNumber: networks.tipNumber } })
      .from(transfers)
      .innerJoin(blocks, eq(blocks.id, transfers.blockId))
      .innerJoin(networks, eq(networks.key, transfers.network))
      .where(and(eq(transfers.addressId, sql.placeholder('addressId')), isShown))
      .orderBy(desc(transfers.id))
      .limit(sql.placeholder('limit')),
  );
  const firstConfirmed = `WHERE address_id = :addressId AND network = :network AND currency = :currency
    AND dust = 0 AND confirmed = 1
     ORDER BY id LIMIT ${SENDERS_MAX}`;

  /** Returns a session's first confirmed transfers for their senders; none if one of them was altered. */
  async function receivedFrom(sessionId: string, network: NetworkKey, currency: Currency) {
    const all = (
      await mapInOrder(await addressesOf.all(sessionId), (addressId) =>
        findRows(db, transfers, firstConfirmed, { addressId, network, currency }),
      )
    ).flat();
    const remedy = 'name the address of its refund by `quayside refund destination`';
    const isIntact = all.every((row) =>
      guard.accepts(macedTransfer(row), row.mac, `transfer ${row.tx} to session ${sessionId}`, remedy),
    );
    return isIntact ? all : [];
  }

  return {
    /** Returns the newest shown transfers to a session's addresses, oldest first. */
    async ofSession(sessionId: string, limit: number) {
      const found = (
        await mapInOrder(await addressesOf.all(sessionId), (addressId) => newest().all({ addressId, limit }))
      ).flat();
      found.sort((one, other) => one.place.id - other.place.id);
      return found.slice(-limit).map(({ payment, place }) => {
        const { canonical, number, tipNumber } = place;
        // The block itself counts as the first confirmation.
        const confirmations = canonical ? (tipNumber ?? number) - number + 1 : 0;
        return { ...payment, network: nameOf(payment.networkKey), confirmations, state: stateOf(place) };
      });
    },
    /** Returns the address key of the sender of the largest confirmed transfer among the first `SENDERS_MAX`. */
    async largestSender(sessionId: string, network: NetworkKey, currency: Currency): Promise<string | null> {
      const [first, ...others] = await receivedFrom(sessionId, network, currency);
      return first ? others.reduce((best, one) => (best.units >= one.units ? best : one), first).fromKey : null;
    },
  };
}

/** Returns the sum of its session that contains a transfer now. */
const countedAs = (place: Place): Counted => {
  const state = stateOf(place);
  return state === 'orphaned' ? 'none' : state;
};

type Place = Pick<TransferRow, 'confirmed'> &
  Pick<typeof blocks.$inferSelect, 'number' | 'canonical'> &
  Pick<typeof networks.$inferSelect, 'floor'>;

/** Returns how firm a transfer is now. */
function stateOf({ canonical, confirmed, number, floor }: Place): ReceiptState {
  if (!canonical) return 'orphaned';
  if (!confirmed) return 'seen';
  return number <= floor ? 'final' : 'confirmed';
}

// ── Traces ───────────────────────────────────────────────────────────────────────────────────────────────────────────
// Traces follow one payment through the tables, without writing.

/** Most transfers of an address in a trace, not counting dust. Anybody can send any number of them. */
export const TRACED_MAX = 100;

type Traces = ReturnType<typeof traceQueries>;
type RowOf<Query extends (...input: never[]) => Promise<readonly unknown[]>> = Awaited<ReturnType<Query>>[number];

/** One of our deposit addresses. */
export type TracedAddress = RowOf<Traces['findKey']>;
/** A transfer to one of our addresses with its block, even dust, and even in a block that left the chain. */
export type TracedTransfer = RowOf<Traces['transfersTo']>;

export function traceQueries(db: Db) {
  const { read } = db;

  /** Returns an address, and whether it is retired. */
  async function traced(address: AddressRow) {
    const { state, poolId, derivationIndex } = address;
    const pool = await findRow(db, pools, { id: poolId });
    const isGone = state === 'spoiled' && derivationIndex < (pool?.retiredThrough ?? 0);
    return { ...address, isRetired: (state === 'free' && !pool?.current) || isGone };
  }

  /** Returns the newest transfers that match, oldest first. */
  async function newest(which: string, values: Readonly<Record<string, string | number>>) {
    const rows = await findRows(db, transfers, `WHERE ${which} ORDER BY id DESC LIMIT ${TRACED_MAX}`, values);
    return mapInOrder(rows.reverse(), async (transfer) => {
      const block = await findRow(db, blocks, { id: transfer.blockId });
      const address = await findRow(db, addresses, { id: transfer.addressId });
      invariant(block && address, `transfer ${transfer.id} has a block and an address`);
      return { ...transfer, block, address: await traced(address) };
    });
  }

  /**
   * Returns the newest transfers to an address. Dust costs its sender nothing, so it must not displace other transfers.
   */
  async function ofAddress(addressId: number) {
    const both = await mapInOrder([0, 1], (dust) =>
      newest('address_id = :addressId AND dust = :dust', { addressId, dust }),
    );
    return both.flat();
  }

  return {
    /**
     * Returns the transfers to us in a transaction. It reads the index of all transfers, so it is for operators only.
     */
    transfersIn: (tx: string) => read(() => newest('tx = :tx', { tx })),
    /** Returns the newest transfers to an address or to a session's addresses, oldest first. */
    transfersTo: (to: Readonly<{ id: number }> | Readonly<{ sessionId: string }>) =>
      read(async () => {
        const all = await mapInOrder(await findRows(db, addresses, to), ({ id }) => ofAddress(id));
        return all.flat().sort((a, b) => a.id - b.id);
      }),
    /** Returns our addresses of a family with this key, at most one in each mode. */
    findKey: (family: string, key: string) =>
      read(async () => {
        const isIt = "WHERE family = :family AND mode IN ('live', 'test') AND key = :key";
        return mapInOrder(await findRows(db, addresses, isIt, { family, key }), traced);
      }),
  };
}
