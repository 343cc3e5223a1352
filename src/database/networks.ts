/**
 * Networks: what their followers report, and how far each has been read.
 */

import { eq, sql } from 'drizzle-orm';
import type { BlockGap } from '../core/gap.ts';
import type { Moment } from '../core/session.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import type { BlockRow } from './blocks.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, changeBy, findBy, preparedInsert } from './engine/prepared.ts';
import type { NetworkReport, NetworkStatus } from './network-health.ts';
import { networks } from './tables.ts';
export type NetworkRow = typeof networks.$inferSelect;
/** Returns the columns of the newest canonical block. */
export const tipColumns = (tip: Pick<BlockRow, 'hash' | 'number' | 'timeS'> | undefined) => ({
  tipHash: tip?.hash ?? null,
  tipNumber: tip?.number ?? null,
  tipTimeS: tip?.timeS ?? null,
});

/** Returns functions that are called within a transaction. */
export function createNetworks(db: Db) {
  const insert = preparedInsert(db, networks);
  const find = findBy(db, networks, 'key');
  const all = atFirstUse(db.orm.select().from(networks).orderBy(networks.key));
  const setGaps = changeBy(db, networks, ['gaps'], 'key');
  const position = ['tipHash', 'tipNumber', 'tipTimeS', 'floor', 'readThroughS', 'prunedThrough'] as const;
  const progress = changeBy(db, networks, [...position, 'gaps', 'updatedAtMs'], 'key');
  return {
    find: (key: NetworkKey): Promise<NetworkRow | undefined> => find.get({ key }),
    /** Inserts the row of a network that has none. */
    async begin(key: NetworkKey, nowMs: number): Promise<NetworkRow> {
      const row: NetworkRow = {
        ...{ key, state: 'starting', reasonCode: null, reasonMessage: null, updatedAtMs: nowMs, pid: 0 },
        ...{ tipHash: null, tipNumber: null, tipTimeS: null, floor: 0, readThroughS: 0, prunedThrough: -1, gaps: [] },
        ...{ headNumber: null, nodeConnected: false, nodeHeardAtMs: 0, recoveries: 0, rewoundAtMs: 0 },
      };
      await insert(row);
      return row;
    },
    all: (): Promise<NetworkRow[]> => all.all(),
    progress: async (row: Parameters<typeof progress>[0]) => {
      await progress(row);
    },
    setGaps: async (key: NetworkKey, gaps: readonly BlockGap[]) => {
      await setGaps({ key, gaps });
    },
    /** Notes that an operator moved the network's position, so that its follower loads it again. */
    async recover(key: NetworkKey, change: Partial<Omit<NetworkRow, 'key' | 'recoveries'>>): Promise<void> {
      const recoveries = sql`${networks.recoveries} + 1`;
      await db.orm
        .update(networks)
        .set({ ...change, recoveries })
        .where(eq(networks.key, key))
        .run();
    },
    /** Returns how far all of these networks have been read. */
    async reading(keys: readonly NetworkKey[]): Promise<Pick<Moment, 'readThroughS' | 'rewoundAtS'>> {
      const rows = await mapInOrder(keys, (key) => find.get({ key }));
      return {
        readThroughS: Math.min(...rows.map((row) => row?.readThroughS ?? 0)),
        rewoundAtS: toSeconds(Math.max(...rows.map((row) => row?.rewoundAtMs ?? 0))),
      };
    },
  };
}

export type NetworkRows = ReturnType<typeof createNetworks>;

export function networkCommands(db: Db, steps: NetworkRows) {
  return {
    async report({ network, reason, nowMs, recoveries, state, readThroughS, ...heard }: NetworkReport): Promise<void> {
      await db.write(async () => {
        const row = (await steps.find(network)) ?? (await steps.begin(network, nowMs));
        const isOutdated = row.recoveries !== (recoveries ?? row.recoveries);
        const why = { reasonCode: reason?.code ?? null, reasonMessage: reason?.message ?? null };
        const position = isOutdated ? {} : { state, readThroughS, ...why };
        await db.orm
          .update(networks)
          .set({ ...heard, ...position, updatedAtMs: nowMs })
          .where(eq(networks.key, network))
          .run();
      });
    },
    async list(): Promise<readonly NetworkStatus[]> {
      return (await db.read(() => steps.all())).map(toStatus);
    },
  };
}

/** Returns "block 5" or "blocks 5 to 7". */
export const numbersText = (from: number, to: number): string =>
  from === to ? `block ${from}` : `blocks ${from} to ${to}`;

function toStatus(row: NetworkRow): NetworkStatus {
  const { key, reasonCode, reasonMessage, tipHash, tipNumber, tipTimeS } = row;
  const { state, headNumber, nodeConnected, nodeHeardAtMs, floor, readThroughS, updatedAtMs, pid } = row;
  return {
    ...{ state, headNumber, nodeConnected, nodeHeardAtMs, floor, readThroughS, updatedAtMs, pid },
    network: key,
    reason: reasonCode === null || reasonMessage === null ? null : { code: reasonCode, message: reasonMessage },
    cursor:
      tipHash === null || tipNumber === null || tipTimeS === null
        ? null
        : { hash: tipHash, number: tipNumber, timeS: tipTimeS },
  };
}
