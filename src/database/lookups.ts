/** Lookups: the payment page asks about transactions, a network's indexer answers. */

import {
  judge,
  LOOKUP_AGE_MS_MAX,
  type LookupResult,
  nextLookAtMs,
  recipientsChecked,
  type TransactionReport,
} from '../core/lookup.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import { addressRowsOf } from './addresses.ts';
import { raiseAlarmOf } from './alarms.ts';
import type { Db } from './engine/open.ts';
import { networkRowsOf } from './networks.ts';
import type { SealedDb } from './sealing.ts';
import { findSessionOf } from './session.ts';
import type { lookups } from './tables.ts';
import { transferRowsOf } from './transfers.ts';

/** A lookup of one transaction on one network. It informs and never credits. */
export type Lookup = Readonly<{
  network: NetworkKey;
  tx: string;
  askedAtMs: number;
  /** The result; null before the network's indexer has looked. */
  finding: LookupResult | null;
  /** True while the indexer will look again. */
  isOpen: boolean;
}>;

type LookupRow = typeof lookups.$inferSelect;
type LookupKey = Pick<LookupRow, 'sessionId' | 'network' | 'tx'>;

/** A claimed lookup is due again after this time if its process ends before it answers. A node answers sooner. */
const LEASE_MS = 60_000;
/** Lookups that one session keeps; older ones are deleted. */
const OF_SESSION_MAX = 60;
const KEPT_MS = 24 * 3600_000;
/** Expired rows that one request removes: more than it adds. */
const DELETED_MAX = 20;

const COLUMNS = `session_id AS "sessionId", network, tx, family, finding, first_asked_at_ms AS "firstAskedAtMs", position,
  asked_at_ms AS "askedAtMs", due_at_ms AS "dueAtMs"`;
const THIS = 'session_id = :sessionId AND network = :network AND tx = :tx';

function createStatements({ client }: Db) {
  const removing = (where: string) =>
    client.prepare(
      `DELETE FROM lookups WHERE (session_id, network, tx) IN (SELECT session_id, network, tx FROM lookups ${where})`,
    );
  return {
    ask: client.prepare(
      `INSERT INTO lookups (session_id, network, tx, family, finding, first_asked_at_ms, position, asked_at_ms, due_at_ms)
       VALUES (:sessionId, :network, :tx, :family, NULL, :nowMs, :position, :nowMs, :nowMs)
       ON CONFLICT (session_id, network, tx) DO UPDATE SET asked_at_ms = :nowMs, due_at_ms = :nowMs`,
    ),
    find: client.prepare(`SELECT ${COLUMNS} FROM lookups WHERE ${THIS}`),
    ofSession: client.prepare(
      `SELECT ${COLUMNS} FROM lookups WHERE session_id = :sessionId ORDER BY first_asked_at_ms, position, tx`,
    ),
    due: client.prepare(
      `SELECT ${COLUMNS} FROM lookups
       WHERE network = :network AND due_at_ms <= :nowMs ORDER BY due_at_ms, session_id, tx LIMIT :limit`,
    ),
    settle: client.prepare(`UPDATE lookups SET finding = :finding, due_at_ms = :dueAtMs WHERE ${THIS}`),
    removeOldest: removing(
      `WHERE session_id = :sessionId ORDER BY asked_at_ms DESC, network, tx LIMIT ${DELETED_MAX} OFFSET ${OF_SESSION_MAX}`,
    ),
    removeExpired: removing(
      `WHERE network = :network AND asked_at_ms < :beforeMs
       ORDER BY asked_at_ms, session_id, tx LIMIT ${DELETED_MAX}`,
    ),
  };
}

/** Judges a node's report for the session that asked, by what the database holds now. */
async function judgeReport(
  db: SealedDb,
  { sessionId, network, family, tx }: LookupRow,
  report: TransactionReport,
): Promise<LookupResult> {
  const addresses = addressRowsOf(db);
  const session = await findSessionOf(db)(sessionId);
  const isTaken = async (key: string, mode: Mode) => (await addresses.find({ family, mode }, key))?.state === 'taken';
  const others = new Set<string>();
  for (const key of recipientsChecked(report)) {
    if ((await isTaken(key, 'live')) || (await isTaken(key, 'test'))) others.add(key);
  }
  return judge(report, {
    ownKey: (await addresses.ofSession(sessionId))[family] ?? null,
    others,
    accepts: session?.terms.accepts ?? [],
    isOwnNetwork: network.startsWith(`${session?.mode}:`),
    isKept: await transferRowsOf(db).holds(sessionId, network, tx),
    floor: (await networkRowsOf(db).find(network))?.floor ?? 0,
  });
}

const missed = ({ sessionId, network, tx }: LookupKey, number: number, atMs: number) => ({
  atMs,
  code: 'transfer_missed',
  message:
    `A payer named transaction ${tx} in block ${number}. The node shows that it paid this session's address, but ` +
    'it was not found when the block was read, and it is not credited. Read the block again, and report this bug: ' +
    `\`quayside network reread ${network} --from ${number} --to ${number}\`.`,
  network,
  sessionId,
});

const toLookup = ({ network, tx, askedAtMs, finding, dueAtMs }: LookupRow): Lookup => ({
  ...{ network, tx, askedAtMs, finding },
  isOpen: dueAtMs !== null,
});

export function lookupCommands(db: SealedDb) {
  const raiseAlarm = raiseAlarmOf(db);
  const findSession = findSessionOf(db);
  const statements = createStatements(db);
  return {
    /**
     * Asks the indexers of some networks about a transaction, again if it was asked before. A session keeps at most 60
     * lookups, for a day. `tx` is canonical text of the network's family.
     */
    async request({
      sessionId,
      asks,
      nowMs,
    }: Readonly<{
      sessionId: string;
      asks: readonly Pick<LookupRow, 'network' | 'family' | 'tx'>[];
      nowMs: number;
    }>): Promise<void> {
      await db.write(async () => {
        if (!(await findSession(sessionId))) return;
        for (const [position, ask] of asks.entries()) await statements.ask.run({ ...ask, position, sessionId, nowMs });
        await statements.removeOldest.run({ sessionId });
        const beforeMs = nowMs - KEPT_MS;
        for (const { network } of asks) await statements.removeExpired.run({ network, beforeMs });
      });
    },
    /** Returns all lookups of a session, in the order in which they were first asked. */
    async list(sessionId: string): Promise<readonly Lookup[]> {
      return db.read(async () => ((await statements.ofSession.all({ sessionId })) as LookupRow[]).map(toLookup));
    },
    /** Leases what an indexer should ask its node now, longest waiting first, and nothing past `LOOKUP_AGE_MS_MAX`. */
    async claim(network: NetworkKey, nowMs: number, limit: number): Promise<readonly LookupKey[]> {
      // The write lock is taken only if there are any.
      if ((await db.read(() => statements.due.get({ network, nowMs, limit: 1 }))) === undefined) return [];
      return db.write(async () => {
        const found = (await statements.due.all({ network, nowMs, limit })) as LookupRow[];
        const isYoung = ({ askedAtMs }: LookupRow) => askedAtMs > nowMs - LOOKUP_AGE_MS_MAX;
        for (const one of found) {
          const { sessionId, tx, finding } = one;
          // A lookup that is too old stays open, and is deleted before anybody looks again.
          const dueAtMs = isYoung(one) ? nowMs + LEASE_MS : one.askedAtMs + KEPT_MS;
          await statements.settle.run({ sessionId, network, tx, finding, dueAtMs });
        }
        return found.filter(isYoung).map(({ sessionId, tx }) => ({ sessionId, network, tx }));
      });
    },
    /**
     * Judges the node's report by what is stored, and raises an alarm when money was missed. It credits nothing.
     * @param input `report` is null when the node could not tell: it is asked again, and an earlier result stays
     */
    async answer({
      report,
      nowMs,
      ...key
    }: LookupKey & Readonly<{ report: TransactionReport | null; nowMs: number }>): Promise<void> {
      await db.write(async () => {
        const row = (await statements.find.get(key)) as LookupRow | undefined;
        if (!row) return;
        const finding = report ? await judgeReport(db, row, report) : row.finding;
        // While nothing is known it stays open, until it is too old to be asked.
        const next = nextLookAtMs(finding ?? 'unknown', row.askedAtMs, nowMs) ?? (finding === null ? nowMs : null);
        await statements.settle.run({ ...key, finding, dueAtMs: next });
        if (finding === 'missed' && row.finding !== 'missed' && report?.kind === 'mined') {
          await raiseAlarm(missed(row, report.number, nowMs));
        }
      });
    },
  };
}
