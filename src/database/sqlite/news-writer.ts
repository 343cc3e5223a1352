/**
 * Writes news to each target that wants it, in the transaction of what happened. However much comes, few rows wait at
 * a target: beyond the first of a kind, one counts the rest.
 * @module
 */
import { and, asc, eq, gt, isNotNull, min, ne, sql } from 'drizzle-orm';
import { NEWS_WAITING_MAX, type News } from '../../core/news.ts';
import { NEWS_DELAY_MS } from '../../core/notice.ts';
import type { Db } from './open.ts';
import { atFirstUse, preparedInsert } from './prepared.ts';
import { notices, noticeTargets, stores } from './tables.ts';

type TargetRow = typeof noticeTargets.$inferSelect;
/** News, but for how its store is called; an event of the installation has none. */
export type NewNews = News extends infer One ? (One extends News ? Omit<One, 'store'> : never) : never;

/** To be called within the transaction of what happened. `storeId` is null for what concerns the installation. */
export type TellNews = (news: NewNews, storeId: string | null, nowMs: number) => void;

/** Payments are told whoever asked for them; the rest can wait, and is not for those who are next in line. */
const wants = ({ payments, severities, afterMinutes }: TargetRow, { kind }: NewNews): boolean =>
  kind === 'payment' ? payments : severities.includes('know') && afterMinutes === 0;

export function createNewsWriter(db: Pick<Db, 'orm'>): TellNews {
  const { orm } = db;
  const insert = preparedInsert(db, notices, ['id']);
  const isInformed = and(isNotNull(noticeTargets.provedAtMs), ne(noticeTargets.kind, 'dead-man'));
  const targets = atFirstUse(orm.select().from(noticeTargets).where(isInformed));
  const store = atFirstUse(
    orm
      .select({ name: stores.name, status: stores.status })
      .from(stores)
      .where(eq(stores.id, sql.placeholder('id'))),
  );
  const ofTarget = and(eq(notices.targetId, sql.placeholder('targetId')), isNotNull(notices.news));
  const waiting = atFirstUse(
    orm
      .select({ id: notices.id, facts: notices.facts, count: notices.count })
      .from(notices)
      .where(and(ofTarget, eq(notices.news, sql.placeholder('kind')), isNotNull(notices.dueAtMs)))
      .orderBy(asc(notices.id)),
  );
  /** When the next message with news is sent, which takes along what comes until then. */
  const nextDue = atFirstUse(
    orm
      .select({ atMs: min(notices.dueAtMs) })
      .from(notices)
      .where(and(ofTarget, gt(notices.dueAtMs, sql.placeholder('nowMs')))),
  );

  function write({ id: targetId, digestMinute, tally }: TargetRow, facts: News, nowMs: number): void {
    const { kind } = facts;
    if (digestMinute !== null) {
      const counted = { ...tally, [kind]: (tally[kind] ?? 0) + 1 };
      orm.update(noticeTargets).set({ tally: counted }).where(eq(noticeTargets.id, targetId)).run();
    }
    const rows = waiting.all({ targetId, kind });
    const folded = rows.find((row) => row.facts === null);
    const isFull = rows.length - (folded ? 1 : 0) >= NEWS_WAITING_MAX;
    if (isFull && folded) {
      const { id, count } = folded;
      orm
        .update(notices)
        .set({ count: count + 1 })
        .where(eq(notices.id, id))
        .run();
      return;
    }
    const dueAtMs = nextDue.get({ targetId, nowMs })?.atMs ?? nowMs + NEWS_DELAY_MS;
    const fresh = { times: 0, tries: 0, createdAtMs: nowMs, dueAtMs, sentAtMs: null, count: 1 };
    insert({
      targetId,
      alarmId: null,
      change: null,
      news: kind,
      facts: isFull ? null : facts,
      severity: 'know',
      ...fresh,
    });
  }

  return (news, storeId, nowMs) => {
    const wanting = targets.all().filter((one) => wants(one, news));
    if (wanting.length === 0) return;
    const row = storeId === null ? undefined : store.get({ id: storeId });
    // Whoever asks for a store chooses its name and those of its members, and must not write to the operator's phone.
    const isForAll = storeId === null || row?.status === 'approved';
    const whole = (news.kind === 'operator_added' ? news : { ...news, store: row?.name ?? '' }) as News;
    for (const target of wanting) {
      if (target.storeId === null ? isForAll : target.storeId === storeId) write(target, whole, nowMs);
    }
  };
}
