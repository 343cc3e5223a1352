/**
 * Changing to another version of the secret key. The probe decides which one is current (`data-keys.ts`); rows follow
 * in short transactions, and every one of them is usable at every moment.
 * @module
 */
import { and, eq, gte, inArray, isNotNull, sql } from 'drizzle-orm';
import type { IntentMacs } from '../../../core/intent.ts';
import type { ResealStep, SecretKeyDatabase, SecretKeyUse } from '../../secret-keys.ts';
import type { RecordAct } from '../audit-log.ts';
import { type DataKeys, versionOf } from '../data-keys.ts';
import type { Db } from '../open.ts';
import type { ClaimTokens } from '../refunds/claim-tokens.ts';
import { createRowMacs } from '../row-macs.ts';
import { meta, refunds, stores } from '../tables.ts';
import { sealProbe, type Vault } from '../vault.ts';
import { WRITE_ROWS_MAX } from '../write-queue.ts';
import { type SealedTable, sealedTables } from './sealed-tables.ts';

/** Each row that is changed also takes two MACs or two encryptions. */
const RESEAL_ROWS = WRITE_ROWS_MAX / 2;

type Parts = Readonly<{
  keys: DataKeys;
  vault: Vault;
  macOf: IntentMacs;
  claimTokens: ClaimTokens;
  recordAct: RecordAct;
}>;

/** What `meta` keeps of a version that became current. */
type Since = Readonly<{ since_ms: number; resealed_at_ms: number | null }>;
const sinceName = (version: number): string => `secret_key_v${version}`;

export function secretKeyCommands(db: Db, parts: Parts): SecretKeyDatabase {
  const { keys, claimTokens, recordAct } = parts;
  const tables = sealedTables(db, { ...parts, macs: createRowMacs(keys) });

  const readSince = (version: number): Since | null => {
    const row = db.orm
      .select()
      .from(meta)
      .where(eq(meta.name, sinceName(version)))
      .get();
    return row ? (JSON.parse(row.value) as Since) : null;
  };
  function writeSince(version: number, since: Since): void {
    const value = JSON.stringify(since);
    const row = { name: sinceName(version), value };
    db.orm.insert(meta).values(row).onConflictDoUpdate({ target: meta.name, set: { value } }).run();
  }

  /** Returns the open refunds whose claim links a version made. */
  function openClaims(version: number, nowS: number) {
    const isOpen = and(
      inArray(refunds.status, ['pending', 'processing']),
      isNotNull(refunds.claimHash),
      gte(refunds.claimUntilS, nowS),
    );
    const { id, claimHash, claimUntilS } = refunds;
    const rows = db.orm.select({ id, claimHash, claimUntilS }).from(refunds).where(isOpen).all();
    return rows.filter((row) => claimTokens.find(row.id, row.claimHash ?? '')?.version === version);
  }

  return {
    async secretKeyState() {
      return db.read(() => {
        const current = keys.current();
        const since = readSince(current);
        return {
          current,
          sinceMs: since?.since_ms ?? null,
          isFinished: since === null || since.resealed_at_ms !== null,
        };
      });
    },
    async secretKeyUse() {
      return db.read(() => tables.flatMap((table) => countVersions(db, table)));
    },
    async secretKeyLinks(version, nowMs) {
      return db.read(() => {
        const claims = openClaims(version, Math.floor(nowMs / 1000));
        const ends = claims.flatMap(({ claimUntilS }) => claimUntilS ?? []);
        return {
          claims: claims.length,
          claimsUntilMs: ends.length > 0 ? Math.max(...ends) * 1000 : null,
          pagesUntilMs: pagesUntilMs(db, version, readSince, keys.current()),
        };
      });
    },
    async useSecretKey(version, act) {
      await db.write(() => {
        const before = keys.current();
        if (before === version) return;
        sealProbe(db, keys, version);
        writeSince(version, { since_ms: act.atMs, resealed_at_ms: null });
        recordAct(act, { target: `version ${version}`, before: { current: before }, after: { current: version } });
      });
    },
    async resealRows(place) {
      const { kind, after } = place ?? { kind: 0, after: null };
      const table = tables[kind] as SealedTable;
      return db.write((): ResealStep => {
        const { outcomes, last } = table.reseal(after, RESEAL_ROWS);
        const isWhole = outcomes.length < RESEAL_ROWS;
        const isLast = isWhole && kind === tables.length - 1;
        return {
          what: table.what,
          looked: outcomes.length,
          resealed: outcomes.filter((outcome) => outcome === 'resealed').length,
          kept: outcomes.flatMap((outcome) => (typeof outcome === 'object' ? outcome.kept : [])),
          refused: outcomes.filter((outcome) => outcome === 'refused').length,
          next: isLast ? null : isWhole ? { kind: kind + 1, after: null } : { kind, after: last },
        };
      });
    },
    async finishReseal(nowMs) {
      await db.write(() => {
        const version = keys.current();
        const since = readSince(version);
        if (since?.resealed_at_ms === null) writeSince(version, { ...since, resealed_at_ms: nowMs });
      });
    },
    async replaceClaimLinks(version, act) {
      const nowS = Math.floor(act.atMs / 1000);
      const replaceSlice = (): number => {
        const slice = openClaims(version, nowS).slice(0, RESEAL_ROWS);
        for (const { id } of slice)
          db.orm
            .update(refunds)
            .set({ claimHash: claimTokens.newHash(id) })
            .where(eq(refunds.id, id))
            .run();
        if (slice.length > 0)
          recordAct(act, { target: `version ${version}`, before: { claim_links: slice.length }, after: null });
        return slice.length;
      };
      for (let replaced = 0; ; ) {
        const count = await db.write(replaceSlice);
        replaced += count;
        if (count < RESEAL_ROWS) return replaced;
      }
    },
  };
}

function countVersions({ client }: Db, { what, table, columns, where }: SealedTable): SecretKeyUse[] {
  const found = new Map<number | null, number>();
  for (const { name, text } of columns) {
    // A secret that may be missing is none; a MAC that is missing is one that nobody made.
    const isThere = name === 'mac' && table !== 'refunds' ? '1' : `${text} IS NOT NULL`;
    const rows = client
      .prepare(
        `SELECT substr(${text}, 1, instr(${text}, '.')) AS prefix, count(*) AS rows FROM ${table}
         WHERE ${isThere} AND ${where ?? '1'} GROUP BY prefix`,
      )
      .all() as { prefix: string | null; rows: number }[];
    for (const { prefix, rows: count } of rows) {
      const version = versionOf(prefix);
      found.set(version, (found.get(version) ?? 0) + count);
    }
  }
  return [...found].map(([version, rows]) => ({ what, version, rows }));
}

/** Returns until when somebody who paid before the next version became current may leave a refund address. */
function pagesUntilMs(
  db: Db,
  version: number,
  readSince: (version: number) => Since | null,
  current: number,
): number | null {
  const later = Array.from({ length: current - version }, (_, at) => readSince(version + 1 + at));
  const endedMs = later.find((since) => since !== null)?.since_ms;
  if (endedMs === undefined) return null;
  const hasSession = db.client.prepare('SELECT 1 FROM sessions WHERE created_at_ms <= ? LIMIT 1').get(endedMs);
  if (!hasSession) return null;
  const longest = sql<number | null>`max(${stores.refundWindowS})`;
  const windowS = db.orm.select({ longest }).from(stores).get()?.longest ?? 0;
  return endedMs + windowS * 1000;
}
