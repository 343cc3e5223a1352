/**
 * What the database holds about a range of blocks, for certificates. Everything is read; nothing is written.
 * @module
 */
import type { Intent } from '../../core/intent.ts';
import type { Currency, NetworkKey } from '../../core/transfer.ts';
import type { BookDatabase } from '../bookkeeping.ts';
import type { Account, AccountSweep, EvidenceDatabase, Holder, RecordedTransfer } from '../evidence.ts';
import type { TraceDatabase } from '../traces.ts';
import type { Db } from './open.ts';
import { readIntent } from './payouts/schema.ts';

type TransferRow = Omit<RecordedTransfer, 'units' | 'bookedUnits'> &
  Readonly<{ id: number; units: string; payments: number; reversals: number; booked: string | null }>;
type Received = Readonly<{ currency: Currency; units: string; number: number }>;
type Part = Readonly<{
  id: string;
  currency: Currency;
  units: string;
  state: string;
  settledAtMs: number | null;
  txs: string;
}>;
type PayoutRow = Readonly<{ id: string; intent: string; tx: string; settledAtMs: number; entries: number }>;

/** How often an entry of a kind was written for a transfer. */
const entriesOf = (kind: string): string =>
  `(SELECT count(*) FROM ledger_entries WHERE cause = CAST(t.id AS TEXT) AND kind = '${kind}')`;

const transfersOf = `
  SELECT t.id, b.hash AS block, b.number, t.tx, t.position AS "index", t.currency, t.from_key AS "from", a.key AS "to",
    t.units, a.session_id AS sessionId,
    iif(t.dust = 1, 'dust', iif(t.confirmed = 1, 'confirmed', 'unconfirmed')) AS state,
    ${entriesOf('payment')} AS payments, ${entriesOf('payment_reversed')} AS reversals,
    (SELECT p.units FROM ledger_entries AS e JOIN ledger_postings AS p ON p.entry_id = e.id
     WHERE e.cause = CAST(t.id AS TEXT) AND e.kind = 'payment' AND p.account = 'collected'
     ORDER BY e.occurrence DESC LIMIT 1) AS booked
  FROM blocks AS b JOIN transfers AS t ON t.block_id = b.id JOIN addresses AS a ON a.id = t.address_id
  WHERE b.network = ? AND b.canonical = 1 AND b.number BETWEEN ? AND ?
  ORDER BY b.number, t.position, t.tx`;

/** What came to an address, dust included: it is on the chain as well. */
const receivedBy = `
  SELECT t.currency, t.units, b.number
  FROM transfers AS t INDEXED BY transfers_by_tx JOIN blocks AS b ON b.id = t.block_id
  WHERE t.address_id = ? AND t.network = ? AND b.canonical = 1`;

const partsOf = `
  SELECT y.id, p.currency, p.units, y.state, y.settled_at_ms AS settledAtMs,
    (SELECT coalesce(json_group_array(s.tx), '[]') FROM payout_attempts AS s WHERE s.payout_id = y.id AND s.tx IS NOT NULL) AS txs
  FROM addresses AS a
  JOIN sweep_parts AS p ON p.derivation_index = a.derivation_index AND (p.pool_id IS NULL OR p.pool_id = a.pool_id)
  JOIN payouts AS y ON y.id = p.payout_id
  WHERE a.id = ? AND p.network = ?`;

const settled = `
  SELECT y.id, y.intent, y.tx, y.settled_at_ms AS settledAtMs, (
    SELECT count(*) FROM ledger_entries AS e
    WHERE e.cause = y.id AND e.kind IN ('refund_paid', 'sweep_done', 'gas_given', 'refund_matched')
  ) AS entries
  FROM payouts AS y
  WHERE y.id > ? AND y.network = ? AND y.state = 'succeeded' AND y.settled_at_ms >= ? AND y.created_at_ms <= ?
  ORDER BY y.id LIMIT ?`;

export function evidenceQueries(db: Db): Omit<EvidenceDatabase, keyof (BookDatabase & TraceDatabase)> {
  const { client } = db;
  const lowest = client
    .prepare('SELECT min(number) FROM blocks WHERE network = ? AND canonical = 1 AND number >= ?')
    .pluck();
  const blocks = client.prepare(
    'SELECT number, hash FROM blocks WHERE network = ? AND canonical = 1 AND number BETWEEN ? AND ? ORDER BY number',
  );
  const transfers = client.prepare(transfersOf);
  const given = client.prepare(
    `SELECT id, key FROM addresses WHERE family = ? AND mode = ? AND state <> 'free' AND id > ? ORDER BY id LIMIT ?`,
  );
  const received = client.prepare(receivedBy);
  const parts = client.prepare(partsOf);
  const payouts = client.prepare(settled);

  const partsAt = (id: number, network: NetworkKey): readonly Part[] => parts.all(id, network) as Part[];

  return {
    async firstBlockFrom(network, number) {
      return db.read(() => lowest.get(network, number) as number | null);
    },
    async recordedRange(network, { from, to }) {
      return db.read(() => ({
        blocks: blocks.all(network, from, to) as { number: number; hash: string }[],
        transfers: (transfers.all(network, from, to) as TransferRow[]).map(toRecorded),
      }));
    },
    async holders({ network, pool }, { from, to, fromMs }, afterId, limit) {
      const isHolder = ({ id }: Holder): boolean => {
        const held = new Map<Currency, bigint>();
        const add = (currency: Currency, units: bigint) => held.set(currency, (held.get(currency) ?? 0n) + units);
        for (const { currency, units, number } of received.iterate(id, network) as IterableIterator<Received>) {
          if (number >= from && number <= to) return true;
          if (number < from) add(currency, BigInt(units));
        }
        if (held.size === 0) return false;
        for (const { currency, units, state, settledAtMs } of partsAt(id, network)) {
          if (state !== 'succeeded') continue;
          if ((settledAtMs ?? 0) >= fromMs) return true;
          add(currency, -BigInt(units));
        }
        return [...held.values()].some((units) => units !== 0n);
      };
      return db.read(() => {
        const page = given.all(pool.family, pool.mode, afterId, limit) as Holder[];
        return { holders: page.filter(isHolder), next: page.length < limit ? null : (page.at(-1)?.id ?? null) };
      });
    },
    async accounts(network, holders, throughNumber) {
      return db.read(() =>
        holders.flatMap((holder) =>
          accountsOf(
            holder,
            received.iterate(holder.id, network) as IterableIterator<Received>,
            () => partsAt(holder.id, network),
            throughNumber,
          ),
        ),
      );
    },
    async settledPayouts(network, { fromMs, toMs }, afterId, limit) {
      return db.read(() =>
        (payouts.all(afterId, network, fromMs, toMs, limit) as PayoutRow[]).map(({ intent: text, entries, ...row }) => {
          const intent = readIntent(text);
          return { ...row, intent, isBooked: entries > 0 || !isBookable(intent) };
        }),
      );
    },
  };
}

/** The ledger has nothing of what stays in our wallets: loans of resources, and moves between them. */
const isBookable = (intent: Intent): boolean =>
  intent.kind !== 'move' && (intent.kind !== 'gas' || intent.form === 'transfer');

function toRecorded({ id: _id, units, payments, reversals, booked, ...row }: TransferRow): RecordedTransfer {
  return { ...row, units: BigInt(units), bookedUnits: payments > reversals ? BigInt(booked ?? 0) : 0n };
}

/** @param readParts called once the receipts have been read: a connection runs one iteration at a time */
function accountsOf(
  { id, key }: Holder,
  receipts: Iterable<Received>,
  readParts: () => readonly Part[],
  throughNumber: number,
): Account[] {
  const accounts = new Map<
    Currency,
    { received: bigint; later: { number: number; units: bigint }[]; sweeps: AccountSweep[] }
  >();
  const accountIn = (currency: Currency) => {
    const account = accounts.get(currency) ?? { received: 0n, later: [], sweeps: [] };
    accounts.set(currency, account);
    return account;
  };
  for (const { currency, units, number } of receipts) {
    const account = accountIn(currency);
    if (number <= throughNumber) account.received += BigInt(units);
    else account.later.push({ number, units: BigInt(units) });
  }
  for (const { id: sweepId, currency, units, settledAtMs, state, txs } of readParts()) {
    const signed = JSON.parse(txs) as string[];
    if (signed.length === 0 || state === 'failed' || state === 'canceled') continue;
    accountIn(currency).sweeps.push({ id: sweepId, units: BigInt(units), txs: signed, settledAtMs });
  }
  return [...accounts].map(([currency, account]) => ({ id, key, currency, ...account }));
}
