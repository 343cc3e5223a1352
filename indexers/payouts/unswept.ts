/**
 * The unswept money on a network's deposit addresses, read from the database page by page.
 */

import type { NetworkConfig } from '../../src/config/network.ts';
import type { SweepOwner } from '../../src/core/sweep.ts';
import type { Currency, NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { UnsweptLevel } from '../../src/database/sweeps.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** Addresses in one read, after which other work gets its turn. */
const PAGE = 200;
const PAUSE_MS = 1;

/**
 * Returns everything that is on a network's deposit addresses, and what open sweeps will take, in currencies that the
 * network has now.
 */
export async function readOwners(
  { key, family, mode, tokens }: Pick<NetworkConfig, 'key' | 'family' | 'mode' | 'tokens'>,
  database: Pick<Database, 'unswept'>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<SweepOwner[]> {
  const all: SweepOwner[] = [];
  for (let after: number | null = 0; after !== null && !signal?.aborted; ) {
    const page = await database.unswept({ network: key, pool: { family, mode } }, after, PAGE);
    for (const owner of page.owners) if (tokens.some(({ symbol }) => symbol === owner.currency)) all.push(owner);
    after = page.next;
    if (after !== null) await clock.sleep(PAUSE_MS, signal);
  }
  return all;
}

/** Returns the unswept money added up by currency. */
export function levelsOf(network: NetworkKey, owners: readonly SweepOwner[], readAtMs: number): UnsweptLevel[] {
  const levels = new Map<Currency, UnsweptLevel>();
  for (const { currency, units, openUnits } of owners) {
    const level = levels.get(currency) ?? { network, currency, owners: 0, units: 0n, openUnits: 0n, readAtMs };
    levels.set(currency, {
      ...level,
      owners: level.owners + 1,
      units: level.units + units,
      openUnits: level.openUnits + openUnits,
    });
  }
  return [...levels.values()];
}
