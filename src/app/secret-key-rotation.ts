/**
 * Rotates the secret key: a new version in the key's file, then known to the signer, then current in the database, then
 * every row sealed with it. Each step can be repeated, so a rotation that was interrupted is continued by beginning
 * again. Payments, webhooks and refunds go on meanwhile: versions are taken out of the file only by `retireSecretKey`.
 * @module
 */
import { join } from 'node:path';
import { Fault, permanent, transient } from '../core/fault.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { Database } from '../database/database.ts';
import type { ResealPlace, SecretKeyDatabase } from '../database/secret-keys.ts';
import { isSupervised, lockFile } from '../database/sqlite/instance-lock.ts';
import { createSecretFile, writeSecretFile } from '../lib/secret-file.ts';
import {
  type KeyName,
  type KeyTable,
  keyTableText,
  readKeyTable,
  secretKeyFile,
  secretKeyId,
  withNewKey,
} from '../lib/secret-key.ts';
import { readServerFile } from './server-file.ts';

export type RotationParts = Readonly<{
  dataDir: string;
  env: NodeJS.ProcessEnv;
  database: SecretKeyDatabase & Pick<Database, 'recordAct'>;
  /** Asks the signer which versions it has; null without a signer. */
  askSigner: (() => Promise<readonly KeyName[]>) | null;
  /** The signer reads the same file as the rest when it starts, so it may be stopped. */
  isSignerOwn: boolean;
  /** Where the file for the next step is written, if Quayside does not own the key's file. */
  to: string | null;
  act: OperatorAct;
  /** Called after each transaction, with rows looked at and sealed so far. */
  onProgress: (what: string, looked: number, resealed: number) => void;
}>;

/** Rows of a pass: sealed again, kept with older versions, and those that nobody can use. */
export type Pass = Readonly<{ looked: number; resealed: number; kept: readonly number[]; refused: number }>;

/** `isContinued`: an earlier command had begun. `written`: the file that a person must put in place first. */
type Rotation =
  | Readonly<{ kind: 'written'; version: number; written: string; file: string }>
  | Readonly<{ kind: 'done'; version: number; before: number; isContinued: boolean; pass: Pass }>;

/** Rows seen by `secret-key retire`. `written` as for a rotation. */
type Retirement = Readonly<{ version: number; pass: Pass; replacedLinks: number; written: string | null }>;

const lockName = 'secret-key.lock';

/** Runs `work` while no other command changes the key. @throws Fault transient `secret_key_busy` */
async function withKeyLock<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const release = lockFile(join(dataDir, lockName));
  if (!release) {
    throw transient(
      'secret_key_busy',
      'another `quayside secret-key` command is at work; wait until it has ended, then run this one again',
    );
  }
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Begins a rotation, or continues one.
 * @throws Fault permanent `secret_key_given`, `server_lacks_key`, `signer_lacks_key`,
 * `secret_key_invalid`; transient `server_starting`, `secret_key_busy`, `storage_unavailable` and those of the signer
 */
export const rotateSecretKey = (parts: RotationParts): Promise<Rotation> =>
  withKeyLock(parts.dataDir, async () => {
    const { dataDir, env, database, act, to } = parts;
    const file = secretKeyFile(dataDir, env);
    const isGiven = Boolean(env.QUAYSIDE_SECRET_KEY_FILE);
    const state = await database.secretKeyState();
    let table = readKeyTable(file);
    const isContinued = newestOf(table) > state.current || !state.isFinished;
    refuseStartingServer(dataDir);
    if (!isContinued) {
      const made = withNewKey(table);
      if (isGiven && to === null) throw given(file);
      if (to !== null) {
        writeNew(to, made.table);
        return { kind: 'written', version: made.version, written: to, file };
      }
      writeSecretFile(file, keyTableText(made.table));
      table = readKeyTable(file);
    }
    const version = newestOf(table);
    if (version > state.current) {
      const wanted = { version, id: secretKeyId(table.get(version) as Uint8Array) };
      if (isGiven) refuseServerWithout(dataDir, wanted);
      await refuseSignerWithout(parts, wanted);
      await database.useSecretKey(version, act);
    }
    const pass = await resealAll(parts);
    await database.finishReseal(act.atMs);
    return { kind: 'done', version, before: state.current, isContinued, pass };
  });

/**
 * Takes an old version out of the key's file, once no row needs it.
 * @param endsLinks also ends links that payers got with it
 * @throws Fault permanent `not_found`, `secret_key_needed`, `secret_key_given`, `secret_key_invalid`; transient
 * `secret_key_busy`, `storage_unavailable`
 */
export const retireSecretKey = (parts: RotationParts, version: number, endsLinks: boolean): Promise<Retirement> =>
  withKeyLock(parts.dataDir, async () => {
    const { dataDir, env, database, act, to } = parts;
    const file = secretKeyFile(dataDir, env);
    const table = readKeyTable(file);
    const key = table.get(version);
    if (!key) {
      const known = [...table.keys()].join(', ');
      throw permanent('not_found', `${file} has no version ${version} of the secret key; it has ${known}`);
    }
    const { current } = await database.secretKeyState();
    if (version >= current) {
      const why = version === current ? 'is the current one' : 'is to become the current one';
      throw needed(`version ${version} ${why}; \`quayside secret-key rotate\` makes or finishes a newer one first`);
    }
    if (env.QUAYSIDE_SECRET_KEY_FILE && to === null) throw given(file);
    // Refunds that were kept may have ended since.
    const pass = await resealAll(parts);
    await database.finishReseal(act.atMs);
    const kept = pass.kept.filter((one) => one === version).length;
    if (kept > 0) {
      throw needed(
        `version ${version} is needed by ${kept} open refunds that approvers have approved; wait until they are paid, ` +
          'or end them with `quayside refunds reject` (`quayside refunds list --status processing`), then run this again',
      );
    }
    if (!endsLinks) await refuseLinks(parts, version);
    const replacedLinks = endsLinks ? await database.replaceClaimLinks(version, act) : 0;
    const rest = new Map([...table].filter(([one]) => one !== version));
    await database.recordAct(act, { target: `version ${version}`, before: { id: secretKeyId(key) }, after: null });
    if (to === null) writeSecretFile(file, keyTableText(rest));
    else writeNew(to, rest);
    return { version, pass, replacedLinks, written: to };
  });

const newestOf = (table: KeyTable): number => Math.max(...table.keys());

const needed = (message: string): Fault => permanent('secret_key_needed', message);

const given = (file: string): Fault =>
  permanent(
    'secret_key_given',
    `QUAYSIDE_SECRET_KEY_FILE names ${file}, which Quayside does not change. Run the command again with \`--to FILE\`, ` +
      'put what it writes there in the place of that file, and restart Quayside and the signer',
  );

/** @throws Fault permanent `file_exists` */
function writeNew(file: string, table: KeyTable): void {
  if (createSecretFile(file, keyTableText(table))) return;
  throw permanent('file_exists', `${file} exists already; name a new file with --to`);
}

/** @throws Fault transient `server_starting` */
function refuseStartingServer(dataDir: string): void {
  if (readServerFile(dataDir) || !isSupervised(dataDir)) return;
  throw transient('server_starting', 'Quayside is starting or stopping; run this again once it has');
}

/** A given file is a copy that only a new start reads. @throws Fault permanent `server_lacks_key` */
function refuseServerWithout(dataDir: string, { version, id }: KeyName): void {
  const running = readServerFile(dataDir);
  if (!running || running.secret_keys.some((one) => one.version === version && one.id === id)) return;
  throw permanent(
    'server_lacks_key',
    `the Quayside that runs was started without version ${version} of the secret key; restart it, then run this again`,
  );
}

/** @throws Fault permanent `signer_lacks_key`, and those of the signer */
async function refuseSignerWithout({ askSigner, isSignerOwn }: RotationParts, { version, id }: KeyName): Promise<void> {
  if (askSigner === null) return;
  const known = await askSigner().catch((error: unknown) => {
    if (isSignerOwn && error instanceof Fault && error.code === 'signer_unreachable') return null;
    throw error;
  });
  if (known === null || known.some((one) => one.version === version && one.id === id)) return;
  throw permanent(
    'signer_lacks_key',
    `version ${version} of the secret key (${id}) is in the key’s file, and the signer does not have it yet. Give the ` +
      'signer that file and restart it (with systemd: `systemctl restart quayside-signer`), then run this again. Until ' +
      'then everything goes on with the older version',
  );
}

async function resealAll({ database, onProgress }: RotationParts): Promise<Pass> {
  const pass = { looked: 0, resealed: 0, refused: 0 };
  const kept: number[] = [];
  for (let place: ResealPlace | null = null; ; ) {
    const step = await database.resealRows(place);
    pass.looked += step.looked;
    pass.resealed += step.resealed;
    pass.refused += step.refused;
    kept.push(...step.kept);
    onProgress(step.what, pass.looked, pass.resealed);
    if (step.next === null) return { ...pass, kept };
    place = step.next;
  }
}

/** @throws Fault permanent `secret_key_needed` */
async function refuseLinks({ database, act }: RotationParts, version: number): Promise<void> {
  const { claims, claimsUntilMs, pagesUntilMs } = await database.secretKeyLinks(version, act.atMs);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const why = [
    ...(claimsUntilMs === null ? [] : [`${claims} claim links of open refunds until ${day(claimsUntilMs)}`]),
    ...(pagesUntilMs === null || pagesUntilMs < act.atMs
      ? []
      : [`links to payment pages, by which payers may leave a refund address, until ${day(pagesUntilMs)}`]),
  ];
  if (why.length === 0) return;
  throw needed(
    `version ${version} made ${why.join(', and ')}. Wait until then, or end them with \`--end-links\`: open refunds get ` +
      'new claim links, which your shop must send to the payers, and old payment pages still show how to pay',
  );
}
