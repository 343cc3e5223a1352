/**
 * Freezes of money out, of one network or of all. While one holds, no payout there is allotted, signed or broadcast;
 * what is signed already is watched to its end.
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

/** `network` is null for a freeze of every network. Each has at most one freeze with the same code. */
export type Freeze = Omit<FreezeRow, 'network'> & Readonly<{ network: NetworkKey | null }>;

/** The code of a freeze that an operator began. */
export const FROZEN_BY_OPERATOR = 'payouts_frozen';
/** The code of a network's freeze for transfers that nothing explains: its end acknowledges them. */
export const OUTFLOW_FOREIGN = 'wallet_outflow_foreign';
/** Why a network is frozen whose blocks were read before our own wallets were known. */
export const WALLETS_UNKNOWN = 'wallets_unknown';
/** The code of the freeze with which a restore ends. */
export const RESTORED = 'restored_from_backup';
/** Why a network is frozen where a wallet has made transactions that are not known here. */
export const NONCE_FOREIGN = 'payout_nonce_foreign';
/** Why a network is frozen whose skipped blocks may hold payments that are not known here. */
export const BLOCKS_UNSEARCHED = 'blocks_unsearched';
/** Why a network is frozen whose wallets hold less native coin than the books say. */
export const BALANCE_SHORT = 'wallet_balance_short';

/** The name in the audit log under which the program freezes money out. */
export const PROGRAM = 'quayside';
/** Stands for every network in the table. */
const EVERYWHERE = '' as const;

/** Returns whether the program froze money out by itself: a person has to look at its cause before it is ended. */
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

/** Facts shown to an operator before a thaw: the freezes, and the ids of unexplained transfers. */
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

// To be called within a transaction.

/**
 * @param act the operator's command; null if the program froze it by itself
 * @returns false when it was frozen before for the same cause
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

/** Freezes for a cause that may come again: a person who saw the freeze before has not seen this. */
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

/** Judged transfers out of our wallets that no attempt explains. */
export const IS_UNEXPLAINED = 'NOT EXISTS (SELECT 1 FROM payout_attempts AS a WHERE a.tx = outgoing_transfers.tx)';

export function holdCommands(db: Db) {
  /** Deletes a freeze if it is still the one that was shown. */
  async function end(freeze: Freeze): Promise<boolean> {
    const { network, code, sinceMs } = freeze;
    return (await deleteRows(db, payoutFreezes, { network: network ?? EVERYWHERE, code, sinceMs })) > 0;
  }

  /** Ends a freeze if it is still that one, and nothing else left the wallets that was not shown. */
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
     * Freezes money out. An existing freeze of the same scope with the same code keeps its reason and time; one with
     * another code continues beside it.
     * @param act the operator's command; null if the program froze it by itself
     * @returns false when it was frozen before
     */
    async freeze(one: Freeze, act: OperatorAct | null): Promise<boolean> {
      return db.write(async () => {
        await lockNetwork(db, one.network);
        return freeze(db, one, act);
      });
    },
    /**
     * Ends freezes that a person has looked at, and acknowledges the transfers that caused one. Any other freeze
     * continues, also one that has begun since, or whose transfers were not all shown.
     * @returns those that were ended
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
    /** Returns a freeze that applies to a network, one of every network first; null when it pays. */
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
 * Forgets what attempts explain by now, and keeps the rest as known: a refund that equals it asks first.
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

/** Takes the native coin of a network that is missing, which the operator has explained. */
async function takeMissing(db: Db, network: NetworkKey): Promise<Unexplained[]> {
  const { missingUnits = 0n } = (await findRow(db, walletBooks, { network })) ?? {};
  if (missingUnits === 0n) return [];
  await changeRows(db, walletBooks, { network }, { missingUnits: 0n });
  return [{ asset: 'native', units: missingUnits }];
}
