/**
 * The secret key of an installation: it encrypts the secrets in the database, and makes the MACs of rows and refunds.
 * With it and the database, anyone can sign as any merchant.
 *
 * Its file has one line for each version: `v2` and 64 hex digits. A line of 64 hex digits alone is version 1.
 * @module
 */
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from './secret-file.ts';

const KEY_BYTES = 32;
const ID_DIGITS = 12;
/** `retire` takes old ones away long before. */
const VERSIONS_MAX = 100;
const LINE = /^(?:v([1-9]\d{0,5}) +)?([0-9a-f]{64})$/i;
/** A process that runs sees a changed file after this time at the latest, or when it needs a version that is new. */
const LOOK_EVERY_MS = 1_000;

/** The versions of a secret key that are known now. */
export type SecretKeys = Readonly<{
  /** Returns the 32 bytes of a version, or null. */
  find(version: number): Uint8Array | null;
  /** Returns the versions, lowest first; at least one. */
  versions(): readonly number[];
}>;

/** Versions with their keys. */
export type KeyTable = ReadonlyMap<number, Uint8Array>;

/** A version and what identifies its key without revealing it. */
export type KeyName = Readonly<{ version: number; id: string }>;

/** Returns the path of an installation's database. */
export const databaseFile = (dataDir: string): string => join(dataDir, 'quayside.db');

/** Returns the path of the key: `<dataDir>/secret.key`, or the file that `QUAYSIDE_SECRET_KEY_FILE` names. */
export const secretKeyFile = (dataDir: string, env: NodeJS.ProcessEnv): string =>
  env.QUAYSIDE_SECRET_KEY_FILE ? resolve(env.QUAYSIDE_SECRET_KEY_FILE) : join(dataDir, 'secret.key');

/** Returns 12 hex digits that identify a key, for people and programs to compare. */
export const secretKeyId = (key: Uint8Array): string =>
  createHmac('sha256', key).update('quayside secret key id v1').digest('hex').slice(0, ID_DIGITS);

/** Names the versions that are known. */
export const keyNames = (keys: SecretKeys): KeyName[] =>
  keys.versions().flatMap((version) => {
    const key = keys.find(version);
    return key ? [{ version, id: secretKeyId(key) }] : [];
  });

/** Returns keys that never change. */
export const fixedSecretKeys = (table: KeyTable): SecretKeys => ({
  find: (version) => table.get(version) ?? null,
  versions: () => [...table.keys()].sort((a, b) => a - b),
});

/**
 * Opens the installation's key: `<dataDir>/secret.key`, which is created with a new database, or the file that
 * `QUAYSIDE_SECRET_KEY_FILE` names, which must exist (a mounted secret, for example).
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function readSecretKeys(dataDir: string, env: NodeJS.ProcessEnv): SecretKeys {
  const file = secretKeyFile(dataDir, env);
  if (!env.QUAYSIDE_SECRET_KEY_FILE) prepareOwnKey(dataDir, file);
  return openSecretKeys(file);
}

/**
 * Opens the key of an existing file. Its group may read it: a mounted secret, or that of a signer with a user of its
 * own, may belong to another user. A change of the file is noticed; while it cannot be read, what was read before
 * counts.
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function openSecretKeys(file: string): SecretKeys {
  let stamp = stampOf(file);
  let known = fixedSecretKeys(readKeyTable(file));
  let lookedAtMs = performance.now();

  function look(): void {
    lookedAtMs = performance.now();
    const now = stampOf(file);
    if (now === stamp) return;
    try {
      known = fixedSecretKeys(readKeyTable(file));
      stamp = now;
    } catch {
      // It is being replaced, or no longer readable: whoever starts next is told.
    }
  }
  const lookSometimes = (): void => {
    if (performance.now() - lookedAtMs >= LOOK_EVERY_MS) look();
  };

  return {
    find(version) {
      lookSometimes();
      const key = known.find(version);
      if (key) return key;
      look();
      return known.find(version);
    },
    versions() {
      look();
      return known.versions();
    },
  };
}

/**
 * Reads the versions of a file.
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function readKeyTable(file: string): KeyTable {
  refuseOpen(file, 0o027, 'chmod o=,g-w');
  const table = parseKeyTable(readKeyFile(file));
  if (table) return table;
  throw permanent(
    'secret_key_invalid',
    `${file} must hold 64 hex digits, or a line "v<version> <64 hex digits>" for each version of the key; restore the ` +
      'key file of this database',
  );
}

/** Returns the versions in a file's text; null if it is malformed or names a version twice. */
function parseKeyTable(text: string): KeyTable | null {
  const lines = text.split('\n').flatMap((line) => line.trim() || []);
  const table = new Map<number, Uint8Array>();
  for (const line of lines) {
    const [, version = '1', hex] = LINE.exec(line) ?? [];
    if (hex === undefined || table.has(Number(version))) return null;
    table.set(Number(version), new Uint8Array(Buffer.from(hex, 'hex')));
  }
  return table.size > 0 && table.size <= VERSIONS_MAX ? table : null;
}

/** Returns the text of a file, newest version first. With version 1 alone, versions of the program before read it. */
export function keyTableText(table: KeyTable): string {
  const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');
  const [only, ...others] = [...table].sort(([a], [b]) => b - a);
  if (only && others.length === 0 && only[0] === 1) return `${hex(only[1])}\n`;
  return [only, ...others].flatMap((one) => (one ? `v${one[0]} ${hex(one[1])}\n` : [])).join('');
}

/** Returns the versions with a new, random one above all others, and its number. */
export function withNewKey(table: KeyTable): Readonly<{ version: number; table: KeyTable }> {
  const version = Math.max(0, ...table.keys()) + 1;
  return { version, table: new Map([...table, [version, new Uint8Array(randomBytes(KEY_BYTES))]]) };
}

/** @throws Fault permanent `secret_key_invalid` */
function prepareOwnKey(dataDir: string, file: string): void {
  // A new key beside an old database would make every stored secret unreadable.
  if (!existsSync(databaseFile(dataDir))) createSecretFile(file, keyTableText(withNewKey(new Map()).table));
  refuseOpen(file, 0o077, 'chmod 600');
}

/** @throws Fault permanent `secret_key_invalid` */
function refuseOpen(file: string, forbidden: number, remedy: string): void {
  if (!existsSync(file) || (statSync(file).mode & forbidden) === 0) return;
  throw permanent('secret_key_invalid', `${file} is open to other users of this machine; run: ${remedy} ${file}`);
}

/** Returns what changes whenever the file is written or replaced. */
function stampOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : '';
}

/** @throws Fault permanent `secret_key_invalid` */
function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw permanent('secret_key_invalid', `the secret key ${file} cannot be read; restore it`, error);
  }
}
