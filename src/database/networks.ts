/**
 * Networks: what their followers report, and how far each has been read.
 */

import { eq, sql } from 'drizzle-orm';
import type { Moment } from '../core/session.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, laterValues, preparedInsert } from './engine/prepared.ts';
import type { NetworkReport, NetworkStatus } from './network-health.ts';
import { networks } from './tables.ts';
export type NetworkRow = typeof networks.$inferSelect;
type Progress = Pick<
  NetworkRow,
  'tipHash' | 'tipNumber' | 'tipTimeS' | 'floor' | 'readThroughS' | 'prunedThrough' | 'updatedAtMs'
>;

/** To be called within a transaction. */
export type NetworkRows = Readonly<{
  find(key: NetworkKey): NetworkRow | undefined;
  /** Inserts the row of a network that has none. */
  begin(key: NetworkKey, nowMs: number): NetworkRow;
  all(): NetworkRow[];
  progress(key: NetworkKey, progress: Progress): void;
  /** Notes that an operator moved the network's position, so that its follower loads it again. */
  recover(key: NetworkKey, change: Partial<Omit<NetworkRow, 'key' | 'recoveries'>>): void;
  /** Returns how far all of these networks have been read. */
  reading(keys: readonly NetworkKey[]): Pick<Moment, 'readThroughS' | 'rewoundAtS'>;
}>;

export function createNetworks(db: Db): NetworkRows {
  const insert = preparedInsert(db, networks);
  const find = atFirstUse(
    db.orm
      .select()
      .from(networks)
      .where(eq(networks.key, sql.placeholder('key'))),
  );
  const all = atFirstUse(db.orm.select().from(networks).orderBy(networks.key));
  const progress = atFirstUse(
    db.orm
      .update(networks)
      .set(
        laterValues(networks, [
          'tipHash',
          'tipNumber',
          'tipTimeS',
          'floor',
          'readThroughS',
          'prunedThrough',
          'updatedAtMs',
        ]),
      )
      .where(eq(networks.key, sql.placeholder('key'))),
  );
  return {
    find: (key) => find.get({ key }),
    begin(key, nowMs) {
      const row: NetworkRow = {
        key,
        state: 'starting',
        reasonCode: null,
        reasonMessage: null,
        tipHash: null,
        tipNumber: null,
        tipTimeS: null,
        headNumber: null,
        nodeConnected: false,
        nodeHeardAtMs: 0,
        floor: 0,
        readThroughS: 0,
        prunedThrough: -1,
        updatedAtMs: nowMs,
        pid: 0,
        recoveries: 0,
        rewoundAtMs: 0,
      };
      insert(row);
      return row;
    },
    all: () => all.all(),
    progress(key, values) {
      progress.run({ key, ...values });
    },
    recover(key, change) {
      const recoveries = sql`${networks.recoveries} + 1`;
      db.orm
        .update(networks)
        .set({ ...change, recoveries })
        .where(eq(networks.key, key))
        .run();
    },
    reading(keys) {
      const rows = keys.map((key) => find.get({ key }));
      return {
        readThroughS: Math.min(...rows.map((row) => row?.readThroughS ?? 0)),
        rewoundAtS: toSeconds(Math.max(...rows.map((row) => row?.rewoundAtMs ?? 0))),
      };
    },
  };
}

export function networkCommands(db: Db, steps: NetworkRows) {
  return {
    async report({
      network,
      state,
      reason,
      headNumber,
      nodeConnected,
      nodeHeardAtMs,
      readThroughS,
      pid,
      nowMs,
      recoveries,
    }: NetworkReport): Promise<void> {
      await db.write(() => {
        const row = steps.find(network) ?? steps.begin(network, nowMs);
        const isOutdated = row.recoveries !== (recoveries ?? row.recoveries);
        const position = {
          state,
          reasonCode: reason?.code ?? null,
          reasonMessage: reason?.message ?? null,
          readThroughS,
        };
        db.orm
          .update(networks)
          .set({
            ...(isOutdated ? {} : position),
            headNumber,
            nodeConnected,
            nodeHeardAtMs,
            pid,
            updatedAtMs: nowMs,
          })
          .where(eq(networks.key, network))
          .run();
      });
    },
    async list(): Promise<readonly NetworkStatus[]> {
      return db.read(() => steps.all()).map(toStatus);
    },
  };
}

/** Returns "block 5" or "blocks 5 to 7". */
export const numbersText = (from: number, to: number): string =>
  from === to ? `block ${from}` : `blocks ${from} to ${to}`;

function toStatus(row: NetworkRow): NetworkStatus {
  const {
    key,
    reasonCode,
    reasonMessage,
    tipHash,
    tipNumber,
    tipTimeS,
    prunedThrough: _,
    recoveries: __,
    rewoundAtMs: ___,
    ...status
  } = row;
  return {
    ...status,
    network: key,
    reason: reasonCode === null || reasonMessage === null ? null : { code: reasonCode, message: reasonMessage },
    cursor:
      tipHash === null || tipNumber === null || tipTimeS === null
        ? null
        : { hash: tipHash, number: tipNumber, timeS: tipTimeS },
  };
}
