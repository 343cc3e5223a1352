/** Ends freezes as an operator who has looked at all of them. */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { Freeze } from '../../src/database/payouts/holds.ts';

/** Ends all freezes of a network, or those of every network (null). @returns those that were ended */
export async function thawAll(
  database: Database,
  network: NetworkKey | null,
  act: OperatorAct,
): Promise<readonly Freeze[]> {
  const freezes = (await database.holds.list()).filter((one) => one.network === network);
  const foreign = network ? await database.wallets.listForeign(network, 1_000) : [];
  return database.holds.thaw({ freezes, transfers: foreign.map(({ id }) => id) }, act);
}
