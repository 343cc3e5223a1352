/**
 * Reads a database file from outside, with plain SQL, and returns contradictions in it. An empty answer means that it
 * holds whole commands only.
 */
import type Sqlite from 'better-sqlite3';
import { raw } from '../../support/raw.ts';

type Row = Record<string, string | number | null>;

/** Queries that must find no row, by name. */
const contradictions: Readonly<Record<string, string>> = {
  'two canonical blocks that do not follow one another': `
    SELECT upper.hash FROM blocks AS upper JOIN blocks AS lower
      ON lower.network = upper.network AND lower.number = upper.number - 1 AND lower.canonical = 1
    WHERE upper.canonical = 1 AND upper.parent <> lower.hash`,
  'a cursor that is not the newest canonical block': `
    SELECT key FROM networks WHERE tip_hash IS NOT
      (SELECT hash FROM blocks WHERE network = key AND canonical = 1 ORDER BY number DESC LIMIT 1)`,
  'a confirmed transfer of an orphaned block': `
    SELECT t.id FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id WHERE t.confirmed = 1 AND b.canonical = 0`,
  'a session without one address for each family that it offers': `
    SELECT id FROM sessions WHERE
      (SELECT group_concat(family) FROM (SELECT family FROM addresses WHERE session_id = sessions.id ORDER BY family)) IS NOT
      (SELECT group_concat(family) FROM
        (SELECT DISTINCT json_extract(value, '$[1]') AS family FROM json_each(terms, '$[7]') ORDER BY family))`,
  'a paid session without its one event': `
    SELECT id FROM sessions WHERE (status = 'paid') <>
      (SELECT count(*) FROM events WHERE session_id = sessions.id AND type = 'payment.completed')`,
  'an ended session without an event': `
    SELECT id FROM sessions WHERE status <> 'pending' AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = sessions.id)`,
  'an event whose body names another order': `
    SELECT e.id FROM events AS e JOIN sessions AS s ON s.id = e.session_id
    WHERE json_extract(e.facts, '$.order_id') <> s.order_id`,
  'an endpoint whose due time is not that of its deliveries': `
    SELECT e.id, e.due_at_ms FROM endpoints AS e WHERE e.due_at_ms IS DISTINCT FROM (
      SELECT max(min(due_at_ms), e.paused_until_ms) FROM deliveries
      WHERE endpoint_id = e.id AND lease_until_ms IS NULL AND e.disabled_at_ms IS NULL AND e.removed = 0)`,
};

/** Documented events without a delivery to an endpoint; no endpoint may have been disabled or removed. */
export function undelivered(file: string): string[] {
  const missing = `
    SELECT e.id || ' for ' || p.id FROM events AS e JOIN endpoints AS p ON p.store_id = e.store_id AND p.per_session = 0
    WHERE e.type IN ('payment.completed', 'payment.failed', 'payment.expired', 'payment.cancelled')
      AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = e.id AND endpoint_id = p.id)`;
  return raw(file, (client) => client.prepare(missing).pluck().all() as string[]);
}

/** @returns one sentence for each contradiction */
export const audit = (file: string): string[] =>
  raw(file, (client) => {
    const found = Object.entries(contradictions).flatMap(([name, query]) =>
      client
        .prepare(query)
        .all()
        .map((row) => `${name}: ${JSON.stringify(row)}`),
    );
    const broken = client.pragma('integrity_check') as Row[];
    if (JSON.stringify(broken) !== '[{"integrity_check":"ok"}]') found.push(`damaged: ${JSON.stringify(broken)}`);
    const orphans = client.pragma('foreign_key_check') as Row[];
    for (const orphan of orphans) found.push(`a row that refers to nothing: ${JSON.stringify(orphan)}`);
    return [...found, ...wrongSums(client)];
  });

/** Sessions whose saved sums differ from the canonical transfers to their address since their creation. */
function wrongSums(client: Sqlite.Database): string[] {
  const transfers = client.prepare(
    `SELECT t.units, t.decimals, t.confirmed, t.currency FROM addresses AS a JOIN transfers AS t ON t.address_id = a.id
     JOIN blocks AS b ON b.id = t.block_id JOIN sessions AS s ON s.id = a.session_id
     WHERE b.canonical = 1 AND t.dust = 0 AND s.id = ? AND t.phase IS NOT NULL`,
  );
  const sessions = client
    .prepare(
      "SELECT id, json_extract(terms, '$[2]') AS accepts, takes_any_token, seen_par, confirmed_par, late_par FROM sessions",
    )
    .all() as {
    id: string;
    accepts: string;
    takes_any_token: number;
    seen_par: string;
    confirmed_par: string;
    late_par: string;
  }[];
  const returns = client.prepare(
    `SELECT amount_minor AS minor, currency FROM refunds
     WHERE session_id = :id AND held_kind IS NOT NULL AND status NOT IN ('failed', 'canceled')
     UNION ALL SELECT replace(p.intent ->> '$.session.amount', '.', ''), p.intent ->> '$.currency' FROM payouts AS p
     WHERE p.kind = 'return' AND p.session_id IS NULL AND p.state NOT IN ('failed', 'canceled')
       AND p.intent ->> '$.session.id' = :id`,
  );
  return sessions.flatMap(({ id, accepts, takes_any_token, seen_par, confirmed_par, late_par }) => {
    const paid = transfers.all(id) as { units: string; decimals: number; confirmed: number; currency: string }[];
    const isAccepted = ({ currency }: { currency: string }) =>
      takes_any_token === 1 || (JSON.parse(accepts) as string[]).includes(currency);
    const accepted = paid.filter(isAccepted);
    const returned = (returns.all({ id }) as { minor: string; currency: string }[])
      .filter(isAccepted)
      .reduce((sum, { minor }) => sum + BigInt(minor) * 10n ** 16n, 0n);
    const sumOf = (rows: typeof paid): bigint =>
      rows.reduce((sum, { units, decimals }) => sum + BigInt(units) * 10n ** BigInt(18 - decimals), 0n);
    const confirmed = sumOf(accepted.filter((row) => row.confirmed === 1)) - returned;
    const all = sumOf(accepted) - returned;
    const kept = BigInt(seen_par) + BigInt(confirmed_par);
    const isRight =
      late_par === '0'
        ? kept === all && BigInt(confirmed_par) === confirmed
        : kept <= all && kept + BigInt(late_par) <= sumOf(paid);
    return isRight ? [] : [`a wrong sum on ${id}: seen ${seen_par}, confirmed ${confirmed_par}, late ${late_par}`];
  });
}
