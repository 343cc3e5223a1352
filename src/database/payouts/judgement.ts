/**
 * What becomes of the transfers out of our own wallets once they are final.
 */
import { and, asc, desc, eq, lte, sql } from 'drizzle-orm';
import { explainOutgoing } from '../../core/outgoing.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { Db } from '../engine/open.ts';
import { atFirstUse } from '../engine/prepared.ts';
import { OUTFLOW_FOREIGN } from '../freezes.ts';
import type { NetworkRows } from '../networks.ts';
import type { OutgoingDatabase, OutgoingRecord, OwnWallet, WalletBooksDatabase } from '../outgoing.ts';
import type { RowGuard } from '../row-macs.ts';
import { outgoingTransfers, ownWallets, payoutAttempts } from '../tables.ts';
import type { FormatAddress, FormatAmount } from '../text-formats.ts';
import { type Freezer, isUnexplained, ROW_ALTERED } from './freezes.ts';
import { createOutgoingCheck, foreignText, macedOutgoing, macedWallet } from './outgoing.ts';
import type { Payouts } from './payouts.ts';

/** Transfers of the treasury that are kept. Its owner may be an exchange, with any number of them. */
const RECORDED_MAX = 1_000;
/** Transfers that one transaction judges. */
const JUDGED_MAX = 100;

type OutgoingRow = typeof outgoingTransfers.$inferSelect;

type Parts = Readonly<{
  guard: RowGuard;
  steps: Pick<Payouts, 'find' | 'findEqual'>;
  networks: Pick<NetworkRows, 'find'>;
  freezer: Freezer;
  raiseAlarm: RaiseAlarm;
  formatAddress: FormatAddress;
  formatAmount: FormatAmount;
}>;

export function outgoingCommands(db: Db, parts: Parts): Omit<OutgoingDatabase, keyof WalletBooksDatabase> {
  const { orm } = db;
  const { guard, steps, networks, freezer } = parts;
  const check = createOutgoingCheck(guard);
  const { attempted, final, foreign } = judgementQueries(db);
  const finalOf = (network: NetworkKey) => final.all({ network, floor: networks.find(network)?.floor ?? 0 });

  function mark(row: OutgoingRow, state: OutgoingRow['state'] | null): void {
    const isRow = eq(outgoingTransfers.id, row.id);
    if (state === null) orm.delete(outgoingTransfers).where(isRow).run();
    else {
      const mac = guard.seal(macedOutgoing({ ...row, state }));
      orm.update(outgoingTransfers).set({ state, mac }).where(isRow).run();
    }
  }

  function forgetRecorded(network: NetworkKey): void {
    const { id, state, network: of } = outgoingTransfers;
    const isRecorded = and(eq(of, network), eq(state, 'recorded'));
    const all = orm.select({ id }).from(outgoingTransfers).where(isRecorded).orderBy(desc(id));
    const oldest = all.limit(1).offset(RECORDED_MAX).get();
    if (oldest) {
      orm
        .delete(outgoingTransfers)
        .where(and(isRecorded, lte(id, oldest.id)))
        .run();
    }
  }

  function judge(row: OutgoingRow, nowMs: number): void {
    const { network } = row;
    if (!check.isOutgoing(row)) {
      // What it said is not known: whatever left the wallet may be unexplained.
      const altered = 'the row of a transfer out of our own wallets was altered in the database';
      return void freezer.byProgram(network, ROW_ALTERED, altered, nowMs);
    }
    const meaning = explainOutgoing(row, attempted.get({ tx: row.tx }) !== undefined);
    mark(row, meaning === 'ours' ? null : meaning);
    if (meaning !== 'foreign') return;
    const reason = `transaction ${row.tx} moved money out of the ${row.role} wallet, and no payout explains it`;
    freezer.byProgram(network, OUTFLOW_FOREIGN, reason, nowMs);
    const message = foreignText(row, parts);
    parts.raiseAlarm({ atMs: nowMs, code: OUTFLOW_FOREIGN, message, network, sessionId: null });
  }

  const walletsOf = (network: NetworkKey) =>
    orm.select().from(ownWallets).where(eq(ownWallets.network, network)).orderBy(asc(ownWallets.id)).all();

  return {
    async recordOwnWallets(network, wallets) {
      const isSame = (one: Omit<OwnWallet, 'id'>) => (row: Omit<OwnWallet, 'id'>) =>
        row.role === one.role && row.key === one.key;
      const compare = () => {
        const rows = walletsOf(network);
        const known = rows.filter(check.isWallet);
        const altered = rows.filter((row) => !known.includes(row));
        const lacking = wallets.filter((one) => !known.some(isSame(one)));
        return { altered, lacking };
      };
      if (Object.values(db.read(compare)).every((rows) => rows.length === 0)) return;
      await db.write(() => {
        const { altered, lacking } = compare();
        for (const { id } of altered) orm.delete(ownWallets).where(eq(ownWallets.id, id)).run();
        for (const { role, key } of lacking) {
          const row = { network, role, key };
          orm
            .insert(ownWallets)
            .values({ ...row, mac: guard.seal(macedWallet(row)) })
            .run();
        }
      });
    },
    async listOwnWallets(network) {
      const intact = db.read(() => walletsOf(network)).filter(check.isWallet);
      return intact.map(({ id, role, key }) => ({ id, role, key }));
    },
    async judgeOutgoing(network, nowMs) {
      if (db.read(() => finalOf(network)).length === 0) return;
      await db.write(() => {
        for (const row of finalOf(network)) judge(row, nowMs);
        forgetRecorded(network);
      });
    },
    async listForeign(network, limit) {
      return db.read(() => foreign.all({ network, limit }).filter(check.isOutgoing).map(toRecord));
    },
    async findEqualTransfer(payoutId, afterId) {
      return db.read(() => {
        const row = steps.find(payoutId);
        return row ? steps.findEqual(afterId === undefined ? row : { ...row, notPaidThrough: afterId }) : null;
      });
    },
    async listOutgoing(network, limit) {
      const { id, network: of } = outgoingTransfers;
      const all = orm.select().from(outgoingTransfers).where(eq(of, network)).orderBy(desc(id)).limit(limit);
      return db.read(() => all.all().filter(check.isOutgoing).map(toRecord));
    },
  };
}

function judgementQueries({ orm }: Db) {
  const { network, state, blockNumber, id } = outgoingTransfers;
  const isOfNetwork = eq(network, sql.placeholder('network'));
  const attempted = atFirstUse(
    orm
      .select({ id: payoutAttempts.payoutId })
      .from(payoutAttempts)
      .where(eq(payoutAttempts.tx, sql.placeholder('tx'))),
  );
  const final = atFirstUse(
    orm
      .select()
      .from(outgoingTransfers)
      .where(and(isOfNetwork, sql`${state} = 'open'`, lte(blockNumber, sql.placeholder('floor'))))
      .orderBy(asc(blockNumber), asc(id))
      .limit(JUDGED_MAX),
  );
  const foreign = atFirstUse(
    orm
      .select()
      .from(outgoingTransfers)
      .where(and(isOfNetwork, sql`${state} = 'foreign'`, isUnexplained))
      .orderBy(asc(id))
      .limit(sql.placeholder('limit')),
  );
  return { attempted, final, foreign };
}

const toRecord = ({ blockHash, position, fromKey, toKey, mac: _mac, ...row }: OutgoingRow): OutgoingRecord => ({
  ...row,
  block: blockHash,
  index: position,
  from: fromKey,
  to: toKey,
});
