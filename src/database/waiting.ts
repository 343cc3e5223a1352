/**
 * Transfers that are not credited yet, with what decides on their credit.
 */

import { and, asc, eq, sql } from 'drizzle-orm';
import { invariant } from '../core/fault.ts';
import { toPar } from '../core/money.ts';
import { receivedOn } from '../core/session.ts';
import { storeTiers } from '../core/store-credit.ts';
import { type NetworkKey, nameOf } from '../core/transfer.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse, given } from './engine/prepared.ts';
import type { WaitingTransfer } from './ingest.ts';
import type { FindSessionRow } from './sessions.ts';
import type { StoreRows } from './stores.ts';
import { addresses, blocks, transfers } from './tables.ts';

type Parts = Readonly<{
  findSession: FindSessionRow;
  stores: StoreRows;
}>;
/** The money that a session received, and the policy of its store. */
type Judged = Pick<WaitingTransfer, 'received' | 'stricter'>;

export function waitingCommands(db: Db, { findSession, stores }: Parts) {
  const select = atFirstUse(
    db.orm
      .select({ transfer: transfers, to: addresses.key, sessionId: addresses.sessionId })
      .from(blocks)
      .innerJoin(
        transfers,
        and(eq(transfers.blockId, blocks.id), eq(transfers.confirmed, sql`0`), eq(transfers.dust, sql`0`)),
      )
      .innerJoin(addresses, eq(addresses.id, transfers.addressId))
      .where(and(given(blocks, 'network', 'hash'), eq(blocks.canonical, sql`1`)))
      .orderBy(asc(transfers.id)),
  );

  async function judged(sessionId: string, network: NetworkKey): Promise<Judged> {
    const session = await findSession(sessionId);
    invariant(session, `session ${sessionId} of a taken address exists`);
    const stricter = storeTiers((await stores.of(session.storeId)).settings.credit, nameOf(network));
    return { received: receivedOn(network, session.sums), stricter };
  }

  return {
    /** Returns the unconfirmed transfers of a canonical block that are not dust; none if it left the chain. */
    async waiting(network: NetworkKey, hash: string): Promise<readonly WaitingTransfer[]> {
      return db.read(async () => {
        const known = new Map<string, Judged>();
        return mapInOrder(await select.all({ network, hash }), async ({ transfer, to, sessionId }) => {
          const { tx, position, currency, fromKey, units, decimals } = transfer;
          const own = toPar(units, decimals);
          const session = sessionId === null ? null : (known.get(sessionId) ?? (await judged(sessionId, network)));
          if (sessionId !== null && session) known.set(sessionId, session);
          const { openPar, allPar } = session?.received ?? { openPar: own, allPar: own };
          // Money that is older than its session is in none of the session's sums.
          const received = openPar < own ? { openPar: own, allPar: allPar + own } : { openPar, allPar };
          const stricter = session?.stricter ?? [];
          return { tx, index: position, currency, from: fromKey, to, units, received, stricter };
        });
      });
    },
  };
}
