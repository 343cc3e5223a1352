/**
 * The Ed25519 key with which an installation signs its certificates. It signs nothing else, and guards no money.
 * @module
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { permanent } from '../core/fault.ts';
import { createSecretFile } from '../lib/secret-file.ts';

/** An Ed25519 public key in DER is this and its 32 bytes (RFC 8410). */
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** `publicKey` is 64 hex digits; `sign` returns the signature of a text's UTF-8 as 128 hex digits. */
export type SigningKey = Readonly<{ publicKey: string; sign(text: string): string }>;

/** Returns the path of an installation's key. */
export const signingKeyFile = (dataDir: string): string => join(dataDir, 'evidence.key');

/**
 * Opens the installation's key (PKCS #8, PEM), and creates it if there is none.
 * @throws Fault permanent `evidence_key_invalid` if the file is malformed or open to other users
 */
export function openSigningKey(dataDir: string): SigningKey {
  const file = signingKeyFile(dataDir);
  if (!existsSync(file)) createSecretFile(file, newKey());
  if ((statSync(file).mode & 0o077) !== 0) {
    throw permanent('evidence_key_invalid', `${file} is open to other users of this machine; run: chmod 600 ${file}`);
  }
  try {
    return signingKey(createPrivateKey(readFileSync(file)));
  } catch (error) {
    const advice = 'restore it from a backup, or delete it: then a new key signs, and its first certificate says so';
    throw permanent('evidence_key_invalid', `${file} does not hold an Ed25519 private key; ${advice}`, error);
  }
}

/** Wraps a private key. @throws Error if it is of another kind */
export function signingKey(key: KeyObject): SigningKey {
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`an Ed25519 key is needed, not ${key.asymmetricKeyType}`);
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' });
  return {
    publicKey: der.subarray(PUBLIC_PREFIX.length).toString('hex'),
    sign: (text) => sign(null, Buffer.from(text), key).toString('hex'),
  };
}

/** Returns whether a signature is that of a key over a text. */
export function verifySignature(publicKey: string, text: string, signature: string): boolean {
  const der = Buffer.concat([PUBLIC_PREFIX, Buffer.from(publicKey, 'hex')]);
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'hex'));
  } catch {
    // Not every 32 bytes are a point of the curve.
    return false;
  }
}

function newKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}
