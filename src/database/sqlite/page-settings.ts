/**
 * Stores' settings of the payment page. A store without a row has the defaults.
 */

import { and, eq, sql } from 'drizzle-orm';
import type { AuditedState } from '../audit-log.ts';
import type { PageSettings } from '../page-settings.ts';
import type { Stores } from '../stores.ts';
import type { Db } from './open.ts';
import { atFirstUse } from './prepared.ts';
import { pageSettings, stores } from './tables.ts';

const unset: PageSettings = { accent: null, embedOrigins: [], logo: null, receiptsReplyTo: null };

export function pageSettingsCommands({
  orm,
  read,
  write,
  describe,
}: Db): Pick<Stores, 'rename' | 'setPageSettings' | 'findPageSettings' | 'findLogo'> {
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
    async rename(id, name) {
      return write(() => {
        const before = orm.select({ name: stores.name }).from(stores).where(eq(stores.id, id)).get();
        if (!before) return false;
        orm.update(stores).set({ name }).where(eq(stores.id, id)).run();
        describe({ target: id, before, after: { name } });
        return true;
      });
    },
    async setPageSettings(storeId, change) {
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
    async findPageSettings(storeId) {
      const row = read(() => find.get({ storeId }));
      if (!row) return unset;
      const { logoType: type, logoHash: hash, ...plain } = row;
      return { ...plain, logo: type === null || hash === null ? null : { type, hash } };
    },
    async findLogo(storeId, hash) {
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
