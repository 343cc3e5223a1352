/** Ends freezes as an operator who has looked at all of them. */
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { Freeze } from '../../src/database/freezes.ts';

/** Ends all freezes of a network, or those of every network (null). @returns those that were ended */
export async function thawAll(
  database: Pick<Database, 'listFreezes' | 'listForeign' | 'thawPayouts'>,
  network: NetworkKey | null,
  act: OperatorAct,
): Promise<readonly Freeze[]> {
  const freezes = (await database.listFreezes()).filter((one) => one.network === network);
  const foreign = network ? await database.listForeign(network, 1_000) : [];
  return database.thawPayouts({ freezes, transfers: foreign.map(({ id }) => id) }, act);
}
