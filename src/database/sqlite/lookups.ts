/**
 * Lookups: the payment page asks about transactions, a network's indexer answers.
 * @module
 */
import { and, asc, desc, eq, gt, inArray, lt, lte, sql } from 'drizzle-orm';
import {
  judge,
  LOOKUP_AGE_MS_MAX,
  type LookupResult,
  nextLookAtMs,
  type TransactionReport,
} from '../../core/lookup.ts';
import type { Mode, NetworkKey } from '../../core/transfer.ts';
import type { Lookup, LookupDatabase } from '../lookups.ts';
import type { RaiseAlarm } from './alarms.ts';
import type { Networks } from './networks.ts';
import type { Db } from './open.ts';
import type { Addresses } from './pool.ts';
import { atFirstUse } from './prepared.ts';
import type { FindSessionRow } from './sessions.ts';
import { lookUps } from './tables.ts';
import type { Transfers } from './transfers.ts';

type LookupRow = typeof lookUps.$inferSelect;

/** Lookups that one session keeps; older ones are deleted. */
const OF_SESSION_MAX = 60;
const KEPT_MS = 24 * 3600_000;
/** Expired rows that one request removes: more than it adds. */
const DELETED_MAX = 20;
const modes: readonly Mode[] = ['live', 'test'];

export function lookupCommands(
  db: Db,
  parts: Readonly<{
    addresses: Addresses;
    networks: Networks;
    transfers: Transfers;
    findSession: FindSessionRow;
    raiseAlarm: RaiseAlarm;
  }>,
): LookupDatabase {
  const { addresses, networks, transfers, findSession, raiseAlarm } = parts;
  const { orm } = db;
  const ofSession = atFirstUse(
    orm
      .select()
      .from(lookUps)
      .where(eq(lookUps.sessionId, sql.placeholder('sessionId')))
      .orderBy(asc(lookUps.id)),
  );
  const due = atFirstUse(
    orm
      .select({ id: lookUps.id, tx: lookUps.tx })
      .from(lookUps)
      .where(
        and(
          eq(lookUps.network, sql.placeholder('network')),
          lte(lookUps.nextLookAtMs, sql.placeholder('nowMs')),
          gt(lookUps.askedAtMs, sql.placeholder('askedAfterMs')),
        ),
      )
      .orderBy(asc(lookUps.nextLookAtMs))
      .limit(sql.placeholder('limit')),
  );
  const find = atFirstUse(
    orm
      .select()
      .from(lookUps)
      .where(eq(lookUps.id, sql.placeholder('id'))),
  );

  const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id);

  function deleteOld(sessionId: string, nowMs: number): void {
    const beyond = orm
      .select({ id: lookUps.id })
      .from(lookUps)
      .where(eq(lookUps.sessionId, sessionId))
      .orderBy(desc(lookUps.askedAtMs), desc(lookUps.id))
      .limit(DELETED_MAX)
      .offset(OF_SESSION_MAX)
      .all();
    const old = orm
      .select({ id: lookUps.id })
      .from(lookUps)
      .where(lt(lookUps.askedAtMs, nowMs - KEPT_MS))
      .orderBy(asc(lookUps.askedAtMs))
      .limit(DELETED_MAX)
      .all();
    orm
      .delete(lookUps)
      .where(inArray(lookUps.id, [...idsOf(beyond), ...idsOf(old)]))
      .run();
  }

  /** Judges a node's report for the session that asked, by what the database holds now. */
  function judgeReport({ sessionId, network, family, tx }: LookupRow, report: TransactionReport): LookupResult {
    const session = findSession(sessionId);
    return judge(report, {
      ownKey: addresses.ofSession(sessionId)[family] ?? null,
      isOthers: (key) => modes.some((mode) => addresses.find({ family, mode }, key)?.state === 'taken'),
      accepts: session?.terms.accepts ?? [],
      isOwnNetwork: network.startsWith(`${session?.mode}:`),
      isKept: transfers.holds(sessionId, network, tx),
      floor: networks.find(network)?.floor ?? 0,
    });
  }

  function alarmMissed({ sessionId, network, tx }: LookupRow, number: number, atMs: number): void {
    raiseAlarm({
      atMs,
      code: 'transfer_missed',
      message:
        `A payer named transaction ${tx} in block ${number}. The node shows that it paid this session's address, but ` +
        'it was not found when the block was read, and it is not credited. Read the block again, and report this bug: ' +
        `\`quayside networks reread ${network} --from ${number} --to ${number}\`.`,
      network,
      sessionId,
    });
  }

  return {
    async requestLookups({ sessionId, asks, nowMs }) {
      await db.write(() => {
        if (!findSession(sessionId)) return;
        for (const ask of asks) {
          orm
            .insert(lookUps)
            .values({ ...ask, sessionId, askedAtMs: nowMs, nextLookAtMs: nowMs, finding: null })
            .onConflictDoUpdate({
              target: [lookUps.sessionId, lookUps.tx, lookUps.network],
              set: { askedAtMs: nowMs, nextLookAtMs: nowMs },
            })
            .run();
        }
        deleteOld(sessionId, nowMs);
      });
    },
    async listLookups(sessionId) {
      return db.read(() => ofSession.all({ sessionId })).map(toLookup);
    },
    async dueLookups(network: NetworkKey, nowMs, limit) {
      return db.read(() => due.all({ network, nowMs, askedAfterMs: nowMs - LOOKUP_AGE_MS_MAX, limit }));
    },
    async answerLookup({ id, report, nowMs }) {
      await db.write(() => {
        const row = find.get({ id });
        if (!row) return;
        const finding = report ? judgeReport(row, report) : row.finding;
        // While nothing is known it stays open, until it is too old to be asked.
        const next = nextLookAtMs(finding ?? 'unknown', row.askedAtMs, nowMs) ?? (finding === null ? nowMs : null);
        orm.update(lookUps).set({ finding, nextLookAtMs: next }).where(eq(lookUps.id, id)).run();
        if (finding === 'missed' && row.finding !== 'missed' && report?.kind === 'mined') {
          alarmMissed(row, report.number, nowMs);
        }
      });
    },
  };
}

const toLookup = ({ network, tx, askedAtMs, finding, nextLookAtMs: next }: LookupRow): Lookup => ({
  network,
  tx,
  askedAtMs,
  finding,
  isOpen: next !== null,
});
