/**
 * What `doctor` checks of the machine and its files: version, permissions, disk, and the database as a file.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readRoom } from '../../src/app/disk-room.ts';
import type { Config } from '../../src/config/config.ts';
import { Fault } from '../../src/core/fault.ts';
import { checkIntegrity } from '../../src/database/engine/integrity.ts';
import { isBuildFresh } from '../../src/lib/build-stamp.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { installationFolder, isBuilt, readShipped } from '../../src/lib/installation.ts';
import { databaseFile, secretKeyFile } from '../../src/lib/secret-key.ts';
import { type Finding, failure, ok, warning } from '../nodes/finding.ts';

/** Fewer days until the disk is full are a warning. */
const DISK_DAYS_MIN = 30;
/** Younger databases grow too unevenly to say anything. */
const GROWTH_DAYS_MIN = 1;
const GIB = 1 << 30;
/** Entries of the ledger that are added up without `--full`. */
const LEDGER_ENTRIES = 10_000;
const OTHERS = 0o007;
const NOT_OWNER = 0o077;
/** Who sets everything by variables names it as the settings file. It holds no secrets, and is root's in an image. */
const SHIPPED = join(installationFolder, 'config/default.json');

export function versionFindings(): Finding[] {
  const { version, engines } = readShipped<{ version: string; engines: { node: string } }>('package.json');
  const what = `Quayside ${version} on Node ${process.versions.node}`;
  if (!isBuilt) return [ok('version', `${what}, from the sources`)];
  return isBuildFresh()
    ? [ok('version', `${what} (${engines.node} is supported)`)]
    : [
        failure(
          'version',
          `${what}: dist/ was not built from the sources next to it`,
          'run `npm run build`, then restart',
        ),
      ];
}

/** Checks who can read what holds secrets. */
export function permissionFindings({ dataDir }: Pick<Config, 'dataDir'>, env: NodeJS.ProcessEnv): Finding[] {
  const file = env.QUAYSIDE_CONFIG;
  const checked: readonly (readonly [string, number, 'error' | 'warning', string])[] = [
    [secretKeyFile(dataDir, env), env.QUAYSIDE_SECRET_KEY_FILE ? 0o027 : NOT_OWNER, 'error', 'chmod 600'],
    [databaseFile(dataDir), NOT_OWNER, 'warning', 'chmod 600'],
    [dataDir, OTHERS, 'warning', 'chmod 700'],
    ...(file && resolve(file) !== SHIPPED ? [[file, OTHERS, 'warning', 'chmod o='] as const] : []),
  ];
  const found = checked.flatMap(([path, forbidden, severity, remedy]) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & forbidden) === 0) return [];
    const text = `${path} is open to other users of this machine (mode ${(mode & 0o777).toString(8)})`;
    return [(severity === 'error' ? failure : warning)('permissions', text, `run: ${remedy} ${path}`)];
  });
  return found.length > 0 ? found : [ok('permissions', `${dataDir} and its keys are closed to other users`)];
}

/** Checks the room that the database has left, and for how long it lasts. */
export async function diskFindings({ dataDir, alarms }: Config, nowMs: number): Promise<Finding[]> {
  const { freeBytes, usedBytes } = await readRoom(existsSync(dataDir) ? dataDir : dirname(dataDir));
  const made = statSync(databaseFile(dataDir), { throwIfNoEntry: false });
  const ageDays = made ? (nowMs - made.birthtimeMs) / DAY_MS : 0;
  const perDay = ageDays >= GROWTH_DAYS_MIN ? usedBytes / ageDays : null;
  const growth = perDay === null ? '' : `; it grows by ${size(perDay)} a day`;
  const text = `${size(freeBytes)} free at ${dataDir}, the database has ${size(usedBytes)}${growth}`;
  const move = 'free some, or move the data folder to a larger disk (data_dir)';
  if (freeBytes < alarms.diskFreeBytesMin) return [failure('disk', text, move)];
  const daysLeft = perDay === null || perDay === 0 ? Number.POSITIVE_INFINITY : freeBytes / perDay;
  return daysLeft < DISK_DAYS_MIN
    ? [warning('disk', `${text}: full in ${Math.floor(daysLeft)} days`, move)]
    : [ok('disk', text)];
}

const size = (bytes: number): string =>
  bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;

/** Checks the database as a file. */
export function databaseFindings({ dataDir }: Pick<Config, 'dataDir'>): Finding[] {
  const file = databaseFile(dataDir);
  if (!existsSync(file)) return [failure('database', `${file} does not exist yet`, 'start Quayside: `npm start`')];
  const restore =
    'stop Quayside, keep a copy of the file, and restore a backup (docs/operate.md#backups); until then nothing in it can be trusted';
  try {
    const { pages, foreignKeys, unbalanced, entriesChecked, version } = checkIntegrity(file, LEDGER_ENTRIES);
    const damage = [...pages, ...foreignKeys].map((text) => failure('database', text, restore));
    const books = unbalanced.map((text) =>
      failure('ledger', `does not add up: ${text}`, '`quayside ledger verify` lists everything'),
    );
    return [
      ...(damage.length > 0 ? damage : [ok('database', `whole, at version ${version} of the schema`)]),
      ...(books.length > 0 ? books : [ok('ledger', `the newest ${entriesChecked} entries add up`)]),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const retry = 'nothing in it is lost: make room if the disk is full, then run `quayside doctor` again';
    return [failure('database', error.message, error.kind === 'transient' ? retry : restore)];
  }
}
