/**
 * What stores received, by quarter of an hour, and in which networks and currencies each session was credited. Written
 * in the transaction of the ledger's entries, and compared with them by `ledger verify`.
 * @module
 */
import { and, eq, sql } from 'drizzle-orm';
import { toPar } from '../../core/money.ts';
import type { Currency, Mode, NetworkKey } from '../../core/transfer.ts';
import { type CreditTotal, type CreditTotalDatabase, QUARTER_MS } from '../credit-totals.ts';
import type { Db } from './open.ts';
import { atFirstUse, preparedInsert } from './prepared.ts';
import { quarterTotals, sessionAssets } from './tables.ts';

/** A payment of the ledger, credited or taken back. */
export type BookedCredit = Readonly<{
  session: Readonly<{ id: string; storeId: string; mode: Mode }>;
  network: NetworkKey;
  currency: Currency;
  units: bigint;
  decimals: number;
}>;

/** To be called within a transaction. @param isTaken false when a reorg takes the credits back */
type AddToTotals = (credits: readonly BookedCredit[], isTaken: boolean, atMs: number) => void;

const quarterOf = (ms: number): number => Math.floor(ms / QUARTER_MS);

type Total = typeof quarterTotals.$inferSelect;

export function createCreditTotals(db: Db): AddToTotals {
  const key = and(
    eq(quarterTotals.storeId, sql.placeholder('storeId')),
    eq(quarterTotals.mode, sql.placeholder('mode')),
    eq(quarterTotals.quarter, sql.placeholder('quarter')),
    eq(quarterTotals.network, sql.placeholder('network')),
    eq(quarterTotals.currency, sql.placeholder('currency')),
  );
  const find = atFirstUse(db.orm.select().from(quarterTotals).where(key));
  const remove = atFirstUse(db.orm.delete(quarterTotals).where(key));
  const insert = preparedInsert(db, quarterTotals);
  const noteAsset = atFirstUse(
    db.orm
      .insert(sessionAssets)
      .values({
        storeId: sql.placeholder('storeId'),
        network: sql.placeholder('network'),
        currency: sql.placeholder('currency'),
        sessionId: sql.placeholder('sessionId'),
      })
      .onConflictDoNothing(),
  );

  return (credits, isTaken, atMs) => {
    const changed = new Map<string, Total>();
    for (const { session, network, currency, units, decimals } of credits) {
      const { storeId, mode } = session;
      const at = { storeId, mode, quarter: quarterOf(atMs), network, currency };
      const name = [storeId, mode, network, currency].join(' ');
      const par = toPar(units, decimals);
      const known = changed.get(name) ??
        find.get(at) ?? { ...at, credits: 0, creditedPar: 0n, reversals: 0, reversedPar: 0n };
      changed.set(
        name,
        isTaken
          ? { ...known, credits: known.credits + 1, creditedPar: known.creditedPar + par }
          : { ...known, reversals: known.reversals + 1, reversedPar: known.reversedPar + par },
      );
      if (isTaken) noteAsset.run({ storeId, network, currency, sessionId: session.id });
    }
    for (const total of changed.values()) {
      remove.run(total);
      insert(total);
    }
  };
}

/** A total of a period, whose amounts are still listed. */
type ListedRow = Readonly<
  Omit<CreditTotal, 'creditedPar' | 'reversedPar'> & { creditedPar: string | null; reversedPar: string | null }
>;

/** Adds up what `group_concat` has listed: SQLite's integers are too small, and a call for each row costs more. */
const sumOfList = (list: string | null): bigint =>
  (list?.split(',') ?? []).reduce((sum, units) => sum + BigInt(units), 0n);

export function creditTotalQueries(db: Db): CreditTotalDatabase {
  const { client, orm } = db;
  return {
    async sumCredits({ storeId, mode }, timesMs) {
      const summed = client.prepare(
        `SELECT network, currency, sum(credits) AS credits, group_concat(credited_par) FILTER (WHERE credits > 0) AS creditedPar,
           sum(reversals) AS reversals, group_concat(reversed_par) FILTER (WHERE reversals > 0) AS reversedPar
         FROM quarter_totals WHERE store_id = :storeId AND mode = :mode AND quarter >= :from AND quarter < :to
         GROUP BY network, currency`,
      );
      return db.read(() =>
        timesMs.slice(1).map((toMs, at) => {
          const period = { from: quarterOf(timesMs[at] ?? toMs), to: quarterOf(toMs) };
          return (summed.all({ storeId, mode, ...period }) as ListedRow[]).map((row) => ({
            ...row,
            creditedPar: sumOfList(row.creditedPar),
            reversedPar: sumOfList(row.reversedPar),
          }));
        }),
      );
    },
    async hasCredits({ storeId, mode }) {
      const first = orm.select({ quarter: quarterTotals.quarter }).from(quarterTotals);
      return db.read(
        () =>
          first
            .where(and(eq(quarterTotals.storeId, storeId), eq(quarterTotals.mode, mode)))
            .limit(1)
            .get() !== undefined,
      );
    },
  };
}

type Fact = Readonly<{
  storeId: string;
  mode: string;
  quarter: number;
  network: string;
  currency: string;
  sessionId: string;
  kind: 'payment' | 'payment_reversed';
  units: string;
  decimals: number;
}>;

const facts = `
  SELECT s.store_id AS storeId, s.mode, e.at_ms / ${QUARTER_MS} AS quarter, p.network, p.asset AS currency, s.id AS sessionId,
    e.kind, p.units, t.decimals
  FROM ledger_entries AS e JOIN ledger_postings AS p ON p.entry_id = e.id AND p.account = 'received'
  JOIN transfers AS t ON t.id = CAST(e.cause AS INTEGER) JOIN sessions AS s ON s.id = p.subject
  WHERE e.kind IN ('payment', 'payment_reversed')`;

/** @returns one line for each total, and each network of a session, that differs from the ledger */
export function auditCreditTotals({ client, orm }: Db): string[] {
  const expected = new Map<string, [number, bigint, number, bigint]>();
  const assets = new Set<string>();
  for (const row of client.prepare(facts).iterate() as IterableIterator<Fact>) {
    const { storeId, mode, quarter, network, currency, sessionId, kind, units, decimals } = row;
    const place = [storeId, mode, quarter, network, currency].join(' ');
    const [credits, credited, reversals, reversed] = expected.get(place) ?? [0, 0n, 0, 0n];
    const signed = toPar(BigInt(units), decimals);
    const isCredit = kind === 'payment';
    // What a session has is below zero in the ledger.
    expected.set(
      place,
      isCredit
        ? [credits + 1, credited - signed, reversals, reversed]
        : [credits, credited, reversals + 1, reversed + signed],
    );
    if (isCredit) assets.add([storeId, network, currency, sessionId].join(' '));
  }
  const text = (sums: readonly (number | bigint)[] = [0, 0, 0, 0]): string =>
    `${sums[0]} credits of ${sums[1]}, ${sums[2]} reversals of ${sums[3]}`;
  const kept = new Map<string, string>();
  for (const total of orm.select().from(quarterTotals).all()) {
    const { storeId, mode, quarter, network, currency } = total;
    const sums = [total.credits, total.creditedPar, total.reversals, total.reversedPar];
    kept.set([storeId, mode, quarter, network, currency].join(' '), text(sums));
  }
  const wrong = [...new Set([...expected.keys(), ...kept.keys()])].flatMap((place) => {
    const [found, real] = [kept.get(place) ?? text(), text(expected.get(place))];
    return found === real ? [] : [`credit total ${place}: kept as ${found}, the ledger says ${real}`];
  });
  const keptAssets = client
    .prepare("SELECT store_id || ' ' || network || ' ' || currency || ' ' || session_id FROM session_assets")
    .pluck();
  for (const place of keptAssets.iterate() as IterableIterator<string>) {
    if (!assets.delete(place)) wrong.push(`session asset ${place}: the ledger has no such credit`);
  }
  return [...wrong, ...[...assets].map((place) => `session asset ${place}: is in the ledger only`)];
}
