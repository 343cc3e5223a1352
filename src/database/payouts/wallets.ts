/**
 * The refund and gas wallets: what they hold, and whether that is what the ledger expects.
 */
import { eq } from 'drizzle-orm';
import type { HotRole } from '../../core/intent.ts';
import type { Asset } from '../../core/ledger.ts';
import { freezeTexts } from '../../core/reasons.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { readBook } from '../../core/wallet-books.ts';
import { readIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import { createMeta } from '../meta.ts';
import { createNetworkLock } from '../networks.ts';
import { walletBooks } from '../tables.ts';
import type { FormatAmount } from '../text-formats.ts';
import { BALANCE_SHORT, type Freezer } from './holds.ts';

/** Balances of the paying wallet of a role, in base units; `low` lists the assets that it needs more of. */
export type WalletBalance = Readonly<{
  network: NetworkKey;
  role: HotRole;
  key: string;
  units: Readonly<Partial<Record<Asset, bigint>>>;
  low: readonly Asset[];
  readAtMs: number;
}>;

type Reading = Readonly<{
  network: NetworkKey;
  /** Native coin of the refund and the gas wallet together, in base units. */
  heldUnits: bigint;
  /**
   * The most that a transaction may cost by the signer's policy, in base units of the native coin, for attempts of
   * which no limit is known here. Absent, nothing is compared while there are such attempts.
   */
  feeUnitsMax?: bigint | undefined;
  nowMs: number;
}>;

/** A balance as `meta` has it, by network and role. */
const BALANCE = 'balance';
type KeptBalance = Omit<WalletBalance, 'units'> & Readonly<{ units: Readonly<Record<string, string>> }>;

type Parts = Readonly<{ freezer: Freezer; formatAmount: FormatAmount }>;

/** Wallet balances; a part of the repository `wallets`. */
export function walletCommands(db: Db, { freezer, formatAmount }: Parts) {
  const { orm, read, write } = db;
  const meta = createMeta(db);
  const lock = createNetworkLock(db);
  const reader = createBookReader(db);

  async function compare({ network, heldUnits, feeUnitsMax, nowMs }: Reading): Promise<void> {
    const openUnits = await reader.underWay(network, feeUnitsMax);
    if (openUnits === null) return;
    const { network: of } = walletBooks;
    const row = (await orm.select().from(walletBooks).where(eq(of, network)).get()) ?? null;
    const spentUnits = row ? await reader.spentSince(network, row.ledgerSeq) : 0n;
    const { book, missingUnits: more } = readBook(row, { heldUnits, spentUnits, openUnits, nowMs });
    const missingUnits = (row?.missingUnits ?? 0n) + more;
    const next = { network, ledgerSeq: await reader.newestEntry(network), ...book, missingUnits };
    if (row) await orm.update(walletBooks).set(next).where(eq(of, network)).run();
    else await orm.insert(walletBooks).values(next).run();
    if (more === 0n) return;
    const text = (units: bigint) => formatAmount(network, 'native', units);
    const why = freezeTexts[BALANCE_SHORT]({ network, held: text(heldUnits), lacking: text(more) });
    await freezer.byProgram(network, BALANCE_SHORT, why, nowMs);
    await freezer.alarm(network, BALANCE_SHORT, why, nowMs);
  }

  return {
    /** Saves what the paying wallet of a role holds. */
    async recordBalance({ units, ...balance }: WalletBalance): Promise<void> {
      const texts = Object.fromEntries(Object.entries(units).map(([asset, value]) => [asset, value.toString()]));
      const kept: KeptBalance = { ...balance, units: texts };
      await write(() => meta.writeData(`${BALANCE} ${balance.network} ${balance.role}`, kept));
    },
    async balances(): Promise<readonly WalletBalance[]> {
      const toUnits = (texts: KeptBalance['units']): WalletBalance['units'] =>
        Object.fromEntries(Object.entries(texts).map(([asset, text]) => [asset, BigInt(text)]));
      const all = await read(() => meta.listData<KeptBalance>(BALANCE));
      return all.map((balance) => ({ ...balance, units: toUnits(balance.units) }));
    },
    /**
     * Compares the native coin that the refund and gas wallets of a network hold together with what the ledger expects
     * since the last comparison. If some of it has been missing for minutes, money out is frozen on the network, with
     * an alarm. Tokens are watched transfer by transfer.
     */
    async compareBooks(reading: Reading): Promise<void> {
      await write(async () => {
        await lock.take(reading.network);
        await compare(reading);
      });
    },
  };
}

/** Native coin that left the wallets by the ledger after an entry. */
const spentQuery = `
  SELECT p.units FROM ledger_postings AS p JOIN ledger_entries AS e ON e.network = p.network AND e.seq = p.seq
  WHERE p.network = :network AND p.seq > :ledgerSeq AND p.asset = 'native' AND p.account = 'hot'
    AND e.kind <> 'adjustment'`;
/** Payouts that may have been mined and are not booked, and what their attempts may cost the wallets. */
const openQuery = `
  SELECT p.intent, a.payer_role AS role, a.fee_units_max AS fee
  FROM payouts AS p JOIN payout_attempts AS a ON a.payout_id = p.id AND a.generation = p.generation
  WHERE p.network = :network AND p.state IN ('sent', 'stuck') AND a.attempt = (
    SELECT max(b.attempt) FROM payout_attempts AS b WHERE b.payout_id = p.id AND b.generation = p.generation)`;
type OpenRow = Readonly<{ intent: string; role: string; fee: string }>;

/** To be called within a transaction. */
function createBookReader({ client }: Db) {
  const spent = client.prepare(spentQuery).pluck();
  const open = client.prepare(openQuery);
  const newest = client.prepare('SELECT coalesce(max(seq), 0) FROM ledger_entries WHERE network = ?').pluck();

  /** Returns what an open payout may take of the native coin; null if that is not known. */
  function takenBy({ intent: text, role, fee }: OpenRow, feeUnitsMax: bigint | undefined): bigint | null {
    if (role === 'collection') return 0n;
    const intent = readIntent(text);
    const given = intent.kind === 'gas' && intent.form === 'transfer' ? intent.units : 0n;
    // An attempt adopted from the signer's journal has no limit here: the signer's policy has one.
    const feeMax = fee === '0' ? feeUnitsMax : BigInt(fee);
    return feeMax === undefined ? null : feeMax + given;
  }

  return {
    newestEntry: async (network: NetworkKey): Promise<number> => Number(await newest.get(network)),
    spentSince: async (network: NetworkKey, ledgerSeq: number): Promise<bigint> =>
      ((await spent.all({ network, ledgerSeq })) as string[]).reduce((sum, units) => sum - BigInt(units), 0n),
    /** Returns what payouts under way may take; null if that is not known. */
    underWay: async (network: NetworkKey, feeUnitsMax: bigint | undefined): Promise<bigint | null> =>
      ((await open.all({ network })) as OpenRow[])
        .map((row) => takenBy(row, feeUnitsMax))
        .reduce((sum: bigint | null, units) => (sum === null || units === null ? null : sum + units), 0n),
  };
}
