/**
 * The signer's own journal (`signer.db`) of every signature ever made. No row is ever changed. Its indices and triggers
 * refuse a second payment even if the program has a bug.
 */
import { createReadStream, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import Sqlite from 'better-sqlite3';
import * as z from 'zod';
import type { SignedSpend } from '../chains/spend.ts';
import { invariant, permanent, transient } from '../core/fault.ts';
import type { Intent } from '../core/intent.ts';
import type { Terms } from '../core/spend.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import { type Approval, intentWire, type JournalEntry, type SignerFreeze } from './protocol.ts';

/** Identifies the file as a journal (`PRAGMA application_id`): "Qsgn". */
const APPLICATION_ID = 0x5173676e;
/** The value of `PRAGMA synchronous` that syncs each commit to disk. */
const FULL = 2;
const BUSY_TIMEOUT_MS = 5000;
const COPY_READ_BYTES = 256 * 1024;
const schema = new URL('./journal.sql', import.meta.url);
/** The version of that schema: a journal's `PRAGMA user_version`. */
const VERSION = 1;

/** A signed generation of an intent; `terms` and `signedAtMs` are those of its newest attempt. */
type SignedGeneration = Readonly<{
  generation: number;
  nonce: number | null;
  attempts: number;
  terms: Terms;
  signedAtMs: number;
}>;

/** A signed intent. `content` is its canonical text. */
export type SignedIntent = Readonly<{ content: string; newest: SignedGeneration }>;

/** A signature's use of a cap (a currency, `gas` or `fee`), in base units. */
export type CapUse = Readonly<{ cap: string; units: bigint }>;

/** A signature to record. The fence rises with it. An `approval` belongs to its generation. */
export type NewSignature = Readonly<{
  intent: Intent;
  generation: number;
  attempt: number;
  proof: 'failed' | 'dead' | null;
  terms: Terms;
  payer: string;
  nonce: number | null;
  fence: number;
  capUses: readonly CapUse[];
  approval: Approval | null;
  signed: SignedSpend;
  atMs: number;
}>;

export type Journal = ReturnType<typeof journalOn>;

/** Returns the text in which intents are stored and compared, with keys in the order of the schema. */
export const canonicalIntent = (intent: Intent): string => JSON.stringify(z.encode(intentWire, intent));

/** Returns whether two texts differ in nothing but the MAC, which changes when the secret key is replaced. */
export const isSameContent = (one: string, other: string): boolean => withoutMac(one) === withoutMac(other);

const withoutMac = (content: string): string => JSON.stringify({ ...JSON.parse(content), mac: undefined });

/**
 * Creates an empty journal for a seed.
 * @throws Fault permanent `journal_exists`
 */
export function createJournal(file: string, fingerprint: string): void {
  // The file is created here for its mode, which SQLite also gives to its side files.
  if (!createSecretFile(file, '')) {
    throw permanent(
      'journal_exists',
      `${file} exists already. Keep it, because it prevents signing a payment twice, and choose another folder`,
    );
  }
  const client = connect(file);
  try {
    client.transaction(() => {
      client.pragma(`application_id = ${APPLICATION_ID}`);
      client.exec(readFileSync(schema, 'utf8'));
      client.pragma(`user_version = ${VERSION}`);
      client.prepare('INSERT INTO owner (only, fingerprint) VALUES (1, ?)').run(fingerprint);
    })();
  } finally {
    client.close();
  }
}

/**
 * Rise of the fences in a restored journal, which is more than an engine starts after its backup. The engine is refused
 * until its database has adopted the journal.
 */
const RESTORED_FENCE_STEP = 100_000;

/**
 * Makes a journal from a backup. It lacks signatures after the backup, so it serves no engine whose database has not
 * adopted it.
 * @param networks those of the policy, besides those in the journal
 * @throws Fault permanent `journal_foreign`
 */
export function restoreJournal(file: string, networks: readonly NetworkKey[], atMs: number): void {
  const journal = openJournal(file);
  try {
    for (const network of new Set([...networks, ...journal.networks()])) {
      journal.raiseFence(network, journal.fence(network) + RESTORED_FENCE_STEP, atMs);
    }
  } finally {
    journal.close();
  }
}

function connect(file: string): Sqlite.Database {
  const client = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS, fileMustExist: true });
  client.pragma('journal_mode = WAL');
  client.pragma('synchronous = FULL');
  client.pragma('foreign_keys = ON');
  // Makes REPLACE fire the triggers that forbid DELETE.
  client.pragma('recursive_triggers = ON');
  invariant(client.pragma('synchronous', { simple: true }) === FULL, 'each commit of the journal is synced to disk');
  invariant(client.pragma('journal_mode', { simple: true }) === 'wal', 'the journal is in WAL mode');
  return client;
}

/**
 * Opens the journal of an existing signer.
 * @throws Fault permanent `journal_missing`, `journal_foreign`; transient `signer_storage_unavailable`
 */
export function openJournal(file: string): Journal {
  if (!existsSync(file)) {
    throw permanent(
      'journal_missing',
      `${file} is missing. It records every signature, and without it a payment could be signed twice. Restore it; for a new signer, run \`quayside-signer init\``,
    );
  }
  const client = guarded(() => connect(file));
  try {
    checkOwnership(client, file);
    return journalOn(client, file);
  } catch (error) {
    client.close();
    throw error;
  }
}

function checkOwnership(client: Sqlite.Database, file: string): void {
  const foreign = guarded(() => client.pragma('application_id', { simple: true })) !== APPLICATION_ID;
  if (foreign)
    throw permanent(
      'journal_foreign',
      `${file} is not a signer's journal of 0.1.0 or later. Restore the right file; a signer that has never signed can begin in an empty folder with \`quayside-signer init\``,
    );
  const version = Number(client.pragma('user_version', { simple: true }));
  if (version === VERSION) return;
  throw permanent(
    'journal_foreign',
    `${file} has schema ${version}, but this program knows only ${VERSION}: start the newer program`,
  );
}

function journalOn(client: Sqlite.Database, file: string) {
  const fingerprint = String(client.prepare('SELECT fingerprint FROM owner').pluck().get());
  const fences = fencesOf(client);
  const find = client.prepare(
    'SELECT tx, bytes FROM signatures WHERE intent_id = ? AND generation = ? AND attempt = ?',
  );
  const intent = client.prepare(
    `SELECT intent AS content, generation, nonce,
       s.attempt + 1 AS attempts, s.terms, s.signed_at_ms AS signedAtMs
     FROM intents i JOIN generations g ON g.intent_id = i.id JOIN signatures s USING (intent_id, generation)
     WHERE i.id = ? ORDER BY generation DESC, s.attempt DESC LIMIT 1`,
  );
  const nonceUse = client.prepare(
    'SELECT intent_id AS intentId, generation FROM generations WHERE network = ? AND payer = ? AND nonce = ?',
  );
  const payers = client.prepare('SELECT payer FROM generations WHERE intent_id = ? ORDER BY generation').pluck();
  const tx = client.prepare('SELECT 1 FROM signatures WHERE network = ? AND tx = ?').pluck();
  const usedApprovals = client.prepare('SELECT signature FROM approvals WHERE intent_id = ?').pluck();
  const insertIntent = client.prepare(
    `INSERT INTO intents (id, network, intent, signed_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const insertUse = client.prepare(
    'INSERT INTO cap_uses (signature_id, cap, units, network, used_at_ms) VALUES (?, ?, ?, ?, ?)',
  );
  const insertApproval = client.prepare(
    'INSERT INTO approvals (intent_id, generation, approver, until_s, signature) VALUES (?, ?, ?, ?, ?)',
  );
  const insertGeneration = client.prepare(
    `INSERT INTO generations (intent_id, generation, proof, network, payer, nonce)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const insertSignature = client.prepare(
    `INSERT INTO signatures (intent_id, generation, attempt, network, terms, tx, bytes, fence, signed_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const entries = client.prepare(
    `SELECT s.id, tx, bytes, intent, generation, attempt, terms, s.signed_at_ms AS signedAtMs, g.payer
     FROM signatures s JOIN intents i ON i.id = s.intent_id JOIN generations g USING (intent_id, generation)
     WHERE s.network = ? AND s.id > ? ORDER BY s.id LIMIT ?`,
  );

  const record = client.transaction((entry: NewSignature) => {
    const { intent, generation, attempt, capUses, approval, signed, atMs } = entry;
    const { id, network } = intent;
    if (entry.fence > fences.fence(network)) fences.raiseFence(network, entry.fence, atMs);
    insertIntent.run(id, network, canonicalIntent(intent), atMs);
    if (attempt === 0) insertGeneration.run(id, generation, entry.proof, network, entry.payer, entry.nonce);
    if (approval) insertApproval.run(id, generation, approval.approver, approval.untilS, approval.signature);
    const terms = JSON.stringify(entry.terms);
    const row = insertSignature.run(
      id,
      generation,
      attempt,
      network,
      terms,
      signed.tx,
      signed.bytes,
      entry.fence,
      atMs,
    );
    for (const { cap, units } of capUses) insertUse.run(row.lastInsertRowid, cap, units.toString(), network, atMs);
  });

  return {
    /** The fingerprint of the seed that the journal belongs to. */
    fingerprint,
    ...fences,
    ...capUsesOf(client),
    ...freezesOf(client),
    find(intentId: string, generation: number, attempt: number): SignedSpend | null {
      const row = find.get(intentId, generation, attempt) as SignedSpend | undefined;
      return row ? { tx: row.tx, bytes: new Uint8Array(row.bytes) } : null;
    },
    intent(intentId: string): SignedIntent | null {
      const row = intent.get(intentId) as (SignedGeneration & { content: string; terms: string }) | undefined;
      if (!row) return null;
      const { content, ...newest } = row;
      return { content, newest: { ...newest, terms: JSON.parse(row.terms) as Terms } };
    },
    /** Returns the generation that used a nonce, or null. */
    nonceUse: (network: NetworkKey, payer: string, nonce: number) =>
      (nonceUse.get(network, payer, nonce) as { intentId: string; generation: number } | undefined) ?? null,
    /** Returns the wallets that paid for the signed generations of an intent, in order. */
    payersOf: (intentId: string) => payers.all(intentId) as string[],
    /** Returns whether a transaction was signed. */
    hasSigned: (network: NetworkKey, id: string) => tx.get(network, id) !== undefined,
    /** Returns the signatures of the approvals that an intent used. */
    usedApprovals: (intentId: string) => usedApprovals.all(intentId) as string[],
    /**
     * Records a signature. It is on disk when this returns.
     * @throws Fault transient `signer_storage_unavailable`
     */
    record: (entry: NewSignature): void => guarded(() => record.immediate(entry)),
    /** Returns signatures with ids above `after`, oldest first. */
    entries: (network: NetworkKey, after: number, limit: number): JournalEntry[] =>
      (entries.all(network, after, limit) as (JournalEntry & { intent: string; terms: string })[]).map((row) => ({
        ...row,
        bytes: new Uint8Array(row.bytes),
        intent: z.decode(intentWire, JSON.parse(row.intent)),
        terms: JSON.parse(row.terms) as Terms,
      })),
    copy: createCopier(client, `${file}-copy`),
    close: (): void => void client.close(),
  };
}

/**
 * Returns a function that copies the journal while the signer signs, one copy at a time. A copy has the journal's state
 * at its end. Its file is deleted before it is read, so that it disappears with its reader.
 * @param file path of the copy while it is made; a killed process's file there is replaced
 */
function createCopier(client: Sqlite.Database, file: string) {
  let isCopying = false;
  /** @throws Fault transient `backup_running`, `signer_storage_unavailable` */
  return async (): Promise<Readable> => {
    if (isCopying) {
      throw transient('backup_running', 'the signer is making another backup; when that one is done, try again');
    }
    isCopying = true;
    try {
      writeFileSync(file, '', { mode: 0o600 });
      await client.backup(file);
      return createReadStream(file, { fd: openSync(file, 'r'), highWaterMark: COPY_READ_BYTES });
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      throw transient('signer_storage_unavailable', `${file} cannot be written (${why}); check the disk`, error);
    } finally {
      rmSync(file, { force: true });
      isCopying = false;
    }
  };
}

/** Returns the journal's record of fences. */
function fencesOf(client: Sqlite.Database) {
  const highest = client.prepare('SELECT coalesce(max(fence), 0) FROM fences WHERE network = ?').pluck();
  const fenced = client.prepare('SELECT DISTINCT network FROM fences').pluck();
  const insert = client.prepare('INSERT INTO fences (network, fence, seen_at_ms) VALUES (?, ?, ?)');
  return {
    /** Returns the highest fence seen on a network; 0 before the first. */
    fence: (network: NetworkKey) => highest.get(network) as number,
    raiseFence: (network: NetworkKey, fence: number, atMs: number): void =>
      void guarded(() => insert.run(network, fence, atMs)),
    /** Returns the networks on which an engine was served. */
    networks: () => fenced.all() as NetworkKey[],
  };
}

/** Returns the journal's record of caps. */
function capUsesOf(client: Sqlite.Database) {
  const used = client.prepare('SELECT units FROM cap_uses WHERE network = ? AND cap = ? AND used_at_ms >= ?').pluck();
  const count = client.prepare('SELECT count(*) FROM signatures WHERE network = ? AND signed_at_ms >= ?').pluck();
  return {
    /** Returns how many signatures were made since a time (inclusive). */
    countSince: (network: NetworkKey, sinceMs: number) => count.get(network, sinceMs) as number,
    /** Returns the units of a cap that were used since a time (inclusive). */
    usedSince(network: NetworkKey, cap: string, sinceMs: number): bigint {
      let sum = 0n;
      for (const units of used.iterate(network, cap, sinceMs)) sum += BigInt(units as string);
      return sum;
    },
  };
}

/** Returns the journal's record of freezes. */
function freezesOf(client: Sqlite.Database) {
  const openFreeze = client.prepare(
    `SELECT number, nonce, reason, frozen_by AS frozenBy, frozen_at_ms AS frozenAtMs FROM freezes
     WHERE number = (SELECT max(number) FROM freezes) AND number NOT IN (SELECT freeze FROM thaws)`,
  );
  const insertFreeze = client.prepare(
    'INSERT INTO freezes (nonce, reason, frozen_by, frozen_at_ms) VALUES (?, ?, ?, ?)',
  );
  const insertThaw = client.prepare(
    'INSERT INTO thaws (freeze, approver, until_s, signature, thawed_at_ms) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    /** Returns the freeze that no thaw has ended, or null. */
    openFreeze: () => (openFreeze.get() as SignerFreeze | undefined) ?? null,
    /** Records a freeze, if none is open. @throws Fault transient `signer_storage_unavailable` */
    freeze: ({ nonce, reason, frozenBy, frozenAtMs }: Omit<SignerFreeze, 'number'>): void =>
      void guarded(() => insertFreeze.run(nonce, reason, frozenBy, frozenAtMs)),
    /** Records the end of a freeze. @throws Fault transient `signer_storage_unavailable` */
    thaw: (number: number, { approver, untilS, signature }: Approval, atMs: number): void =>
      void guarded(() => insertThaw.run(number, approver, untilS, signature, atMs)),
  };
}

/** Result codes of SQLite (sqlite.org/rescode.html) that are about the disk, not about the statement. */
const storageCodes = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|BUSY|NOMEM)/;

/**
 * Returns whether an error came from SQLite and is no fault. The file's content may then differ from this process's
 * memory.
 */
export const isJournalError = (error: unknown): boolean => error instanceof Sqlite.SqliteError;

/** Runs `work`; raises a fault if the disk cannot be used. A violated constraint is a bug and stays an error. */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError) || !storageCodes.test(error.code)) throw error;
    throw transient(
      'signer_storage_unavailable',
      `the signer's journal cannot be used (${error.message}); nothing was signed. Check the disk and the folder's owner`,
      error,
    );
  }
}
