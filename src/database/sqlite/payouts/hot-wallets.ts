/**
 * The refund and gas wallets: what they hold, which of them pays, and moves from a former one to a later one.
 * @module
 */
import { and, asc, eq, sql } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import type { Asset } from '../../../core/ledger.ts';
import type { MoneyOutDatabase, WalletBalance } from '../../money-out.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { RecordAct } from '../audit-log.ts';
import { writeIntent } from '../column-types.ts';
import type { Db } from '../open.ts';
import { atFirstUse, laterValues } from '../prepared.ts';
import { walletBalances } from '../tables.ts';
import { PROGRAM } from './freezes.ts';
import type { Payouts } from './payouts.ts';

type Parts = Readonly<{
  steps: Payouts;
  raiseAlarm: RaiseAlarm;
  recordAct: RecordAct;
  formatAddress(network: WalletBalance['network'], key: string): string;
}>;

type HotWalletCommands = Pick<MoneyOutDatabase, 'recordBalance' | 'listBalances' | 'recordRotations' | 'planMoves'>;

export function hotWalletCommands({ orm, read, write }: Db, parts: Parts): HotWalletCommands {
  const { steps, raiseAlarm, recordAct, formatAddress } = parts;
  const isOfRole = and(
    eq(walletBalances.network, sql.placeholder('network')),
    eq(walletBalances.role, sql.placeholder('role')),
    eq(walletBalances.isFormer, sql`0`),
  );
  const paying = atFirstUse(orm.select().from(walletBalances).where(isOfRole));
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

  /** Records that another wallet pays than before. Whoever can change the signer's policy has decided it. */
  function follow(before: string, { network, role, key, readAtMs: atMs }: Omit<WalletBalance, 'units'>): void {
    orm
      .update(walletBalances)
      .set({ isFormer: true, low: [] })
      .where(and(eq(walletBalances.network, network), eq(walletBalances.role, role), eq(walletBalances.key, before)))
      .run();
    const act = {
      atMs,
      operator: PROGRAM,
      command: 'wallet rotate',
      reason: "the signer's policy names another wallet",
    };
    recordAct(act, { target: `${network} ${role}`, before: { wallet: before }, after: { wallet: key } });
    const [from, to] = [before, key].map((one) => formatAddress(network, one));
    const message =
      `The ${role} wallet of ${network} is now ${to}; before, it was ${from}. Send it what it needs. ` +
      `\`quayside wallet empty ${role} ${network}\` moves what the former one holds to it. If nobody here ordered that, ` +
      'somebody has changed the policy of the signer: run `quayside payouts freeze --because …`.';
    raiseAlarm({ atMs, code: 'wallet_rotated', message, network, sessionId: null });
  }

  return {
    async recordBalance({ units, isFormer = false, ...balance }) {
      const texts = Object.fromEntries(Object.entries(units).map(([asset, value]) => [asset, value.toString()]));
      await write(() => {
        const before = isFormer ? undefined : paying.get({ network: balance.network, role: balance.role })?.key;
        if (before !== undefined && before !== balance.key) follow(before, balance);
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
    async recordRotations(rotations, act) {
      await write(() => {
        for (const { network, role, before, after } of rotations)
          recordAct(act, { target: `${network} ${role}`, before: { index: before }, after: { index: after } });
      });
    },
    async planMoves(intents, act) {
      await write(() => {
        for (const intent of intents) {
          const input = { intent, sessionId: null, servesId: null, notBeforeMs: act.atMs, nowMs: act.atMs };
          invariant(steps.plan(input).kind === 'planned', `move ${intent.id} is new`);
          recordAct(act, { target: intent.id, before: null, after: JSON.parse(writeIntent(intent)) });
        }
      });
    },
  };
}
