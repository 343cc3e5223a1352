/**
 * Restores a backup as the data folder of a new installation.
 *
 * The backup does not know which addresses were given out since. So further ones of each pool are retired: they stay
 * watched, and nobody gets them again. And money out is frozen until a person has compared it with the chain.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../../core/fault.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { OperatorAct } from '../../database/audit-log.ts';
import { RESTORED } from '../../database/payouts/holds.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { syncFolder } from '../../lib/secret-file.ts';
import { addressMarksFile, openAddressMarks, retireGivenAddresses } from '../address-marks.ts';
import type { Manifest } from './archive.ts';
import { removeAbandoned } from './scratch.ts';
import { type Unpacked, withUnpacked } from './unpacked.ts';

/** How many times the busiest day before the backup each day since may have been. */
const USE_FACTOR = 3;
/** The key last: a database without its key does not start, so a restore that was interrupted does not either. */
const restoredNames = ['signer.backup', 'settings.json', 'address-marks', 'quayside.db', 'secret.key'];

type RestoreParts = Readonly<{
  file: string;
  folder: string;
  passphrase: Uint8Array;
  /** Retire through this index instead; null: as many as may have been given out. */
  throughIndex: number | null;
  act: OperatorAct;
  clock: Clock;
  log: Log;
}>;

/** Addresses that a restore has retired in a pool: those with an index from `from` to below `through`. */
export type RetiredPool = Readonly<{ family: string; mode: string; source: string; from: number; through: number }>;

export type Restored = Readonly<{
  manifest: Manifest;
  retired: readonly RetiredPool[];
  files: readonly string[];
  /** The networks that the installation followed. */
  networks: readonly NetworkKey[];
}>;

/**
 * Returns the index below which a pool's addresses are not given out after a restore: beyond those of the backup, what
 * the pool had ready or three times its busiest day for each day since, whichever is more.
 */
export function throughAfter(
  { through, daily_max }: Pick<Manifest['pools'][number], 'through' | 'daily_max'>,
  { poolTarget, ageMs }: Readonly<{ poolTarget: number; ageMs: number }>,
): number {
  return through + Math.max(poolTarget, Math.ceil((USE_FACTOR * daily_max * ageMs) / DAY_MS));
}

/**
 * Restores into a folder, which must be empty or missing. Nothing is there before the whole backup was read and found
 * sound.
 * @throws Fault permanent `folder_not_empty`, `backup_unsound`, `backup_from_future`; see `withUnpacked`
 */
export async function restoreBackup(parts: RestoreParts): Promise<Restored> {
  const { file, folder, passphrase } = parts;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A restore that was killed leaves its scratch folder.
  removeAbandoned(folder);
  // The data folder of a fresh installation has this file.
  const [occupant] = readdirSync(folder).filter((name) => name !== 'README.md');
  if (occupant !== undefined) {
    throw permanent(
      'folder_not_empty',
      `${folder} has something in it (${occupant}): name a new folder in \`quayside restore <file> <folder>\``,
    );
  }
  return withUnpacked(file, { parent: folder, passphrase }, async (unpacked) => {
    const { problems, database, manifest } = unpacked;
    if (problems.length > 0) {
      throw permanent('backup_unsound', `${file} is not sound: ${problems.join('; ')}. Restore an older backup`);
    }
    const retired = await retire(parts, unpacked);
    await freeze(parts, unpacked);
    const networks = (await database.networks.list()).map(({ network }) => network);
    database.close();
    const files = restoredNames.filter((name) => existsSync(join(unpacked.folder, name)));
    for (const name of files) {
      renameSync(join(unpacked.folder, name), join(folder, name));
      syncFolder(folder);
    }
    return { manifest, retired, files, networks };
  });
}

/** @throws Fault permanent `backup_from_future` */
async function retire(
  { folder: target, throughIndex, clock, log }: RestoreParts,
  { folder, manifest, database }: Unpacked,
): Promise<RetiredPool[]> {
  const ageMs = clock.nowMs() - manifest.made_at_ms;
  if (ageMs < 0) {
    throw permanent(
      'backup_from_future',
      'the backup was made after the time of this machine’s clock: set the clock, then run `quayside restore` again',
    );
  }
  const marks = openAddressMarks(addressMarksFile(folder));
  try {
    const retired = manifest.pools.map(({ daily_max, through: from, ...pool }) => {
      const guessed = throughAfter({ through: from, daily_max }, { poolTarget: manifest.pool_target, ageMs });
      return { ...pool, from, through: throughIndex === null ? guessed : Math.max(from, throughIndex + 1) };
    });
    await marks.cover(
      retired.flatMap(({ from: _from, through, ...pool }) => (through === 0 ? [] : [{ ...pool, index: through - 1 }])),
    );
    // Its alarms name the file where it will be.
    await retireGivenAddresses({ database, marks: { ...marks, file: addressMarksFile(target) }, clock, log });
    return retired;
  } finally {
    marks.close();
  }
}

/** Later refunds are on the chain and, if it survived, in the signer's journal; the database has neither. */
async function freeze({ act }: RestoreParts, { database, manifest }: Unpacked): Promise<void> {
  const made = new Date(manifest.made_at_ms).toISOString();
  await database.holds.freeze(
    {
      network: null,
      code: RESTORED,
      reason: `restored from the backup of ${made}: compare refunds and sweeps since then with the chain first`,
      frozenBy: act.operator,
      sinceMs: act.atMs,
    },
    act,
  );
}
