/**
 * Freezes of money out, on one network or on all. During a freeze no payout there is allotted, signed or broadcast.
 * Transactions that were signed before are watched to their end.
 */

import { and, eq, inArray, sql } from 'drizzle-orm';
import type { Unexplained } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { type OperatorAct, recordAct } from '../audit-log.ts';
import { mapInOrder } from '../engine/bodies.ts';
import type { Db } from '../engine/open.ts';
import { changeRows, deleteRows, findRow, findRows } from '../engine/rows.ts';
import { ledgerOf } from '../ledger.ts';
import { lockNetwork } from '../networks.ts';
import { outgoingTransfers, payoutFreezes, walletBooks } from '../tables.ts';

/** A freeze. `network` is null for a freeze of every network. A network has at most one freeze of each code. */
export type Freeze = Omit<FreezeRow, 'network'> & Readonly<{ network: NetworkKey | null }>;

/** The code of an operator's freeze. */
export const FROZEN_BY_OPERATOR = 'payouts_frozen';
/** The code of the freeze for transfers that nothing explains. Its end acknowledges them. */
export const OUTFLOW_FOREIGN = 'wallet_outflow_foreign';
/** The code of the freeze for blocks that were read before our own wallets were known. */
export const WALLETS_UNKNOWN = 'wallets_unknown';
/** The code of the freeze that every restore begins. */
export const RESTORED = 'restored_from_backup';
/** The code of the freeze for a wallet whose nonces were used by unknown transactions. */
export const NONCE_FOREIGN = 'payout_nonce_foreign';
/** The code of the freeze for skipped blocks, which may contain unknown payments. */
export const BLOCKS_UNSEARCHED = 'blocks_unsearched';
/** The code of the freeze for wallets with less native coin than the books say. */
export const BALANCE_SHORT = 'wallet_balance_short';

/** The program's name in the audit log, for its own freezes. */
export const PROGRAM = 'quayside';
/** The table's value for every network. */
const EVERYWHERE = '' as const;

/** Returns whether the program froze money out by itself. A person must look at the cause before ending the freeze. */
export const isAutomatic = ({ code }: Pick<Freeze, 'code'>): boolean =>
  code !== FROZEN_BY_OPERATOR && code !== RESTORED;

/** Returns whether only `payout reconcile` ends a freeze. */
export const needsReconcile = ({ network, code }: Pick<Freeze, 'network' | 'code'>): boolean =>
  network !== null && isAutomatic({ code });

/** Returns the command that ends a freeze. */
export const endOf = ({ network, code }: Pick<Freeze, 'network' | 'code'>): string =>
  needsReconcile({ network, code })
    ? `\`quayside payout reconcile ${network} --reason …\``
    : `\`quayside payout thaw${network === null ? '' : ` ${network}`} --reason …\``;

/** Facts that an operator saw before a thaw: the freezes, and the ids of unexplained transfers. */
export type SeenFreezes = Readonly<{ freezes: readonly Freeze[]; transfers: readonly number[] }>;

type FreezeRow = typeof payoutFreezes.$inferSelect;
type OutgoingRow = typeof outgoingTransfers.$inferSelect;

const IN_ORDER = 'ORDER BY network, since_ms, code';

const toFreeze = ({ network, ...row }: FreezeRow): Freeze => ({
  ...row,
  network: network === EVERYWHERE ? null : network,
});
const audited = ({ code, reason, frozenBy, sinceMs }: Freeze) => ({ code, reason, frozenBy, sinceMs });
const nameOf = (network: NetworkKey | null): string => network ?? 'every network';

// Call these within a transaction.

/**
 * @param act the operator's command; null if the program freezes by itself @returns false when it was frozen before for
 * the same cause
 */
async function freeze(db: Db, one: Freeze, act: OperatorAct | null): Promise<boolean> {
  const insert = db.client.prepare(
    `INSERT INTO payout_freezes (network, code, reason, frozen_by, since_ms)
     VALUES (:network, :code, :reason, :frozenBy, :sinceMs) ON CONFLICT (network, code) DO NOTHING`,
  );
  const isNew = (await insert.run({ ...one, network: one.network ?? EVERYWHERE })).changes > 0;
  if (isNew && act) await recordAct(db, act, { target: nameOf(one.network), before: null, after: audited(one) });
  return isNew;
}

/** A cause for which the program freezes a network. */
export type FreezeCause = Readonly<{ network: NetworkKey; code: string; reason: string; nowMs: number }>;

/** Freezes a network. @returns false when it was frozen before for the same cause */
export function freezeByProgram(db: Db, { network, code, reason, nowMs }: FreezeCause): Promise<boolean> {
  const act = { atMs: nowMs, operator: PROGRAM, command: 'payout freeze', reason };
  return freeze(db, { network, code, reason, frozenBy: PROGRAM, sinceMs: nowMs }, act);
}

/**
 * Freezes for a cause that may come again. An open freeze gets a new time and the new cause, which nobody has seen yet.
 */
export async function freezeAgain(db: Db, cause: FreezeCause): Promise<void> {
  if (await freezeByProgram(db, cause)) return;
  const { network, code, reason, nowMs: sinceMs } = cause;
  const known = await findRow(db, payoutFreezes, { network, code });
  await changeRows(db, payoutFreezes, { network, code }, { reason: `${known?.reason}; ${reason}`, sinceMs });
}

/** Returns the freezes that apply to a network, those of every network first. */
export async function freezesOf(db: Db, network: NetworkKey): Promise<readonly Freeze[]> {
  const applying = `WHERE network = '' OR network = :network ${IN_ORDER}`;
  return (await findRows(db, payoutFreezes, applying, { network })).map(toFreeze);
}

/** SQL condition of transfers out of our wallets that no attempt explains. */
export const IS_UNEXPLAINED = 'NOT EXISTS (SELECT 1 FROM payout_attempts AS a WHERE a.tx = outgoing_transfers.tx)';

export function holdCommands(db: Db) {
  /** Deletes a freeze if it is still the one that was shown. */
  async function end(freeze: Freeze): Promise<boolean> {
    const { network, code, sinceMs } = freeze;
    return (await deleteRows(db, payoutFreezes, { network: network ?? EVERYWHERE, code, sinceMs })) > 0;
  }

  /** Ends a freeze if it is unchanged, and every unexplained transfer of its network was shown. */
  async function thaw(freeze: Freeze, transfers: readonly number[], own: OperatorAct) {
    const { network, code } = freeze;
    const seen = network && code === OUTFLOW_FOREIGN ? await acknowledge(db, network, transfers) : [];
    const isEnded = !(network && code === OUTFLOW_FOREIGN && (await isMoreForeign(db, network))) && (await end(freeze));
    const missing = network && code === BALANCE_SHORT && isEnded ? await takeMissing(db, network) : [];
    const before = { ...audited(freeze), ...(seen.length > 0 && { transactions: seen.map(({ tx }) => tx).join(' ') }) };
    if (isEnded || seen.length > 0)
      await recordAct(db, own, { target: nameOf(network), before, after: isEnded ? null : audited(freeze) });
    const moved = [...seen.map(({ currency, units }) => ({ asset: currency, units })), ...missing];
    return { freeze, isEnded, moved };
  }

  return {
    /**
     * Freezes money out. An existing freeze of the same scope and code keeps its reason and time. Freezes with other
     * codes continue beside it.
     * @param act the operator's command; null if the program freezes by itself @returns false when it was frozen before
     */
    async freeze(one: Freeze, act: OperatorAct | null): Promise<boolean> {
      return db.write(async () => {
        await lockNetwork(db, one.network);
        return freeze(db, one, act);
      });
    },
    /**
     * Ends freezes that a person has looked at, and acknowledges their transfers. A freeze that has begun since
     * continues, as does one whose transfers were not all shown.
     * @returns the ended freezes
     */
    async thaw({ freezes, transfers }: SeenFreezes, act: OperatorAct): Promise<readonly Freeze[]> {
      return db.write(async () => {
        await lockNetwork(db, freezes.length === 1 ? (freezes[0]?.network ?? null) : null);
        const thawed = await mapInOrder(freezes, (one) => thaw(one, transfers, act));
        for (const network of new Set(freezes.flatMap((one) => one.network ?? []))) {
          const moved = thawed.flatMap((one) => (one.freeze.network === network ? one.moved : []));
          await ledgerOf(db).adjust(network, moved, act.reason ?? '', act.atMs);
        }
        return thawed.flatMap(({ freeze, isEnded }) => (isEnded ? [freeze] : []));
      });
    },
    /** Returns a freeze that applies to a network, preferring one of every network; null if there is none. */
    async find(network: NetworkKey): Promise<Freeze | null> {
      return db.read(async () => (await freezesOf(db, network))[0] ?? null);
    },
    /** Returns all freezes, those of every network first. */
    async list(): Promise<readonly Freeze[]> {
      return db.read(async () => (await findRows(db, payoutFreezes, IN_ORDER)).map(toFreeze));
    },
  };
}

const isForeignOf = (network: NetworkKey) =>
  and(eq(outgoingTransfers.network, network), eq(outgoingTransfers.state, 'foreign'));

/**
 * Deletes transfers that attempts explain by now, and marks the rest as known. A refund that equals a known transfer
 * waits for a person.
 * @returns the transfers that were shown
 */
async function acknowledge({ orm }: Db, network: NetworkKey, transfers: readonly number[]): Promise<OutgoingRow[]> {
  const isExplained = and(isForeignOf(network), sql.raw(`NOT ${IS_UNEXPLAINED}`));
  await orm.delete(outgoingTransfers).where(isExplained).run();
  const isShown = and(isForeignOf(network), inArray(outgoingTransfers.id, [...transfers]));
  return orm.update(outgoingTransfers).set({ state: 'known' }).where(isShown).returning().all();
}

const isMoreForeign = async (db: Db, network: NetworkKey): Promise<boolean> =>
  (await findRow(db, outgoingTransfers, { network, state: 'foreign' })) !== undefined;

/** Removes missing native coin of a network from its books, once the operator has explained it. */
async function takeMissing(db: Db, network: NetworkKey): Promise<Unexplained[]> {
  const { missingUnits = 0n } = (await findRow(db, walletBooks, { network })) ?? {};
  if (missingUnits === 0n) return [];
  await changeRows(db, walletBooks, { network }, { missingUnits: 0n });
  return [{ asset: 'native', units: missingUnits }];
}
