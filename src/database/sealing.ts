/**
 * Encrypts secrets at rest with AES-256-GCM (NIST SP 800-38D). A sealed text is `v1.` and base64 of nonce (12 bytes),
 * tag (16) and ciphertext. The name of the secret is authenticated too, so that a secret cannot be moved to another
 * row.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { Fault, permanent } from '../core/fault.ts';
import type { IntentMac } from '../core/intent.ts';
import { systemClock } from '../lib/clock.ts';
import type { Db } from './engine/open.ts';
import { readMeta, writeMeta } from './meta.ts';
import type { TextFormats } from './networks.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Prefix of a sealed text, with its version. */
const FORM = 'v1.';

export type Vault = ReturnType<typeof createVault>;

/** @throws Fault permanent `secret_key_wrong` for a key of another length */
export function createVault(secretKey: Uint8Array) {
  if (secretKey.byteLength !== KEY_BYTES)
    throw permanent('secret_key_wrong', `The secret key has ${secretKey.byteLength} bytes; it needs ${KEY_BYTES}.`);
  const key = createSecretKey(secretKey);
  return {
    seal(secret: string, name: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name));
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return `${FORM}${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
    },
    /** @throws Fault permanent `secret_key_wrong` */
    open(sealed: string, name: string): string {
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
      'QUAYSIDE_SECRET_KEY_FILE). If `quayside secret-key rotate` was interrupted, run it again.',
    cause,
  );

const PROBE = 'the secret key of this database';
/** The name in `meta` of the sealed probe. */
const SEALED_PROBE = 'sealed_probe';

/**
 * Compares the key with the key of the database. The first call stores a sealed text for later comparisons.
 * @throws Fault permanent `secret_key_wrong`
 */
export async function checkKey(db: Db, vault: Vault): Promise<void> {
  const kept = () => readMeta(db, SEALED_PROBE);
  const known = (await db.read(kept)) ?? (await db.write(async () => (await kept()) ?? (await sealProbe(db, vault))));
  vault.open(known, PROBE);
}

/** Returns whether a vault has the key of the database; true for a database without a key. */
export async function opensProbe(db: Db, vault: Vault): Promise<boolean> {
  const kept = await readMeta(db, SEALED_PROBE);
  try {
    return kept === null || vault.open(kept, PROBE) === PROBE;
  } catch (error) {
    if (error instanceof Fault && error.code === 'secret_key_wrong') return false;
    throw error;
  }
}

/** Makes the vault's key the key of the database, within a transaction. @returns the sealed text */
export async function sealProbe(db: Db, vault: Vault): Promise<string> {
  const sealed = vault.seal(PROBE, PROBE);
  await writeMeta(db, SEALED_PROBE, sealed);
  return sealed;
}

// ── MACs of rows ─────────────────────────────────────────────────────────────────────────────────────────────────────
type Field = string | number | null;

/** The part of a row that its MAC covers: the table's name, the primary key, and fields in a fixed order. */
export type MacedRow = Readonly<{ table: string; key: readonly Field[]; fields: readonly Field[] }>;

export type RowMacs = ReturnType<typeof createRowMacs>;

const MAC = /^v1\.([A-Za-z0-9_-]{43})$/;

export function createRowMacs(secretKey: Uint8Array) {
  // With a key of bytes instead of a KeyObject, each use would cost Node ten times as much.
  const macKey = createSecretKey(createHmac('sha256', secretKey).update('quayside row mac v1').digest());
  const macOf = (row: MacedRow): Buffer => createHmac('sha256', macKey).update(encode(row)).digest();

  return {
    seal: (row: MacedRow): string => `v1.${macOf(row).toString('base64url')}`,
    /** @param mac as stored; null matches no row */
    isIntact(row: MacedRow, mac: string | null): boolean {
      const [, text] = MAC.exec(mac ?? '') ?? [];
      if (text === undefined) return false;
      const [expected, given] = [macOf(row), Buffer.from(text, 'base64url')];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

const encode = ({ table, key, fields }: MacedRow): string =>
  [encodeField(table), key.length, ':', ...key.map(encodeField), ...fields.map(encodeField)].join('');

/** Returns a letter for the type, the length in bytes, and the text. */
function encodeField(field: Field): string {
  if (field === null) return 'n';
  const text = String(field);
  return `${typeof field === 'number' ? 'i' : 's'}${Buffer.byteLength(text)}:${text}`;
}

/** Most altered rows that a process remembers, so that each raises one alarm. */
const REPORTED_MAX = 1_000;

type AlteredAlarm = Readonly<{ atMs: number; code: string; message: string; network: null; sessionId: null }>;

/** @param raiseAlarm see `raiseAlarm` */
export function createRowGuard(db: Db, secretKey: Uint8Array, raiseAlarm: (alarm: AlteredAlarm) => Promise<unknown>) {
  const { seal, isIntact } = createRowMacs(secretKey);
  const reported = new Set<string>();

  /** Raises the alarm after the current transaction, which may be read-only. */
  function report(table: string, name: string, remedy: string): void {
    if (reported.has(name) || reported.size >= REPORTED_MAX) return;
    reported.add(name);
    const message =
      `The row of ${name} in the table ${table} of ${db.name} was altered, or was not written by this installation. ` +
      `It is not used. Find out who can write to that file; then ${remedy}.`;
    const alarm = { atMs: systemClock.nowMs(), code: 'row_altered', message, network: null, sessionId: null };
    setImmediate(async () => {
      try {
        await db.write(() => raiseAlarm(alarm));
      } catch {
        // If the alarm cannot be saved now, the next read of the row raises it.
        reported.delete(name);
      }
    });
  }

  return {
    seal,
    /** Raises the alarm `row_altered` for a row that the caller has found to be altered. */
    refuse: report,
    /**
     * Returns whether a row is as this installation wrote it. Otherwise the caller must not use the row, and the alarm
     * `row_altered` is raised once per process.
     * @param name of the row, for operators
     * @param remedy an instruction to the operator, with its command
     */
    accepts(row: MacedRow, mac: string | null, name: string, remedy: string): boolean {
      if (isIntact(row, mac)) return true;
      report(row.table, name, remedy);
      return false;
    },
  };
}

// ── Tokens in links ──────────────────────────────────────────────────────────────────────────────────────────────────
// A token is 128 bits that only the holder of the secret key can make from a public id. A payer's token permits the
// payer to name a refund address at checkout. A claim's token permits it for one refund.

const HEX_DIGITS = 32;

export function createTokens(secretKey: Uint8Array) {
  const key = createSecretKey(createHmac('sha256', secretKey).update('tokens in links v1').digest());
  const of = (kind: 'payer' | 'refund claim' | 'challenge', id: string): string =>
    createHmac('sha256', key).update(`${kind} ${id}`).digest('hex').slice(0, HEX_DIGITS);
  return {
    of,
    /** Compares a text with a payer's token in constant time. */
    isPayer(sessionId: string, text: string): boolean {
      const [found, expected] = [Buffer.from(text), Buffer.from(of('payer', sessionId))];
      return found.length === expected.length && timingSafeEqual(expected, found);
    },
  };
}

export type Tokens = ReturnType<typeof createTokens>;

// ── Databases with a key ─────────────────────────────────────────────────────────────────────────────────────────────

/** A database whose secrets can be opened. */
export type VaultDb = Db & Readonly<{ vault: Vault }>;

/** The database of an installation, with its secret key's codecs and its settings. */
export type SealedDb = VaultDb &
  TextFormats &
  Readonly<{
    guard: ReturnType<typeof createRowGuard>;
    macOf: IntentMac;
    tokens: Tokens;
    /** Longest time for which a session stays open after its deadline because a network is unread. */
    outageWaitS: number;
  }>;
