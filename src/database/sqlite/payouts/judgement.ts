/**
 * What becomes of the transfers out of our own wallets once they are final.
 */
import { and, asc, desc, eq, lte, sql } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import type { PaybackIntent } from '../../../core/intent.ts';
import { type Claimant, explainOutgoing, type Meaning, type PaidTransfer } from '../../../core/outgoing.ts';
import type { NetworkKey } from '../../../core/transfer.ts';
import { OUTFLOW_FOREIGN } from '../../freezes.ts';
import type {
  OutgoingClaim,
  OutgoingDatabase,
  OutgoingRecord,
  OwnWallet,
  WalletBooksDatabase,
} from '../../outgoing.ts';
import type { RaiseAlarm } from '../alarms.ts';
import type { NetworkRows } from '../networks.ts';
import type { Db } from '../open.ts';
import { atFirstUse } from '../prepared.ts';
import type { RowGuard } from '../row-guard.ts';
import { outgoingTransfers, ownWallets, payoutAttempts, payouts } from '../tables.ts';
import type { FormatAddress, FormatAmount } from '../text-formats.ts';
import { createFinalTransfers } from './final-transfers.ts';
import { type Freezer, type OutflowFreeze, PROGRAM, ROW_ALTERED } from './freezes.ts';
import { createOutgoingCheck, foreignText, macedOutgoing, macedWallet } from './outgoing.ts';
import type { PayoutSettlement, Payouts } from './payouts.ts';
import { type PayoutRow, toPayout } from './rows.ts';
import { createBookReducer } from './wallet-books.ts';

/** Transfers of the treasury that are kept. Its owner may be an exchange, with any number of them. */
const RECORDED_MAX = 1_000;

type OutgoingRow = typeof outgoingTransfers.$inferSelect;

type Parts = Readonly<{
  guard: RowGuard;
  steps: Payouts;
  networks: NetworkRows;
  freeze: Freezer;
  outflowFreeze: OutflowFreeze;
  settlement: PayoutSettlement;
  raiseAlarm: RaiseAlarm;
  /** Returns whether a refund that has no payout yet is to pay exactly this. */
  isPromised(paid: Pick<PaybackIntent, 'network' | 'currency' | 'to' | 'units'>): boolean;
  /** Returns whether it is a deposit address that this database knows. */
  isDeposit(network: NetworkKey, key: string): boolean;
  formatAddress: FormatAddress;
  formatAmount: FormatAmount;
}>;

export function outgoingCommands(db: Db, parts: Parts): Omit<OutgoingDatabase, keyof WalletBooksDatabase> {
  const { orm } = db;
  const { guard, steps, networks, settlement, outflowFreeze } = parts;
  const check = createOutgoingCheck(guard);
  const explain = createExplanation(db, parts, check);
  const expectLess = createBookReducer(db);
  const attempted = atFirstUse(
    orm
      .select()
      .from(payoutAttempts)
      .where(eq(payoutAttempts.tx, sql.placeholder('tx'))),
  );
  const meaningOf = (row: OutgoingRow): Meaning =>
    explain(toRecord(row), attempted.get({ tx: row.tx })?.payoutId ?? null);

  /**
   * Enters the fee of a generation that has failed and was adopted from the signer's journal, which does not tell fees:
   * nobody asks for it, because the payout goes on with the newest. What a wallet sends to itself is a fee that moved
   * nothing.
   */
  function chargeFailed({ tx, currency, fromKey, toKey, units }: OutgoingRow, nowMs: number): void {
    const attempt = currency === 'native' && fromKey === toKey ? attempted.get({ tx }) : undefined;
    const payout = attempt && steps.find(attempt.payoutId);
    if (!payout || attempt.generation >= payout.generation) return;
    settlement.charge({ ...payout, generation: attempt.generation }, { tx, feeUnits: units }, nowMs);
  }

  const { network: ofNetwork, state: judgedState } = outgoingTransfers;
  const finalOf = createFinalTransfers(db, networks);
  const foreign = atFirstUse(
    orm
      .select()
      .from(outgoingTransfers)
      .where(and(eq(ofNetwork, sql.placeholder('network')), sql`${judgedState} = 'foreign'`))
      .orderBy(asc(outgoingTransfers.id))
      .limit(sql.placeholder('limit')),
  );
  function mark(row: OutgoingRow, state: OutgoingRow['state'] | null): void {
    const isRow = eq(outgoingTransfers.id, row.id);
    if (state === null) orm.delete(outgoingTransfers).where(isRow).run();
    else if (state !== row.state) {
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

  /** Once for each transfer, and again if its freeze is missing. */
  function freezeFor(row: OutgoingRow, nowMs: number): void {
    const { network } = row;
    const code = OUTFLOW_FOREIGN;
    const message = foreignText(row, parts);
    const reason = `transaction ${row.tx} moved money out of the ${row.role} wallet, and no payout explains it`;
    const act = { atMs: nowMs, operator: PROGRAM, command: 'payout freeze', reason };
    const isNew = parts.freeze({ network, code, reason, frozenBy: PROGRAM, sinceMs: nowMs }, act);
    if (row.state !== 'foreign' && row.currency === 'native') expectLess(network, row.units);
    if (isNew || row.state !== 'foreign') {
      parts.raiseAlarm({ atMs: nowMs, code, message, network, sessionId: null });
    }
  }

  /** What an altered row said is not known: whatever left the wallet may be unexplained. */
  function freezeForAltered({ network }: OutgoingRow, nowMs: number): void {
    const reason = 'the row of a transfer out of our own wallets was altered in the database';
    const act = { atMs: nowMs, operator: PROGRAM, command: 'payout freeze', reason };
    parts.freeze({ network, code: ROW_ALTERED, reason, frozenBy: PROGRAM, sinceMs: nowMs }, act);
  }

  /** Returns a transfer that may still be explained; null if its row was altered. */
  function findUnjudged(id: number): OutgoingRow | null {
    const row = orm.select().from(outgoingTransfers).where(eq(outgoingTransfers.id, id)).get();
    return row && (row.state === 'open' || row.state === 'foreign') && check.isOutgoing(row) ? row : null;
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
      const isIdle = () => finalOf(network).rows.length === 0 && !outflowFreeze.isOver(network);
      if (db.read(isIdle)) return [];
      return db.write(() => {
        const claims: OutgoingClaim[] = [];
        const { rows, goOn } = finalOf(network);
        goOn();
        for (const row of rows) {
          if (!check.isOutgoing(row)) {
            freezeForAltered(row, nowMs);
            continue;
          }
          const meaning = meaningOf(row);
          if (meaning.kind === 'ours') {
            chargeFailed(row, nowMs);
            mark(row, null);
          } else if (meaning.kind === 'recorded') mark(row, 'recorded');
          else if (meaning.kind === 'foreign') {
            freezeFor(row, nowMs);
            mark(row, 'foreign');
          } else if (meaning.kind === 'pays')
            claims.push({ transfer: toRecord(row), payout: toPayout(existing(steps, meaning.payoutId)) });
        }
        forgetRecorded(network);
        outflowFreeze.endIfOver(network, nowMs);
        return withoutRepeats(claims);
      });
    },
    async settleByTransfer({ transferId, payoutId, paid, nowMs }) {
      return db.write(() => {
        const row = findUnjudged(transferId);
        if (!row) return false;
        const meaning = meaningOf(row);
        if (meaning.kind !== 'pays' || meaning.payoutId !== payoutId) return false;
        const { tx, fromKey: payer } = row;
        const learned = { tx, payer, payerRole: 'refund', nonce: paid.nonce, feeUnits: paid.feeUnits } as const;
        settlement.succeedLearned(existing(steps, payoutId), learned, nowMs);
        mark(row, null);
        return true;
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

function existing(steps: Payouts, id: string): PayoutRow {
  const row = steps.find(id);
  invariant(row, `payout ${id} exists`);
  return row;
}

/** One refund is settled by one transfer: the others are judged again afterwards. */
function withoutRepeats(claims: readonly OutgoingClaim[]): OutgoingClaim[] {
  return claims.filter(({ payout }, at) => claims.findIndex((one) => one.payout.id === payout.id) === at);
}

/**
 * Returns a function that says what a transfer means. A refund that is not
 * processing yet may explain a transfer, too.
 */
function createExplanation(
  { orm }: Db,
  { steps, isPromised, isDeposit }: Pick<Parts, 'steps' | 'isPromised' | 'isDeposit'>,
  check: ReturnType<typeof createOutgoingCheck>,
) {
  const ownWallet = atFirstUse(
    orm
      .select()
      .from(ownWallets)
      .where(
        and(
          eq(ownWallets.network, sql.placeholder('network')),
          eq(ownWallets.key, sql.placeholder('to')),
          sql`${ownWallets.role} <> 'treasury'`,
        ),
      ),
  );
  const openRefunds = atFirstUse(
    orm
      .select()
      .from(payouts)
      .where(
        and(
          eq(payouts.network, sql.placeholder('network')),
          sql`${payouts.intent} ->> '$.to' = ${sql.placeholder('to')}`,
          sql`${payouts.kind} IN ('refund', 'return')`,
          sql`${payouts.state} IN ('waiting', 'sent', 'stuck')`,
        ),
      ),
  );
  const explain = (transfer: PaidTransfer, attemptOf: string | null): Meaning => {
    const { network, to, currency, units } = transfer;
    const open = attemptOf === null && transfer.role === 'refund' ? openRefunds.all({ network, to }) : [];
    const claimants = open.map((row): Claimant => {
      const isSigned = row.state !== 'waiting' && steps.attempts(row).some(({ tx }) => tx !== null);
      return { payout: toPayout(row), isSigned };
    });
    const isRefund = transfer.role === 'refund' && currency !== 'native';
    const isPending = isRefund && isPromised({ network, to, currency, units });
    const isToOwn =
      ownWallet.all({ network, to }).some(check.isWallet) || (currency === 'native' && isDeposit(network, to));
    return explainOutgoing(transfer, attemptOf, claimants, isPending, isToOwn);
  };
  return explain;
}

const toRecord = ({ blockHash, position, fromKey, toKey, mac: _mac, ...row }: OutgoingRow): OutgoingRecord => ({
  ...row,
  block: blockHash,
  index: position,
  from: fromKey,
  to: toKey,
});
