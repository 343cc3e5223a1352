/**
 * The secret key of an installation: it encrypts the secrets in the database, and makes the MACs of rows and refunds.
 * With it and the database, anyone can sign as any merchant. Its file has 64 hex digits.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from './secret-file.ts';

const KEY_BYTES = 32;
const KEY_TEXT = /^[0-9a-f]{64}$/i;

/** Returns the path of an installation's database. */
export const databaseFile = (dataDir: string): string => join(dataDir, 'quayside.db');

/** Returns the path of the key: `<dataDir>/secret.key`, or the file that `QUAYSIDE_SECRET_KEY_FILE` names. */
export const secretKeyFile = (dataDir: string, env: NodeJS.ProcessEnv): string =>
  env.QUAYSIDE_SECRET_KEY_FILE ? resolve(env.QUAYSIDE_SECRET_KEY_FILE) : join(dataDir, 'secret.key');

/** Returns the text of a key's file. */
export const secretKeyText = (key: Uint8Array): string => `${Buffer.from(key).toString('hex')}\n`;

/** Returns a new, random key. */
export const newSecretKey = (): Uint8Array => new Uint8Array(randomBytes(KEY_BYTES));

/**
 * Reads the installation's key: `<dataDir>/secret.key`, which is created with a new database, or the file that
 * `QUAYSIDE_SECRET_KEY_FILE` names, which must exist (a mounted secret, for example).
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function readSecretKey(dataDir: string, env: NodeJS.ProcessEnv): Uint8Array {
  const file = secretKeyFile(dataDir, env);
  if (!env.QUAYSIDE_SECRET_KEY_FILE) prepareOwnKey(dataDir, file);
  return openSecretKey(file);
}

/**
 * Reads the key of an existing file. Its group may read it: a mounted secret, or that of a signer with a user of its
 * own, may belong to another user.
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function openSecretKey(file: string): Uint8Array {
  refuseOpen(file, 0o027, 'chmod o=,g-w');
  const text = readKeyFile(file).trim();
  if (KEY_TEXT.test(text)) return new Uint8Array(Buffer.from(text, 'hex'));
  throw permanent(
    'secret_key_invalid',
    `${file} must hold 64 hex digits and nothing else; restore the key file of this database`,
  );
}

/** @throws Fault permanent `secret_key_invalid` */
function prepareOwnKey(dataDir: string, file: string): void {
  // A new key beside an old database would make every stored secret unreadable.
  if (!existsSync(databaseFile(dataDir))) createSecretFile(file, secretKeyText(newSecretKey()));
  refuseOpen(file, 0o077, 'chmod 600');
}

/** @throws Fault permanent `secret_key_invalid` */
function refuseOpen(file: string, forbidden: number, remedy: string): void {
  if (!existsSync(file) || (statSync(file).mode & forbidden) === 0) return;
  throw permanent('secret_key_invalid', `${file} is open to other users of this machine; run: ${remedy} ${file}`);
}

/** @throws Fault permanent `secret_key_invalid` */
function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw permanent('secret_key_invalid', `the secret key ${file} cannot be read; restore it`, error);
  }
}
