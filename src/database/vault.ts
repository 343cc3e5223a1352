/**
 * Encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D). A sealed text is `v1.` and base64 of nonce (12 bytes),
 * tag (16) and ciphertext. The name of the secret is authenticated too, so that one row's secret
 * cannot be moved to another.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { Fault, permanent } from '../core/fault.ts';
import type { Db } from './engine/open.ts';
import { meta } from './tables.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the form of a sealed text. */
const FORM = 'v1.';

export type Vault = Readonly<{
  seal(secret: string, name: string): string;
  /** @throws Fault permanent `secret_key_wrong` */
  open(sealed: string, name: string): string;
}>;

/** @throws Fault permanent `secret_key_wrong` for a key of another length */
export function createVault(secretKey: Uint8Array): Vault {
  if (secretKey.byteLength !== KEY_BYTES)
    throw permanent('secret_key_wrong', `The secret key has ${secretKey.byteLength} bytes; it needs ${KEY_BYTES}.`);
  const key = createSecretKey(secretKey);
  return {
    seal(secret, name) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name));
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return `${FORM}${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
    },
    open(sealed, name) {
      if (!sealed.startsWith(FORM)) throw wrongKey(name, 'is not sealed in a known form');
      const bytes = Buffer.from(sealed.slice(FORM.length), 'base64');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(name))
          .setAuthTag(tag);
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw wrongKey(name, 'is not opened by this secret key', error);
      }
    },
  };
}

const wrongKey = (name: string, why: string, cause?: unknown): Fault =>
  permanent(
    'secret_key_wrong',
    `"${name}" ${why}. Restore the secret key that belongs to this database (data/secret.key, or the file named by ` +
      'QUAYSIDE_SECRET_KEY_FILE). If `quayside secret-key rotate` was interrupted, run it again: it ends what it began.',
    cause,
  );

const PROBE = 'the secret key of this database';
/**
 * Compares the key with the one that the database was first opened with; the first call stores a sealed text for this.
 * @throws Fault permanent `secret_key_wrong`
 */
export async function checkKey(db: Db, vault: Vault): Promise<void> {
  const kept = async () => (await db.orm.select().from(meta).where(eq(meta.name, 'sealed_probe')).get())?.value;
  const add = db.client.prepare(
    "INSERT INTO meta (name, value) VALUES ('sealed_probe', ?) ON CONFLICT (name) DO NOTHING",
  );
  const known =
    (await db.read(kept)) ??
    (await db.write(async () => {
      await add.run(vault.seal(PROBE, PROBE));
      return kept();
    }));
  vault.open(known ?? '', PROBE);
}

/** Returns whether a vault has the key that the file is sealed with; true for a file that no key was used with. */
export async function opensProbe(db: Db, vault: Vault): Promise<boolean> {
  const kept = await db.orm.select().from(meta).where(eq(meta.name, 'sealed_probe')).get();
  try {
    return kept === undefined || vault.open(kept.value, PROBE) === PROBE;
  } catch (error) {
    if (error instanceof Fault && error.code === 'secret_key_wrong') return false;
    throw error;
  }
}

/** Makes the vault's key the one of the file, within a transaction. */
export async function sealProbe(db: Db, vault: Vault): Promise<void> {
  await db.orm
    .update(meta)
    .set({ value: vault.seal(PROBE, PROBE) })
    .where(eq(meta.name, 'sealed_probe'))
    .run();
}
