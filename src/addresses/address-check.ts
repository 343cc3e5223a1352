/**
 * Derives the addresses of open sessions again, and compares them with what the database has: whoever can write to it
 * and has the secret key too could put their own address there, with a valid MAC. They do not have the xpub's wallet.
 */
import type { Family } from '../chains/chain.ts';
import type { Mode } from '../core/transfer.ts';
import type { OpenAddress } from '../database/addresses.ts';
import type { Addresses } from '../database/database.ts';
import type { Clock } from '../lib/clock.ts';
import { every, type Round } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import type { DeriveTask } from './derive-worker.ts';

/** How soon the address of a new session is checked, at most. */
const NEW_MS = 60_000;
/** How often those of all open sessions are checked again, in rounds. */
const WHOLE_ROUNDS = 10;
/** Addresses that are derived at a time, a fraction of a second of work for the pool's thread. */
const SLICE = 250;

/** The source of a pool: all networks of its family and mode have this xpub. */
export type Xpub = Readonly<{ family: Family; mode: Mode; xpub: string; fingerprint: string }>;

type AddressCheckOptions = Readonly<{
  addresses: Addresses;
  source: Xpub;
  derive: (task: DeriveTask) => Promise<string[]>;
  clock: Pick<Clock, 'nowMs'>;
}>;

/**
 * Checks the addresses with an id above `afterId` that open sessions have, from the oldest open session on if it is
 * null. One that the xpub does not derive is refused.
 * @returns the last id that was looked at
 * @throws Fault transient `storage_unavailable`
 */
export async function checkOpenAddresses(
  { addresses, source, derive, clock }: AddressCheckOptions,
  afterId: number | null,
): Promise<number | null> {
  const { family, mode, xpub, fingerprint } = source;
  for (let after = afterId; ; ) {
    const { found, throughId } = await addresses.open({ family, mode }, fingerprint, after, SLICE);
    if (found.length > 0) {
      const keys = await derive({ family, xpub, indexes: found.map(({ index }) => index) });
      const isWrong = ({ key }: OpenAddress, at: number) => key !== keys[at];
      for (const wrong of found.filter(isWrong)) await addresses.refuse(wrong.id, clock.nowMs());
    }
    if (throughId === null) return after;
    after = throughId;
  }
}

/** Checks new ones each minute, and all every ten minutes. */
export function keepChecking(
  options: AddressCheckOptions & Readonly<{ clock: Clock; log: Log; signal: AbortSignal }>,
): Promise<void> {
  const { clock, log, signal, source } = options;
  let throughId: number | null = null;
  let rounds = 0;
  const check = async (): Promise<Round> => {
    throughId = await checkOpenAddresses(options, rounds++ % WHOLE_ROUNDS === 0 ? null : throughId);
    return undefined;
  };
  return every(NEW_MS, check, { clock, log, signal, what: `checking ${source.mode} ${source.family} addresses` });
}
