/** Networks: the reports of their followers, and how far each was read. */

import type { Asset } from '../core/ledger.ts';
import type { Moment } from '../core/session.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
import { type blocks, networks } from './tables.ts';

/**
 * A network as its follower last reported it. `reason` explains the states `behind`, `fault` and `halted`, or why a
 * followed network credits nothing.
 */
export type NetworkRow = typeof networks.$inferSelect;

/** Returns the columns of the newest canonical block. */
export const tipColumns = (tip: Pick<typeof blocks.$inferSelect, 'hash' | 'number'> | undefined) => ({
  tipHash: tip?.hash ?? null,
  tipNumber: tip?.number ?? null,
});

/** Upper bound of networks' numbers, which end the ids of their rows. */
const NUMBERS_END = 1_000;

/** Ids of the blocks and transfers that one transaction saves for a network. */
export type RowIds = Readonly<{ next(): number; last(): number }>;

/** Returns new ids of a network, which rise with the time. Save the last one with the network's row. */
export function idsAfter({ number, lastId }: Pick<NetworkRow, 'number' | 'lastId'>, nowMs: number): RowIds {
  let last = lastId;
  return {
    next() {
      last = Math.max(Math.floor(last / NUMBERS_END) + 1, nowMs) * NUMBERS_END + number;
      return last;
    },
    last: () => last,
  };
}

/**
 * Locks the row of a network for a transaction, or every network's row for null. Each decision about money out begins
 * with it, so that a freeze and an attempt wait for each other. An engine with several writers turns the tag into a
 * lock clause.
 */
export async function lockNetwork({ client }: Pick<Db, 'client'>, network: NetworkKey | null): Promise<void> {
  if (network === null) await client.prepare('SELECT key FROM networks ORDER BY key /* lock */').all();
  else await client.prepare('SELECT key FROM networks WHERE key = ? /* lock */').get(network);
}

/** Locks the row of a payout's network. */
export async function lockNetworkOf({ client }: Pick<Db, 'client'>, payoutId: string): Promise<void> {
  await client
    .prepare('SELECT key FROM networks WHERE key = (SELECT network FROM payouts WHERE id = ?) /* lock */')
    .get(payoutId);
}

/** Inserts the row of a network that has none, within a transaction. */
export async function beginNetwork(db: Db, key: NetworkKey, nowMs: number): Promise<NetworkRow> {
  const row: NetworkRow = {
    key,
    number: await nextNumber(db, 'networks'),
    lastId: 0,
    state: 'starting',
    reason: null,
    updatedAtMs: nowMs,
    pid: 0,
    tipHash: null,
    tipNumber: null,
    floor: 0,
    readThroughS: 0,
    prunedThrough: -1,
    gaps: [],
    headNumber: null,
    nodeConnected: false,
    nodeHeardAtMs: 0,
    recoveries: 0,
    rewoundAtMs: 0,
  };
  await insertRow(db, networks, row);
  return row;
}

export const allNetworks = (db: Db): Promise<NetworkRow[]> => findRows(db, networks, 'ORDER BY key');

/** Returns how far these networks were read, all of them together. */
export async function readingOf(
  db: Db,
  keys: readonly NetworkKey[],
): Promise<Pick<Moment, 'readThroughS' | 'rewoundAtS'>> {
  const rows = await mapInOrder(keys, (key) => findRow(db, networks, { key }));
  return {
    readThroughS: Math.min(...rows.map((row) => row?.readThroughS ?? 0)),
    rewoundAtS: toSeconds(Math.max(...rows.map((row) => row?.rewoundAtMs ?? 0))),
  };
}

export function networkCommands(db: Db) {
  return {
    async report({ network, reason, nowMs, recoveries, state, readThroughS, ...heard }: NetworkReport): Promise<void> {
      await db.write(async () => {
        const row = (await findRow(db, networks, { key: network })) ?? (await beginNetwork(db, network, nowMs));
        const isOutdated = row.recoveries !== (recoveries ?? row.recoveries);
        const position = isOutdated ? {} : { state, readThroughS, reason };
        const changes = { ...heard, ...position, updatedAtMs: nowMs };
        await changeRows(db, networks, { key: network }, changes);
      });
    },
    /** Returns a network; null before the first report of its follower. */
    async find(key: NetworkKey): Promise<NetworkRow | null> {
      return db.read(async () => (await findRow(db, networks, { key })) ?? null);
    },
    async list(): Promise<readonly NetworkRow[]> {
      return db.read(() => allNetworks(db));
    },
  };
}

/** Returns "block 5" or "blocks 5 to 7". */
export const numbersText = (from: number, to: number): string =>
  from === to ? `block ${from}` : `blocks ${from} to ${to}`;

// ── Health ───────────────────────────────────────────────────────────────────────────────────────────────────────────
/** Longest silence of a follower, which reports every second. A longer one means that it is dead or stuck. */
const REPORT_AGE_MS_MAX = 30_000;

/** Time for which a network stays on offer after it was last read to its head, so that a restart refuses nobody. */
const READ_AGE_S_MAX = 120;

/** Returns true while a payment on the network would be seen soon after it is made. */
export const isFollowed = ({ state, updatedAtMs }: Pick<NetworkRow, 'state' | 'updatedAtMs'>, nowMs: number): boolean =>
  state === 'following' && !isSilent({ updatedAtMs }, nowMs);

/** Returns true if the network's indexer has stopped reporting. */
export const isSilent = ({ updatedAtMs }: Pick<NetworkRow, 'updatedAtMs'>, nowMs: number): boolean =>
  updatedAtMs < nowMs - REPORT_AGE_MS_MAX;

/**
 * Returns the time up to which payments on a network were seen, if it was not read to its head for half a minute.
 * Returns null while payments are seen. A restart is shorter, and needs nobody.
 */
export function unseenSinceMs(
  status: Pick<NetworkRow, 'state' | 'updatedAtMs' | 'readThroughS'>,
  nowMs: number,
): number | null {
  const readMs = status.readThroughS * 1000;
  if (isFollowed(status, nowMs)) return null;
  return status.state === 'halted' || readMs < nowMs - REPORT_AGE_MS_MAX ? readMs : null;
}

/**
 * Returns the reason, with a sentence, why a payment on the network would not be seen soon; null if it would be.
 * @param status null if its indexer has never reported
 */
export function whyUnfollowed(
  status: Pick<NetworkRow, 'state' | 'reason' | 'updatedAtMs'> | null,
  nowMs: number,
): NonNullable<NetworkRow['reason']> | null {
  if (!status) return { code: 'not_started', message: 'its indexer has never reported' };
  const { state, reason, updatedAtMs } = status;
  if (isFollowed(status, nowMs)) return null;
  if (state === 'halted' || !isSilent(status, nowMs)) return reason ?? { code: state, message: `it is ${state}` };
  const silentS = Math.floor((nowMs - updatedAtMs) / 1000);
  return { code: 'indexer_silent', message: `its indexer has reported nothing for ${silentS} s` };
}

/** Returns whether new sessions may offer the network, because it is followed or was until shortly before. */
export const isOffered = (status: Pick<NetworkRow, 'state' | 'updatedAtMs' | 'readThroughS'>, nowMs: number): boolean =>
  isFollowed(status, nowMs) ||
  (status.state !== 'halted' && status.readThroughS >= Math.floor(nowMs / 1000) - READ_AGE_S_MAX);

/** Returns the networks that new sessions may offer and that have a canonical block. */
export const offeredNetworks = (rows: readonly NetworkRow[], nowMs: number): ReadonlySet<NetworkKey> =>
  new Set(rows.flatMap((row) => (row.tipHash !== null && isOffered(row, nowMs) ? row.key : [])));

export type NetworkState = NetworkRow['state'];

/** A follower's report between commits. It contains no cursor. */
export type NetworkReport = Pick<
  NetworkRow,
  'state' | 'reason' | 'headNumber' | 'nodeConnected' | 'nodeHeardAtMs' | 'readThroughS' | 'pid'
> &
  Readonly<{
    network: NetworkKey;
    nowMs: number;
    /** The `recoveries` of the reported position. For an outdated position, neither state nor reason is saved. */
    recoveries?: number;
  }>;

// ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────
// The formats of addresses and amounts come from outside, because they depend on the chain and the token.

export type TextFormats = Readonly<{
  /** Formats an address key for people. */
  formatAddress: (network: NetworkKey, key: string) => string;
  /** Formats an amount of a network's coin or token for people, such as `10.50 USDT`. */
  formatAmount: (network: NetworkKey, asset: Asset, units: bigint) => string;
}>;

const baseUnits: TextFormats['formatAmount'] = (_network, asset, units) =>
  `${units} base units of ${asset === 'native' ? 'the native coin' : asset}`;

/** Returns the formats. Without a configuration, keys stay as they are and amounts are in base units. */
export const formatsOf = ({
  formatAddress = (_network, key) => key,
  formatAmount = baseUnits,
}: Partial<TextFormats>): TextFormats => ({ formatAddress, formatAmount });
