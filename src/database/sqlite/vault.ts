/**
 * Encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D). A sealed text is `v<version of the key>.` and base64 of
 * nonce (12 bytes), tag (16) and ciphertext. The name of the secret is authenticated too, so that one row's secret
 * cannot be moved to another.
 * @module
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { type Fault, permanent } from '../../core/fault.ts';
import { type DataKeys, versionOf } from './data-keys.ts';
import type { Db } from './open.ts';
import { guarded } from './storage-fault.ts';
import { meta } from './tables.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type Vault = Readonly<{
  seal(secret: string, name: string): string;
  /** @throws Fault permanent `secret_key_wrong` */
  open(sealed: string, name: string): string;
}>;

export function createVault(keys: DataKeys): Vault {
  /** @throws Fault permanent `secret_key_wrong` */
  function keyOf(version: number, name: string): Uint8Array {
    const key = keys.find(version);
    if (!key) throw wrongKey(name, `needs version ${version} of the secret key, and the key file has`, keys);
    if (key.byteLength === KEY_BYTES) return key;
    throw permanent('secret_key_wrong', `The secret key has ${key.byteLength} bytes; it needs ${KEY_BYTES}.`);
  }

  return {
    seal(secret, name) {
      const version = keys.current();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keyOf(version, name), nonce).setAAD(Buffer.from(name));
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return `v${version}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
    },
    open(sealed, name) {
      const version = versionOf(sealed);
      if (version === null) throw wrongKey(name, 'is not sealed in a known form; the key file has', keys);
      const bytes = Buffer.from(sealed.slice(sealed.indexOf('.') + 1), 'base64');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const key = keyOf(version, name);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(name))
          .setAuthTag(tag);
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw wrongKey(name, `is not opened by version ${version} of this secret key; the key file has`, keys, error);
      }
    },
  };
}

function wrongKey(name: string, why: string, keys: DataKeys, cause?: unknown): Fault {
  const versions = keys.versions().join(', ');
  return permanent(
    'secret_key_wrong',
    `"${name}" ${why} ${versions}. Restore the secret key that belongs to this database (data/secret.key, or the ` +
      'file named by QUAYSIDE_SECRET_KEY_FILE).',
    cause,
  );
}

const PROBE = 'the secret key of this database';
/**
 * Compares the key with the one that the file was first opened with; the first call stores a sealed text for this.
 * @throws Fault permanent `secret_key_wrong`
 */
export function checkKey(db: Db, vault: Vault): void {
  const find = () => db.orm.select().from(meta).where(eq(meta.name, 'sealed_probe')).get();
  const findOrAdd = db.client.transaction(() => {
    const first = find();
    if (first) return first;
    const probe = { name: 'sealed_probe', value: vault.seal(PROBE, PROBE) };
    db.orm.insert(meta).values(probe).run();
    return probe;
  });
  // Nothing is served yet, so it may wait for another process.
  const kept = find() ?? guarded(db.file, () => findOrAdd.immediate());
  vault.open(kept.value, PROBE);
}

/** Makes a version of the secret key the current one, within a transaction: the probe is sealed with it. */
export function sealProbe(db: Db, keys: DataKeys, version: number): void {
  const value = createVault({ ...keys, current: () => version }).seal(PROBE, PROBE);
  db.orm.update(meta).set({ value }).where(eq(meta.name, 'sealed_probe')).run();
}
