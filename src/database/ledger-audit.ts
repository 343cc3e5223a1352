/**
 * Compares the ledger with the facts: adds up all postings, and recomputes the balances from transfers, payouts and
 * attempts, without any of the code that writes the ledger.
 */
import { isPayback } from '../core/intent.ts';
import { type Asset, add, type Balances, differences, imbalances, type Posting } from '../core/ledger.ts';
import { readIntent } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';
import type { LedgerReport, MoneyOutDatabase } from './money-out.ts';
import { createReturned } from './refunds/returned.ts';
import { auditHeldMoney, auditSums } from './sums-audit.ts';

type PostingRow = Omit<Posting, 'units'> & Readonly<{ entryId: number; units: string }>;

/** A fact that moves `units` to `account` from `other`. */
type Fact = Readonly<{
  network: Posting['network'];
  asset: Asset;
  account: Posting['account'];
  other: Posting['account'];
  subject: string | null;
  units: string;
}>;

const sessionAccounts = ['received', 'reserved', 'refunded'];

const paymentFacts = `
  SELECT t.network, t.currency AS asset, 'collected' AS account, iif(s.id IS NULL, 'unclaimed', 'received') AS other,
    s.id AS subject, t.units
  FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id JOIN addresses AS a ON a.id = t.address_id
  LEFT JOIN sessions AS s ON s.id = a.session_id AND (t.phase IS NOT NULL OR coalesce(
    b.number > json_extract(s.before_numbers, '$."' || t.network || '"'), b.time_s >= s.created_at_ms / 1000 - 600))
  WHERE t.confirmed = 1`;

const feeFacts = `
  SELECT network, 'native' AS asset, 'fees' AS account, iif(payer_role = 'collection', 'collected', 'hot') AS other,
    NULL AS subject, fee_units AS units
  FROM payout_attempts WHERE fee_units IS NOT NULL AND fee_units <> '0'`;

/** Refunds that are held against what their session received, paid or not. */
const promiseFacts = `
  SELECT network, currency AS asset, 'received' AS account, 'reserved' AS other, session_id AS subject, units
  FROM refunds WHERE status NOT IN ('failed', 'canceled')`;

/** `isUnderway`: an attempt of the current generation was sent to a node. */
const payoutFacts = `
  SELECT intent, session_id AS sessionId, state, EXISTS (
    SELECT 1 FROM payout_attempts AS a
    WHERE a.payout_id = p.id AND a.generation = p.generation AND a.sent_at_ms IS NOT NULL
  ) AS isUnderway
  FROM payouts AS p`;

const adjustmentFacts = `
  SELECT p.account, p.subject, p.network, p.asset, p.units
  FROM ledger_postings AS p JOIN ledger_entries AS e ON e.id = p.entry_id WHERE e.kind = 'adjustment'`;

type PayoutFact = Readonly<{ intent: string; sessionId: string | null; state: string; isUnderway: 0 | 1 }>;

export function ledgerAudit(db: Db): Pick<MoneyOutDatabase, 'verifyLedger'> {
  const { client } = db;

  /** Reads all postings, entry by entry. */
  function readJournal(): Pick<LedgerReport, 'entries' | 'unbalanced'> & { journal: Balances } {
    const journal: Balances = new Map();
    const unbalanced: string[] = [];
    const all = client.prepare(
      'SELECT entry_id AS entryId, account, subject, network, asset, units FROM ledger_postings ORDER BY entry_id',
    );
    let entries = 0;
    let entryId = 0;
    let postings: Posting[] = [];
    const close = (): void => {
      if (postings.length === 0) return;
      entries++;
      for (const what of imbalances(postings)) unbalanced.push(`entry ${entryId}: ${what}`);
      for (const posting of postings) add(journal, posting);
    };
    for (const row of all.iterate() as IterableIterator<PostingRow>) {
      if (row.entryId !== entryId) {
        close();
        postings = [];
        entryId = row.entryId;
      }
      postings.push({ ...row, units: BigInt(row.units) });
    }
    close();
    return { entries, unbalanced, journal };
  }

  function readFacts(): Balances {
    const facts: Balances = new Map();
    const book = ({ network, asset, account, other, subject, units }: Fact): void => {
      const side = (name: Posting['account'], sign: bigint): void =>
        add(facts, {
          network,
          asset,
          account: name,
          subject: sessionAccounts.includes(name) ? (subject ?? '') : '',
          units: sign * BigInt(units),
        });
      side(account, 1n);
      side(other, -1n);
    };
    for (const query of [paymentFacts, promiseFacts, feeFacts]) {
      for (const fact of client.prepare(query).iterate() as IterableIterator<Fact>) book(fact);
    }
    for (const row of client.prepare(payoutFacts).iterate() as IterableIterator<PayoutFact>) {
      for (const fact of factsOf(row)) book(fact);
    }
    // What an operator has said is a fact.
    for (const row of client.prepare(adjustmentFacts).iterate() as IterableIterator<PostingRow>)
      add(facts, { ...row, units: BigInt(row.units) });
    return facts;
  }

  return {
    async verifyLedger() {
      return db.read(() => {
        const { entries, unbalanced, journal } = readJournal();
        const found = differences(journal, readFacts());
        const accountSums: Balances = new Map();
        const overdrawn: LedgerReport['overdrawn'][number][] = [];
        for (const [place, units] of journal) {
          const [network, asset, account, subject] = place.split(' ') as [Posting['network'], Asset, string, string?];
          const sum = `${network} ${asset} ${account}`;
          accountSums.set(sum, (accountSums.get(sum) ?? 0n) + units);
          // Negative is what a session still has; positive means that more left it than came.
          if (account === 'received' && units > 0n && subject) {
            overdrawn.push({ sessionId: subject, network, asset, units });
          }
        }
        const balances = [...accountSums].sort().map(([place, units]) => {
          const [network, asset, account] = place.split(' ') as [Posting['network'], Asset, string];
          return { network, asset, account, units };
        });
        return {
          entries,
          balances,
          unbalanced,
          differences: found,
          overdrawn,
          sums: [...auditSums(db), ...auditHeldMoney(db, createReturned(db).of)],
        };
      });
    },
  };
}

/** Returns what a payout has moved so far. */
function factsOf({ intent: text, sessionId, state, isUnderway }: PayoutFact): Fact[] {
  const intent = readIntent(text);
  const { network } = intent;
  const isDone = state === 'succeeded';
  if (isPayback(intent)) {
    const account = sessionId === null ? 'unclaimed' : 'reserved';
    const paid = { network, asset: intent.currency, subject: sessionId, units: intent.units.toString() };
    return isDone ? [{ ...paid, account, other: 'refunded' }] : [];
  }
  if (intent.kind === 'gas') {
    if (!isDone || intent.form !== 'transfer') return [];
    const units = intent.units.toString();
    return [{ network, asset: 'native', subject: null, units, account: 'collected', other: 'hot' }];
  }
  const units = intent.from.reduce((sum, part) => sum + part.units, 0n).toString();
  const common = { network, asset: intent.currency, subject: null, units, other: 'collected' } as const;
  if (isDone) return [{ ...common, account: 'treasury' }];
  return isUnderway === 1 && state !== 'failed' && state !== 'canceled' ? [{ ...common, account: 'in_transit' }] : [];
}
