/**
 * Compares the running sums of sessions with the transfers themselves, without the code that keeps the sums; and the
 * records of held money with those sums.
 */
import { and, asc, gt } from 'drizzle-orm';
import { heldMoney, withoutReturned } from '../core/held-money.ts';
import { readReceiptSums } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';
import type { ReturnedOf } from './refunds/returned.ts';
import { lifeOf, termsOf } from './session.ts';
import { heldMoney as records, sessions } from './tables.ts';

type TransferLine = Readonly<{
  place: string;
  state: 'seen' | 'confirmed' | 'final';
  units: string;
  sessionId: string;
}>;

/** Transfers that count somewhere, session by session. */
const facts = `
  SELECT a.session_id AS "sessionId", t.network || ' ' || t.currency || ' ' || t.decimals || ' ' || t.phase AS place,
    CASE WHEN t.confirmed = 0 THEN 'seen' WHEN b.number <= n.floor THEN 'final' ELSE 'confirmed' END AS state, t.units
  FROM sessions AS s JOIN addresses AS a ON a.session_id = s.id JOIN transfers AS t ON t.address_id = a.id AND t.dust = 0
  JOIN blocks AS b ON b.id = t.block_id AND b.canonical = 1 JOIN networks AS n ON n.key = t.network
  WHERE s.payment_count > 0 AND t.phase IS NOT NULL
  ORDER BY s.id`;

/** @returns one line for each session whose sums are wrong */
export async function auditSums({ client }: Db): Promise<string[]> {
  const expected = new Map<string, Map<string, bigint>>();
  for await (const line of client.prepare(facts).iterate() as AsyncIterable<TransferLine>) {
    const { sessionId, place, state, units } = line;
    const sums = expected.get(sessionId) ?? new Map<string, bigint>();
    expected.set(sessionId, sums);
    const key = `${place} ${state}`;
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(units));
  }
  const wrong: string[] = [];
  const kept = client.prepare('SELECT id, sums FROM sessions WHERE payment_count > 0 AND sums IS NOT NULL');
  for await (const { id, sums } of kept.iterate() as AsyncIterable<{ id: string; sums: string }>) {
    const shown = readReceiptSums(sums).flatMap(({ network, currency, decimals, phase, ...amounts }) =>
      (['seen', 'confirmed', 'final'] as const)
        .filter((state) => amounts[state] > 0n)
        .map((state) => `${network} ${currency} ${decimals} ${phase} ${state} ${amounts[state]}`),
    );
    const real = [...(expected.get(id) ?? [])].map(([key, units]) => `${key} ${units}`);
    const text = (lines: string[]) => lines.sort().join(', ') || 'nothing';
    if (text(shown) !== text(real))
      wrong.push(`session ${id}: the sums say ${text(shown)}, the transfers ${text(real)}`);
  }
  return wrong;
}

const SESSIONS_AT_ONCE = 1_000;

/** @returns one line for each session whose held money is not what its sums say */
export async function auditHeldMoney({ orm }: Db, returnedOf: ReturnedOf): Promise<string[]> {
  const kept = new Map<string, string[]>();
  for (const { sessionId, kind, valuePar } of await orm.select().from(records).all()) {
    if (valuePar > 0n) kept.set(sessionId, [...(kept.get(sessionId) ?? []), `${kind} ${valuePar}`]);
  }
  const wrong: string[] = [];
  const text = (lines: readonly string[]) => [...lines].sort().join(', ') || 'nothing';
  let after = '';
  for (;;) {
    const rows = await orm
      .select()
      .from(sessions)
      .where(and(gt(sessions.id, after), gt(sessions.paymentCount, 0)))
      .orderBy(asc(sessions.id))
      .limit(SESSIONS_AT_ONCE)
      .all();
    for (const row of rows) {
      const real = heldMoney(termsOf(row), lifeOf(row), withoutReturned(row.sums, await returnedOf(row.id)));
      const [found, expected] = [kept.get(row.id) ?? [], real.map(({ kind, valuePar }) => `${kind} ${valuePar}`)].map(
        text,
      );
      if (found !== expected) wrong.push(`session ${row.id}: held money is kept as ${found}, the sums say ${expected}`);
    }
    const last = rows.at(-1);
    if (!last) return wrong;
    after = last.id;
  }
}
