/**
 * Which program last ran on an installation's data, and its last upgrade: a file beside the database.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readBuild } from '../../lib/build-stamp.ts';
import { systemClock } from '../../lib/clock.ts';
import { installationFolder, readShipped } from '../../lib/installation.ts';
import { writeSecretFile } from '../../lib/secret-file.ts';

const program = z.strictObject({
  version: z.string(),
  /** The digest of its sources; null in development. */
  build: z.string().nullable(),
  /** Where it was installed. */
  folder: z.string(),
});
export type Program = z.infer<typeof program>;

const upgrade = z.strictObject({
  at_ms: z.int(),
  /** Null if it ran before programs were remembered. */
  from: program.nullable(),
  to: program,
  /** The database as the earlier program left it, and its schema. */
  copy: z.string(),
  schema: z.int(),
});
export type Upgrade = z.infer<typeof upgrade>;

const schema = z.strictObject({
  /** The last program that started. */
  program: program.nullable(),
  upgrade: upgrade.nullable(),
  /** The last build whose test payment came through, or whose database was put back. */
  proved_build: z.string().nullable(),
  rolled_back: z.strictObject({ build: z.string().nullable(), at_ms: z.int() }).nullable(),
});
export type UpgradeRecord = z.infer<typeof schema>;

const none: UpgradeRecord = { program: null, upgrade: null, proved_build: null, rolled_back: null };

const recordFile = (dataDir: string): string => join(dataDir, 'upgrade.json');

/** Returns an empty record if there is none, or it is not readable. */
export function readUpgradeRecord(dataDir: string): UpgradeRecord {
  try {
    return schema.parse(JSON.parse(readFileSync(recordFile(dataDir), 'utf8')));
  } catch {
    return none;
  }
}

export const updateUpgradeRecord = (dataDir: string, change: Partial<UpgradeRecord>): void =>
  writeSecretFile(recordFile(dataDir), `${JSON.stringify({ ...readUpgradeRecord(dataDir), ...change }, null, 2)}\n`);

/**
 * Remembers a copy that was made before a migration. Of an upgrade that was interrupted between two migrations, the
 * first copy counts: it is what the earlier program left. Before the first migration, that program may have run again.
 */
export function rememberCopy(dataDir: string, { copy, schema }: Pick<Upgrade, 'copy' | 'schema'>): void {
  const { program: from, upgrade: known } = readUpgradeRecord(dataDir);
  const to = thisProgram();
  const isSame = known?.to.build === to.build && from?.build !== to.build;
  if (isSame && schema > known.schema && existsSync(known.copy)) return;
  updateUpgradeRecord(dataDir, { upgrade: { at_ms: systemClock.nowMs(), from, to, copy, schema } });
}

/** Remembers that this program runs here now. Where it needed no migration, there is nothing to take back. */
export function rememberProgram(dataDir: string): void {
  const { program: before, upgrade: known } = readUpgradeRecord(dataDir);
  const now = thisProgram();
  if (before?.build === now.build && before.version === now.version && before.folder === now.folder) return;
  updateUpgradeRecord(dataDir, { program: now, upgrade: known?.to.build === now.build ? known : null });
}

/** Returns this program. */
export const thisProgram = (): Program => ({
  version: readShipped<{ version: string }>('package.json').version,
  build: readBuild(),
  folder: installationFolder,
});

/** Returns a program as people read it. */
export function programText({ version, build, folder }: Program): string {
  const of = build === null ? '' : `, build ${build.slice(0, 12)}`;
  return `${version}${of}, in ${folder}`;
}
