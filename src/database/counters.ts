/**
 * Numbers that give an order: ids give none. A transaction that takes one holds the counter until its commit, so that a
 * reader who has seen a number has seen every lower one.
 */
import type { Db } from './engine/open.ts';

/**
 * Takes the owner's next number, within a transaction and as late in it as possible.
 * @param owner a kind and the owner's id, such as `events:sto_1`
 * @param least the number is not below it
 */
export type NextNumber = (owner: string, least?: number) => Promise<number>;

export function createCounters({ client }: Db): NextNumber {
  const next = client
    .prepare(
      `INSERT INTO counters (owner, last) VALUES (:owner, :least) ON CONFLICT (owner) DO UPDATE
       SET last = CASE WHEN excluded.last > counters.last THEN excluded.last ELSE counters.last + 1 END
       RETURNING last`,
    )
    .pluck();
  return async (owner, least = 1) => (await next.get({ owner, least })) as number;
}
