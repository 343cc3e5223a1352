/** The ledger. Entries are written in the transaction of the change that they record. */

import { isOlder } from '../core/arrival.ts';
import { invariant } from '../core/fault.ts';
import { heldMoney, withoutReturned } from '../core/held-money.ts';
import { type Intent, isPayback } from '../core/intent.ts';
import {
  type Asset,
  add,
  adjustmentEntry,
  type Balances,
  type Difference,
  differences,
  type Entry,
  type EntryKind,
  imbalances,
  type Posting,
  paymentEntry,
  payoutEntry,
  type Unexplained,
} from '../core/ledger.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS, toPar } from '../core/money.ts';
import { isHeld } from '../core/refund.ts';
import type { Phase } from '../core/session.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { readBigJson, readReceiptSums } from './engine/column-types.ts';
import type { Db } from './engine/open.ts';
import { findRows, insertRow, perDatabase } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
import { returnsOf } from './refunds/refund.ts';
import { findSession, lifeOf, type SessionRow, termsOf } from './session.ts';
import { ledgerEntries, ledgerPostings, heldMoney as records, sessions } from './tables.ts';
import { shownIn, type TransferRow } from './transfers.ts';

const storeOf = (session: SessionRow | null) => ({ storeId: session?.storeId ?? null, mode: session?.mode ?? null });

export const ledgerOf = perDatabase((db: Db) => {
  const nextOccurrence = db.client.values(
    'SELECT coalesce(max(occurrence), -1) + 1 FROM ledger_entries WHERE cause = :cause AND kind = :kind',
  );

  /** Counts the entries of this kind for a cause. */
  const occurrenceOf = async (cause: string, kind: EntryKind): Promise<number> =>
    Number(await nextOccurrence.get({ cause, kind }));

  /** @param owner the session that a payment is credited to */
  async function post(
    entry: Entry | null,
    atMs: number,
    owner: SessionRow | null = null,
    reason: string | null = null,
  ): Promise<void> {
    if (!entry) return;
    const { kind, cause, occurrence: at, postings } = entry;
    invariant(imbalances(postings).length === 0, `entry ${kind} of ${cause} adds up to zero`);
    const [network, ...others] = new Set(postings.map((posting) => posting.network));
    invariant(network !== undefined && others.length === 0, `entry ${kind} of ${cause} is on one network`);
    const seq = await nextNumber(db, `ledger:${network}`);
    await insertRow(db, ledgerEntries, { network, seq, kind, cause, occurrence: at, atMs, reason, ...storeOf(owner) });
    for (const posting of postings) await insertRow(db, ledgerPostings, { seq, ...posting });
  }

  /** Returns the session of a transfer's money; null for money that came before its session. */
  async function ownerOf(sessionId: string | null, phase: Phase | null): Promise<SessionRow | null> {
    const session = sessionId === null ? undefined : await findSession(db, sessionId);
    return session && phase !== null ? session : null;
  }

  return {
    /** Saves an entry; null saves nothing. Saving an entry twice breaks a constraint, and with it the transaction. */
    post: (entry: Entry | null, atMs: number): Promise<void> => post(entry, atMs),
    /**
     * Books an operator's explanation of money that left the wallets without a payout. `isBack`: takes it back, because
     * a payout explains the money by now.
     */
    async adjust(
      network: NetworkKey,
      moved: readonly Unexplained[],
      reason: string,
      atMs: number,
      isBack?: boolean,
    ): Promise<void> {
      const occurrence = await occurrenceOf(network, 'adjustment');
      await post(adjustmentEntry(network, moved, occurrence, isBack), atMs, null, reason);
    },
    /** Books the begin or the end of a sweep's transit. */
    async transit(intent: Intent, isUnderway: boolean, atMs: number): Promise<void> {
      if (intent.kind !== 'sweep') return;
      const sent = await occurrenceOf(intent.id, 'sweep_sent');
      const returned = await occurrenceOf(intent.id, 'sweep_returned');
      if (isUnderway === sent > returned) return;
      const milestone = isUnderway ? 'sent' : 'returned';
      await post(payoutEntry(intent, null, milestone, isUnderway ? sent : returned), atMs);
    },
    /** Books a block's transfers as confirmed, or reverses them. Without `txs` it does so for all of them. */
    async confirmed(blockId: number, isTaken: boolean, atMs: number, txs?: readonly string[]): Promise<void> {
      const only = txs && new Set(txs);
      for (const { transfer, sessionId } of await shownIn(db, blockId)) {
        const { id: transferId, tx, network, currency, units, phase, confirmed: isConfirmed } = transfer;
        if (isConfirmed === isTaken || only?.has(tx) === false) continue;
        const session = await ownerOf(sessionId, phase);
        const payment = { transferId, network, currency, units, sessionId: session?.id ?? null };
        const occurrence = await occurrenceOf(String(transferId), isTaken ? 'payment' : 'payment_reversed');
        await post(paymentEntry(payment, isTaken, occurrence), atMs, session);
      }
    },
  };
});

// ── The audit ────────────────────────────────────────────────────────────────────────────────────────────────────────
// The audit recomputes the balances from transfers, payouts and attempts, without the code that writes the ledger.

type PostingRow = Omit<Posting, 'units'> & Readonly<{ seq: number; units: string }>;

/** A fact that moves `units` to `account` from `other`. */
type Fact = Readonly<{
  network: Posting['network'];
  asset: Asset;
  account: Posting['account'];
  other: Posting['account'];
  subject: string | null;
  units: string;
}>;

/** A confirmed transfer. Its session received it, unless it came before the session. */
type PaymentFact = Omit<Fact, 'other'> &
  Readonly<{ phase: Phase | null; number: number; timeS: number; beforeNumbers: string; createdAtMs: number }>;

const sessionAccounts = ['received', 'reserved', 'refunded'];

const paymentFacts = `
  SELECT t.network, t.currency AS asset, 'collected' AS account, s.id AS subject, t.units,
    t.phase, b.number, b.time_s AS "timeS", s.before_numbers AS "beforeNumbers", s.created_at_ms AS "createdAtMs"
  FROM transfers AS t JOIN blocks AS b ON b.id = t.block_id JOIN addresses AS a ON a.id = t.address_id
  LEFT JOIN sessions AS s ON s.id = a.session_id
  WHERE t.confirmed = 1`;

const feeFacts = `
  SELECT network, 'native' AS asset, 'fees' AS account, CASE payer_role WHEN 'collection' THEN 'collected' ELSE 'hot' END AS other,
    NULL AS subject, fee_units AS units
  FROM payout_attempts WHERE fee_units IS NOT NULL AND fee_units <> '0'`;

/** Refunds that are held against what their session received, paid or not. */
const promiseFacts = `
  SELECT network, currency AS asset, 'received' AS account, 'reserved' AS other, session_id AS subject, units
  FROM refunds WHERE status NOT IN ('failed', 'canceled')`;

/** `isUnderway`: an attempt of the current generation was sent to a node. */
const payoutFacts = `
  SELECT intent, session_id AS "sessionId", state, CASE WHEN EXISTS (
    SELECT 1 FROM payout_attempts AS a
    WHERE a.payout_id = p.id AND a.generation = p.generation AND a.sent_at_ms IS NOT NULL
  ) THEN 1 ELSE 0 END AS "isUnderway"
  FROM payouts AS p`;

const adjustmentFacts = `
  SELECT p.account, p.subject, p.network, p.asset, p.units
  FROM ledger_postings AS p JOIN ledger_entries AS e ON e.network = p.network AND e.seq = p.seq
  WHERE e.kind = 'adjustment'`;

type PayoutFact = Readonly<{ intent: string; sessionId: string | null; state: string; isUnderway: 0 | 1 }>;

export function ledgerCommands(db: Db) {
  const { client } = db;

  /** Reads all postings, entry by entry. */
  async function readJournal(): Promise<{ entries: number; unbalanced: string[]; journal: Balances }> {
    const journal: Balances = new Map();
    const unbalanced: string[] = [];
    const all = client.prepare<PostingRow>(
      'SELECT network, seq, account, subject, asset, units FROM ledger_postings ORDER BY network, seq',
    );
    let entries = 0;
    let entry = '';
    let postings: Posting[] = [];
    const close = (): void => {
      if (postings.length === 0) return;
      entries++;
      for (const what of imbalances(postings)) unbalanced.push(`unbalanced: entry ${entry}: ${what}`);
      for (const posting of postings) add(journal, posting);
    };
    for await (const row of all.iterate()) {
      const next = `${row.network} ${row.seq}`;
      if (next !== entry) {
        close();
        postings = [];
        entry = next;
      }
      postings.push({ ...row, units: BigInt(row.units) });
    }
    close();
    return { entries, unbalanced, journal };
  }

  async function readFacts(): Promise<Balances> {
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
    for await (const fact of client.prepare<PaymentFact>(paymentFacts).iterate())
      book(isReceived(fact) ? { ...fact, other: 'received' } : { ...fact, other: 'unclaimed', subject: null });
    for (const query of [promiseFacts, feeFacts]) {
      for await (const fact of client.prepare<Fact>(query).iterate()) book(fact);
    }
    for await (const row of client.prepare<PayoutFact>(payoutFacts).iterate()) {
      for (const fact of factsOf(row)) book(fact);
    }
    // An operator's adjustment is a fact.
    for await (const row of client.prepare<PostingRow>(adjustmentFacts).iterate())
      add(facts, { ...row, units: BigInt(row.units) });
    return facts;
  }

  /** Returns the decimals of every token that was ever received, by network and currency. */
  async function decimalsOfTokens(): Promise<ReadonlyMap<string, number>> {
    const tokens = client.prepare<Pick<TransferRow, 'network' | 'currency' | 'decimals'>>(
      'SELECT DISTINCT network, currency, decimals FROM transfers',
    );
    const decimals = new Map<string, number>();
    for await (const token of tokens.iterate()) decimals.set(`${token.network} ${token.currency}`, token.decimals);
    return decimals;
  }

  return {
    /**
     * Adds up the whole ledger and compares it with the facts, in a time that grows with the number of payments.
     * @returns `problems`: one sentence for each fault; empty if the ledger is sound
     */
    async verify() {
      return db.read(async () => {
        const { entries, unbalanced, journal } = await readJournal();
        const facts = await readFacts();
        const accountSums: Balances = new Map();
        for (const [place, units] of journal) {
          const account = place.split(' ').slice(0, 3).join(' ');
          accountSums.set(account, (accountSums.get(account) ?? 0n) + units);
        }
        const balances = [...accountSums].sort().map(([place, units]) => {
          const [network, asset, account] = place.split(' ') as [Posting['network'], Asset, string];
          return { network, asset, account, units };
        });
        return {
          entries,
          balances,
          problems: [
            ...unbalanced,
            ...differences(journal, facts).map(differenceText),
            ...overdrawn(journal, await decimalsOfTokens()),
            ...(await auditSums(db)),
            ...(await auditHeldMoney(db)),
          ],
        };
      });
    },
  };
}

const differenceText = ({ place, journal, facts }: Difference): string =>
  `${place}: the ledger has ${journal}, the facts say ${facts}`;

/**
 * Returns one line for each session that paid back more of a coin than it received. A refund on one network may use
 * money that came on others, so the networks are added up.
 */
function overdrawn(journal: Balances, decimals: ReadonlyMap<string, number>): string[] {
  const left = new Map<string, bigint>();
  for (const [place, units] of journal) {
    const [network, asset, account, subject] = place.split(' ') as [Posting['network'], Asset, string, string?];
    // `received` (negative) and `reserved` together are the money left. A promise moves from one to the other.
    if (!subject || (account !== 'received' && account !== 'reserved')) continue;
    const of = `${subject} ${asset}`;
    const token = decimals.get(`${network} ${asset}`);
    if (token !== undefined) left.set(of, (left.get(of) ?? 0n) + toPar(units, token));
  }
  return [...left].flatMap(([of, valuePar]) => {
    const [sessionId, asset] = of.split(' ');
    const amount = `${formatUnits(valuePar > 0n ? valuePar : 0n, PAR_DECIMALS, MINOR_DECIMALS)} ${asset}`;
    return valuePar > 0n ? [`session ${sessionId}: refunds exceed its receipts by ${amount}`] : [];
  });
}

function isReceived({ subject, phase, network, number, timeS, ...session }: PaymentFact): boolean {
  if (subject === null || phase !== null) return subject !== null;
  const began = { beforeNumbers: JSON.parse(session.beforeNumbers), createdAtS: toSeconds(session.createdAtMs) };
  return !isOlder(began, { network, blockNumber: number, blockTimeS: timeS });
}

/** Returns the amounts that a payout has moved so far. */
function factsOf({ intent: text, sessionId, state, isUnderway }: PayoutFact): Fact[] {
  const intent = readBigJson<Intent>(text);
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

// ── The audit of sums ────────────────────────────────────────────────────────────────────────────────────────────────
// The audit compares the running sums of sessions with their transfers, without the code that keeps the sums. It also
// compares the records of held money with the sums.

/** Transfers that are in a sum, session by session. */
const facts = `
  SELECT a.session_id AS "sessionId", t.network || ' ' || t.currency || ' ' || t.decimals || ' ' || t.phase AS place,
    CASE WHEN t.confirmed = 0 THEN 'seen' WHEN b.number <= n.floor THEN 'final' ELSE 'confirmed' END AS state, t.units
  FROM sessions AS s JOIN addresses AS a ON a.session_id = s.id JOIN transfers AS t ON t.address_id = a.id AND t.dust = 0
  JOIN blocks AS b ON b.id = t.block_id AND b.canonical = 1 JOIN networks AS n ON n.key = t.network
  WHERE s.payment_count > 0 AND t.phase IS NOT NULL
  ORDER BY s.id`;

/** @returns one line for each session whose sums are wrong */
async function auditSums({ client }: Db): Promise<string[]> {
  const expected = new Map<string, Map<string, bigint>>();
  for await (const line of client.prepare<Record<'place' | 'state' | 'units' | 'sessionId', string>>(facts).iterate()) {
    const { sessionId, place, state, units } = line;
    const sums = expected.get(sessionId) ?? new Map<string, bigint>();
    expected.set(sessionId, sums);
    const key = `${place} ${state}`;
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(units));
  }
  const wrong: string[] = [];
  const kept = client.prepare<{ id: string; sums: string }>(
    'SELECT id, sums FROM sessions WHERE payment_count > 0 AND sums IS NOT NULL',
  );
  for await (const { id, sums } of kept.iterate()) {
    const shown = readReceiptSums(sums).flatMap(({ network, currency, decimals, phase, ...amounts }) =>
      (['seen', 'confirmed', 'final'] as const)
        .filter((state) => amounts[state] > 0n)
        .map((state) => `${network} ${currency} ${decimals} ${phase} ${state} ${amounts[state]}`),
    );
    const real = [...(expected.get(id) ?? [])].map(([key, units]) => `${key} ${units}`);
    const text = (lines: string[]) => lines.sort().join(', ') || 'nothing';
    if (text(shown) !== text(real))
      wrong.push(`session ${id}: the sums say ${text(shown)}, the transfers ${text(real)}`);
  }
  return wrong;
}

const SESSIONS_AT_ONCE = 1_000;

/** @returns one line for each session whose held money differs from its sums */
async function auditHeldMoney(db: Db): Promise<string[]> {
  const paid = `WHERE id > :after AND payment_count > 0 ORDER BY id LIMIT ${SESSIONS_AT_ONCE}`;
  const kept = new Map<string, string[]>();
  for (const { sessionId, kind, valuePar } of await db.orm.select().from(records).all()) {
    if (valuePar > 0n) kept.set(sessionId, [...(kept.get(sessionId) ?? []), `${kind} ${valuePar}`]);
  }
  const wrong: string[] = [];
  const text = (lines: readonly string[]) => [...lines].sort().join(', ') || 'nothing';
  let after = '';
  for (;;) {
    const rows = await findRows(db, sessions, paid, { after });
    for (const row of rows) {
      const real = heldMoney(
        termsOf(row),
        lifeOf(row),
        withoutReturned(row.sums, (await returnsOf(db, row.id)).filter(isHeld)),
      );
      const [found, expected] = [kept.get(row.id) ?? [], real.map(({ kind, valuePar }) => `${kind} ${valuePar}`)].map(
        text,
      );
      if (found !== expected) wrong.push(`session ${row.id}: held money is kept as ${found}, the sums say ${expected}`);
    }
    const last = rows.at(-1);
    if (!last) return wrong;
    after = last.id;
  }
}
