/**
 * The comparison of the wallets' balances with the ledger.
 */
import { and, asc, eq, getTableColumns } from 'drizzle-orm';
import { isPayback } from '../../core/intent.ts';
import type { Asset } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { readBook } from '../../core/wallet-books.ts';
import type { RaiseAlarm } from '../alarms.ts';
import { readIntent } from '../engine/column-types.ts';
import type { Db } from '../engine/open.ts';
import type { WalletBooksDatabase } from '../outgoing.ts';
import { walletBooks } from '../tables.ts';
import type { FormatAmount } from '../text-formats.ts';
import { BALANCE_SHORT, type Freezer } from './freezes.ts';

type Sums = Map<Asset, bigint>;

const add = (sums: Sums, asset: Asset, units: bigint): void => void sums.set(asset, (sums.get(asset) ?? 0n) + units);

/** What left the wallets by the ledger after an entry: native coin is booked on `hot`, tokens on `refunded`. */
const spentQuery = `
  SELECT p.asset, p.units FROM ledger_postings AS p JOIN ledger_entries AS e ON e.id = p.entry_id
  WHERE p.entry_id > :ledgerId AND p.network = :network AND p.account IN ('hot', 'refunded')
    AND e.kind <> 'adjustment'`;
/** Payouts that may have been mined and are not booked, and what their attempts may cost the wallets. */
const openQuery = `
  SELECT p.intent, a.payer_role AS role, a.fee_units_max AS fee
  FROM payouts AS p JOIN payout_attempts AS a ON a.payout_id = p.id AND a.generation = p.generation
  WHERE p.network = :network AND p.state IN ('sent', 'stuck') AND a.attempt = (
    SELECT max(b.attempt) FROM payout_attempts AS b WHERE b.payout_id = p.id AND b.generation = p.generation)`;
type OpenRow = Readonly<{ intent: string; role: string; fee: string }>;

const bookOf = (network: NetworkKey, asset: Asset) =>
  and(eq(walletBooks.network, network), eq(walletBooks.asset, asset));

/**
 * Returns a function that expects less native coin in a network's wallets, in base units, because it was reported by
 * itself that so much has left them: that is not missing besides. To be called within a transaction.
 */
export const createBookReducer =
  ({ orm }: Db) =>
  (network: NetworkKey, goneUnits: bigint): void => {
    const isBook = bookOf(network, 'native');
    const { units = 0n } = orm.select().from(walletBooks).where(isBook).get() ?? {};
    const left = units > goneUnits ? units - goneUnits : 0n;
    orm.update(walletBooks).set({ units: left }).where(isBook).run();
  };

export function walletBookCommands(
  db: Db,
  {
    raiseAlarm,
    freezer,
    formatAmount,
  }: Readonly<{ raiseAlarm: RaiseAlarm; freezer: Freezer; formatAmount: FormatAmount }>,
): WalletBooksDatabase {
  const { orm, client } = db;
  const spent = client.prepare(spentQuery);
  const open = client.prepare(openQuery);
  const newestEntry = client.prepare('SELECT coalesce(max(id), 0) FROM ledger_entries').pluck();

  function spentSince(network: NetworkKey, ledgerId: number, asset: Asset): bigint {
    let sum = 0n;
    for (const row of spent.iterate({ network, ledgerId }) as IterableIterator<{ asset: Asset; units: string }>) {
      if (row.asset === asset) sum -= BigInt(row.units);
    }
    return sum;
  }

  /**
   * Returns what payouts under way may take; of native coin null if that is not known.
   * @param feeUnitsMax what one of which no limit is known may cost at most
   */
  function openUnits(
    network: NetworkKey,
    feeUnitsMax: bigint | undefined,
  ): Readonly<{ tokens: Sums; native: bigint | null }> {
    const tokens: Sums = new Map();
    let native: bigint | null = 0n;
    for (const { intent: text, role, fee } of open.all({ network }) as OpenRow[]) {
      const intent = readIntent(text);
      if (isPayback(intent)) add(tokens, intent.currency, intent.units);
      if (role === 'collection') continue;
      const given = intent.kind === 'gas' && intent.form === 'transfer' ? intent.units : 0n;
      // What was adopted from the signer's journal has no limit here: the signer's policy has one.
      const feeMax = fee === '0' ? feeUnitsMax : BigInt(fee);
      native = native === null || feeMax === undefined ? null : native + feeMax + given;
    }
    return { tokens, native };
  }

  return {
    async listWalletBooks() {
      const { ledgerId: _, missingUnits: __, ...columns } = getTableColumns(walletBooks);
      const select = orm.select(columns).from(walletBooks).orderBy(asc(walletBooks.network), asc(walletBooks.asset));
      return db.read(() => select.all());
    },
    async compareBooks({ network, heldUnits, feeUnitsMax, nowMs }) {
      await db.write(() => {
        const ledgerId = Number(newestEntry.get());
        const { tokens, native } = openUnits(network, feeUnitsMax);
        for (const [asset, held] of Object.entries(heldUnits) as [Asset, bigint][]) {
          const under = asset === 'native' ? native : (tokens.get(asset) ?? 0n);
          if (under === null) continue;
          const row = orm.select().from(walletBooks).where(bookOf(network, asset)).get() ?? null;
          const spentUnits = row ? spentSince(network, row.ledgerId, asset) : 0n;
          const reading = { heldUnits: held, spentUnits, openUnits: under, nowMs };
          const { book, missingUnits } = readBook(row, reading);
          // Tokens are explained transfer by transfer.
          const missing = (row?.missingUnits ?? 0n) + (asset === 'native' ? missingUnits : 0n);
          const next = { network, asset, ledgerId, ...book, missingUnits: missing };
          const target = [walletBooks.network, walletBooks.asset];
          orm.insert(walletBooks).values(next).onConflictDoUpdate({ target, set: next }).run();
          if (missingUnits === 0n) continue;
          const [has, lacks] = [held, missingUnits].map((units) => formatAmount(network, asset, units));
          const message = missingText(network, asset, `hold ${has}, ${lacks} less than the books say`);
          // Tokens are watched transfer by transfer.
          const gone = `${lacks} has left the wallets, and no payout explains it`;
          if (asset === 'native') freezer.byProgram(network, BALANCE_SHORT, gone, nowMs);
          raiseAlarm({ atMs: nowMs, code: BALANCE_SHORT, message, network, sessionId: null });
        }
      });
    },
  };
}

const missingText = (network: NetworkKey, asset: Asset, what: string): string =>
  `The refund and gas wallets of ${network} ${what}. Compare the wallets' transactions in an explorer with ` +
  '`quayside payout list`. ' +
  (asset === 'native'
    ? `Money out is frozen on ${network}. If somebody here took it, for a stake, say, run \`quayside payout reconcile ${network} --reason …\`; otherwise `
    : `If nobody here took it, run \`quayside payout freeze ${network} --reason …\` and `) +
  'move what is left to another seed.';
