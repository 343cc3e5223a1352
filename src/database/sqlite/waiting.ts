/**
 * Transfers that are not credited yet, with what decides on their credit.
 * @module
 */
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Received } from '../../core/credit-policy.ts';
import { toPar } from '../../core/money.ts';
import { receivedOn } from '../../core/session.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { Database } from '../database.ts';
import type { Db } from './open.ts';
import { addresses, blocks, transfers } from './schema.ts';
import type { SessionSums } from './session-sums.ts';
import type { FindSessionRow } from './sessions.ts';

type WaitingCommands = Pick<Database, 'waiting'>;

export function waitingCommands(
  db: Db,
  { sums, findSession }: Readonly<{ sums: SessionSums; findSession: FindSessionRow }>,
): WaitingCommands {
  const select = db.orm
    .select({ transfer: transfers, to: addresses.key, sessionId: addresses.sessionId })
    .from(blocks)
    .innerJoin(
      transfers,
      and(eq(transfers.blockId, blocks.id), eq(transfers.confirmed, sql`0`), eq(transfers.dust, sql`0`)),
    )
    .innerJoin(addresses, eq(addresses.id, transfers.addressId))
    .where(
      and(
        eq(blocks.network, sql.placeholder('network')),
        eq(blocks.hash, sql.placeholder('hash')),
        eq(blocks.canonical, sql`1`),
      ),
    )
    .orderBy(asc(transfers.id))
    .prepare();

  function receivedBy(sessionId: string, network: NetworkKey): Received | null {
    const session = findSession(sessionId);
    return session ? receivedOn(network, sums.of(session)) : null;
  }

  return {
    async waiting(network, hash) {
      return db.read(() => {
        const known = new Map<string, Received | null>();
        return select.all({ network, hash }).map(({ transfer, to, sessionId }) => {
          const { tx, position, currency, fromKey, units, decimals } = transfer;
          if (sessionId !== null && !known.has(sessionId)) known.set(sessionId, receivedBy(sessionId, network));
          const own = toPar(units, decimals);
          const { openPar, allPar } = known.get(sessionId ?? '') ?? { openPar: own, allPar: own };
          // Money that is older than its session is in none of the session's sums.
          const received = openPar < own ? { openPar: own, allPar: allPar + own } : { openPar, allPar };
          return { tx, index: position, currency, from: fromKey, to, units, received, stricter: [] };
        });
      });
    },
  };
}
