/**
 * The refund and gas wallets: what they hold, and which of them pays.
 */
import { and, asc, eq, ne, sql } from 'drizzle-orm';
import type { Asset } from '../../core/ledger.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse, laterValues } from '../engine/prepared.ts';
import type { MoneyOutDatabase } from '../money-out.ts';
import { walletBalances } from '../tables.ts';

type HotWalletCommands = Pick<MoneyOutDatabase, 'recordBalance' | 'listBalances'>;

export function hotWalletCommands({ orm, read, write }: Db): HotWalletCommands {
  const isOfRole = and(
    eq(walletBalances.network, sql.placeholder('network')),
    eq(walletBalances.role, sql.placeholder('role')),
    eq(walletBalances.isFormer, sql`0`),
  );
  const retire = atFirstUse(
    orm
      .update(walletBalances)
      .set({ isFormer: true, low: [] })
      .where(and(isOfRole, ne(walletBalances.key, sql.placeholder('key')))),
  );
  const save = atFirstUse(
    orm
      .insert(walletBalances)
      .values({
        network: sql.placeholder('network'),
        role: sql.placeholder('role'),
        key: sql.placeholder('key'),
        isFormer: sql.placeholder('isFormer'),
        units: sql.placeholder('units'),
        low: sql.placeholder('low'),
        readAtMs: sql.placeholder('readAtMs'),
      })
      .onConflictDoUpdate({
        target: [walletBalances.network, walletBalances.role, walletBalances.key],
        set: laterValues(walletBalances, ['isFormer', 'units', 'low', 'readAtMs']),
      }),
  );

  return {
    async recordBalance({ units, isFormer = false, ...balance }) {
      const texts = Object.fromEntries(Object.entries(units).map(([asset, value]) => [asset, value.toString()]));
      await write(() => {
        const { network, role, key } = balance;
        if (!isFormer) retire.run({ network, role, key });
        save.run({ ...balance, isFormer: isFormer ? 1 : 0, units: texts });
      });
    },
    async listBalances() {
      const { network, role, isFormer, readAtMs } = walletBalances;
      const all = orm.select().from(walletBalances).orderBy(asc(network), asc(role), asc(isFormer), asc(readAtMs));
      return read(() => all.all()).map(({ units, ...balance }) => ({
        ...balance,
        units: Object.fromEntries(Object.entries(units).map(([asset, text]) => [asset, BigInt(text ?? 0)])) as Partial<
          Record<Asset, bigint>
        >,
      }));
    },
  };
}
