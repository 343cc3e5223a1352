/**
 * Encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D). A sealed text is `v1.` and base64 of nonce (12 bytes),
 * tag (16) and ciphertext. The name of the secret is authenticated too, so that one row's secret cannot be moved to
 * another.
 * @module
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { invariant, permanent } from '../../core/fault.ts';
import type { Db } from './open.ts';
import { meta } from './schema.ts';
import { guarded } from './storage-fault.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1.';

export type Vault = Readonly<{
  seal(secret: string, name: string): string;
  /** @throws Fault permanent `secret_key_wrong` */
  open(sealed: string, name: string): string;
}>;

/** @param key 32 bytes */
export function createVault(key: Uint8Array): Vault {
  if (key.byteLength !== KEY_BYTES) {
    throw permanent('secret_key_wrong', `The secret key has ${key.byteLength} bytes; it needs ${KEY_BYTES}.`);
  }
  return {
    seal(secret, name) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name));
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return VERSION + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
    },
    open(sealed, name) {
      invariant(sealed.startsWith(VERSION), `the secret of ${name} is sealed in a known form`);
      const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(name))
          .setAuthTag(tag);
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw permanent(
          'secret_key_wrong',
          `This secret key does not open "${name}". Restore the key file that belongs to this database ` +
            '(data/secret.key, or the file named by QUAYSIDE_SECRET_KEY_FILE).',
          error,
        );
      }
    },
  };
}

const PROBE = 'the secret key of this database';
/** Is in the probe once all rows have their MACs (`row-macs.ts`): then no row gets one later. */
const ROWS_SEALED = `${PROBE}, whose rows have MACs, transfers too`;

/**
 * Compares the key with the one that the file was first opened with; the first call stores a sealed text for this.
 * @returns whether the rows have their MACs; false for a file of an older version
 * @throws Fault permanent `secret_key_wrong`
 */
export function checkKey(db: Db, vault: Vault): boolean {
  const find = () => db.orm.select().from(meta).where(eq(meta.name, 'sealed_probe')).get();
  const findOrAdd = db.client.transaction(() => {
    const first = find();
    if (first) return first;
    const probe = { name: 'sealed_probe', value: vault.seal(ROWS_SEALED, PROBE) };
    db.orm.insert(meta).values(probe).run();
    return probe;
  });
  // Nothing is served yet, so it may wait for another process.
  const kept = find() ?? guarded(db.file, () => findOrAdd.immediate());
  return vault.open(kept.value, PROBE) === ROWS_SEALED;
}

/** Notes, within a transaction, that all rows have their MACs. */
export const noteRowsSealed = (db: Db, vault: Vault): void =>
  void db.orm
    .update(meta)
    .set({ value: vault.seal(ROWS_SEALED, PROBE) })
    .where(eq(meta.name, 'sealed_probe'))
    .run();
