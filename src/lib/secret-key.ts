/**
 * The key that encrypts API and webhook secrets in the database. With it and the database, anyone can sign as any
 * merchant.
 * @module
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from './secret-file.ts';

const KEY_BYTES = 32;

/** Returns the path of an installation's database. */
export const databaseFile = (dataDir: string): string => join(dataDir, 'quayside.db');

/** Returns the path of the key: `<dataDir>/secret.key`, or the file that `QUAYSIDE_SECRET_KEY_FILE` names. */
export const secretKeyFile = (dataDir: string, env: NodeJS.ProcessEnv): string =>
  env.QUAYSIDE_SECRET_KEY_FILE ? resolve(env.QUAYSIDE_SECRET_KEY_FILE) : join(dataDir, 'secret.key');

/**
 * Reads the key: 64 hex digits in `<dataDir>/secret.key`, which is created with a new database, or in the file that
 * `QUAYSIDE_SECRET_KEY_FILE` names, which must exist (a mounted secret, for example).
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function readSecretKey(dataDir: string, env: NodeJS.ProcessEnv): Uint8Array {
  const file = secretKeyFile(dataDir, env);
  if (!env.QUAYSIDE_SECRET_KEY_FILE) prepareOwnKey(dataDir, file);
  return readSecretKeyFile(file);
}

/**
 * Reads the key from an existing file: 64 hex digits. Its group may read it: a mounted secret, or that of a signer with
 * a user of its own, may belong to another user.
 * @throws Fault permanent `secret_key_invalid` when the file is missing, malformed or open to other users
 */
export function readSecretKeyFile(file: string): Uint8Array {
  refuseOpen(file, 0o027, 'chmod o=,g-w');
  const text = readKeyFile(file);
  if (!/^[0-9a-f]{64}$/i.test(text)) {
    throw permanent('secret_key_invalid', `${file} must hold 64 hex digits; restore the key file of this database`);
  }
  return new Uint8Array(Buffer.from(text, 'hex'));
}

/** @throws Fault permanent `secret_key_invalid` */
function prepareOwnKey(dataDir: string, file: string): void {
  // A new key beside an old database would make every stored secret unreadable.
  if (!existsSync(databaseFile(dataDir))) createSecretFile(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
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
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw permanent('secret_key_invalid', `the secret key ${file} cannot be read; restore it`, error);
  }
}
