/**
 * Restores a backup as the data folder of a new installation.
 *
 * Money out is frozen until a person has compared it with the chain. The first start retires addresses that may have
 * been given out since the backup, as after every gap.
 */
import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../../core/fault.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { OperatorAct } from '../../database/audit-log.ts';
import { RESTORED } from '../../database/payouts/holds.ts';
import type { Clock } from '../../lib/clock.ts';
import { syncFolder } from '../../lib/secret-file.ts';
import { filesIn, type Manifest } from './archive.ts';
import { removeAbandoned } from './scratch.ts';
import { type Unpacked, withUnpacked } from './unpacked.ts';

type RestoreParts = Readonly<{
  file: string;
  folder: string;
  passphrase: Uint8Array;
  act: OperatorAct;
  clock: Clock;
}>;

export type Restored = Readonly<{
  manifest: Manifest;
  files: readonly string[];
  /** The networks that the installation followed. */
  networks: readonly NetworkKey[];
}>;

/**
 * Restores into a folder, which must be empty or missing. It stays empty until the whole backup was read and found
 * sound.
 * @throws Fault permanent `folder_not_empty`, `backup_unsound`, `backup_from_future`; see `withUnpacked`
 */
export async function restoreBackup(parts: RestoreParts): Promise<Restored> {
  const { file, folder, passphrase } = parts;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A killed restore leaves its scratch folder behind.
  removeAbandoned(folder);
  // The data folder of a new installation has this file.
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
    if (parts.clock.nowMs() < manifest.made_at_ms) {
      throw permanent(
        'backup_from_future',
        'the backup was made after the time of this machine’s clock: set the clock, then run `quayside restore` again',
      );
    }
    await freeze(parts, unpacked);
    const networks = (await database.networks.list()).map(({ key }) => key);
    database.close();
    const files = filesIn(unpacked.folder);
    for (const name of files) {
      renameSync(join(unpacked.folder, name), join(folder, name));
      syncFolder(folder);
    }
    return { manifest, files, networks };
  });
}

/**
 * Freezes money out. Later refunds are on the chain, and in the signer's journal if it survived, but not in this
 * database.
 */
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
