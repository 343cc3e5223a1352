/**
 * Which final transfers out of our own wallets are judged next.
 */
import { and, asc, eq, lte, sql } from 'drizzle-orm';
import type { NetworkKey } from '../../../core/transfer.ts';
import type { NetworkRows } from '../networks.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import { outgoingTransfers } from '../tables.ts';

/** Transfers of each kind that one transaction judges. */
const JUDGED_MAX = 100;

type Place = Readonly<{ number: number; id: number }>;
const START: Place = { number: -1, id: 0 };

/**
 * Returns a function that reads final transfers to be judged: those that never were first, then those that nothing has
 * explained. Of each it reads `JUDGED_MAX`, and those that follow the next time, so that none keeps others from being
 * judged.
 */
export function createFinalTransfers({ orm }: Db, networks: Pick<NetworkRows, 'find'>) {
  const { network: of, state: judged, blockNumber, id } = outgoingTransfers;
  const selectOf = (state: 'open' | 'foreign') =>
    atFirstUse(
      orm
        .select()
        .from(outgoingTransfers)
        .where(
          and(
            eq(of, sql.placeholder('network')),
            eq(judged, sql.raw(`'${state}'`)),
            lte(blockNumber, sql.placeholder('floor')),
            sql`(${blockNumber}, ${id}) > (${sql.placeholder('number')}, ${sql.placeholder('id')})`,
          ),
        )
        .orderBy(asc(blockNumber), asc(id))
        .limit(JUDGED_MAX),
    );
  const states = [selectOf('open'), selectOf('foreign')].map((select) => ({
    select,
    reached: new Map<NetworkKey, Place>(),
  }));
  return (network: NetworkKey) => {
    const floor = networks.find(network)?.floor ?? 0;
    const pages = states.map(({ select, reached }) => {
      const after = (place: Place) => select.all({ network, floor, ...place });
      const place = reached.get(network) ?? START;
      const next = after(place);
      return next.length === 0 && place !== START ? after(START) : next;
    });
    return {
      rows: pages.flat(),
      /** Makes the next call return those that follow. */
      goOn(): void {
        for (const [at, { reached }] of states.entries()) {
          const page = pages[at] ?? [];
          const last = page.length === JUDGED_MAX ? page.at(-1) : undefined;
          reached.set(network, last ? { number: last.blockNumber, id: last.id } : START);
        }
      },
    };
  };
}
