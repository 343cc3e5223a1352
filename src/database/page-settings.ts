/**
 * Stores' settings of the payment page. A store without a row has the defaults.
 */

import { and, eq, sql } from 'drizzle-orm';
import type { AuditedState } from './column-values.ts';
import type { Db } from './engine/open.ts';
import { atFirstUse } from './engine/prepared.ts';
import { pageSettings, stores } from './tables.ts';

/** A store's logo; `hash` is the SHA-256 of its bytes, in hex. */
export type Logo = Readonly<{ type: 'png' | 'svg'; hash: string; bytes: Uint8Array }>;

/** How a store's payment page looks, and where it may be embedded. */
export type PageSettings = Readonly<{
  /** `#rrggbb` in lower case; null for the default colour. */
  accent: string | null;
  /** Origins whose pages may embed the payment page in a frame. */
  embedOrigins: readonly string[];
  logo: Omit<Logo, 'bytes'> | null;
  /** Where answers to receipts by mail go; null: payers cannot have one. */
  receiptsReplyTo: string | null;
}>;

/** Omitted settings stay as they are. */
export type PageSettingsChange = Partial<Omit<PageSettings, 'logo'>> & Readonly<{ logo?: Logo | null }>;

const unset: PageSettings = { accent: null, embedOrigins: [], logo: null, receiptsReplyTo: null };

export function pageSettingsCommands({ orm, read, write, describe }: Db) {
  const { accent, embedOrigins, logoType, logoHash, receiptsReplyTo } = pageSettings;
  const find = atFirstUse(
    orm
      .select({ accent, embedOrigins, logoType, logoHash, receiptsReplyTo })
      .from(pageSettings)
      .where(eq(pageSettings.storeId, sql.placeholder('storeId'))),
  );
  const audited = (row: ReturnType<typeof find.get>): AuditedState =>
    row
      ? {
          accent: row.accent,
          embedOrigins: row.embedOrigins.join(','),
          logoHash: row.logoHash,
          receiptsReplyTo: row.receiptsReplyTo,
        }
      : null;
  return {
    /** @returns false when there is no such store */
    async rename(id: string, name: string): Promise<boolean> {
      return write(() => {
        const before = orm.select({ name: stores.name }).from(stores).where(eq(stores.id, id)).get();
        if (!before) return false;
        orm.update(stores).set({ name }).where(eq(stores.id, id)).run();
        describe({ target: id, before, after: { name } });
        return true;
      });
    },
    async setPageSettings(storeId: string, change: PageSettingsChange): Promise<void> {
      const { logo, ...plain } = change;
      const columns = {
        ...plain,
        ...(logo !== undefined && {
          logo: logo === null ? null : Buffer.from(logo.bytes),
          logoType: logo?.type ?? null,
          logoHash: logo?.hash ?? null,
        }),
      };
      await write(() => {
        const before = audited(find.get({ storeId }));
        orm
          .insert(pageSettings)
          .values({ storeId, embedOrigins: [], ...columns })
          .onConflictDoUpdate({ target: pageSettings.storeId, set: { storeId, ...columns } })
          .run();
        describe({ target: storeId, before, after: audited(find.get({ storeId })) });
      });
    },
    /** Returns a store's page settings, or the defaults. */
    async findPageSettings(storeId: string): Promise<PageSettings> {
      const row = read(() => find.get({ storeId }));
      if (!row) return unset;
      const { logoType: type, logoHash: hash, ...plain } = row;
      return { ...plain, logo: type === null || hash === null ? null : { type, hash } };
    },
    /** Returns the logo with this hash; null when the store has another one, or none. */
    async findLogo(storeId: string, hash: string): Promise<Logo | null> {
      const row = read(() =>
        orm
          .select({ type: logoType, bytes: pageSettings.logo })
          .from(pageSettings)
          .where(and(eq(pageSettings.storeId, storeId), eq(logoHash, hash)))
          .get(),
      );
      return row?.type && row.bytes ? { type: row.type, hash, bytes: row.bytes } : null;
    },
  };
}
