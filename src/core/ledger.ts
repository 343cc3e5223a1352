/**
 * The journal of money in double entry. Each happening is one entry whose postings add up to zero for every network and asset; what an
 * account holds is the sum of its postings. Above zero: where money is. Below zero: whose it is, or where it came from.
 *
 * Coins that an operator brings to the refund and gas wallets come from outside the books: `hot` and `refunded` only count what left them.
 * @module
 */
import { invariant } from './fault.ts';
import type { Intent } from './intent.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/**
 * - `collected`: on collection addresses. `in_transit`: in sweeps that are not final. `treasury`: swept.
 * - `received`: what sessions brought and nothing was promised back of. `unclaimed`: what came for no session.
 * - `reserved`: promised back. `refunded`: paid back, out of the refund wallet.
 * - `hot`: native coin of the refund and gas wallets. `fees`: spent on transactions.
 */
export const accounts = [
  'collected',
  'in_transit',
  'treasury',
  'received',
  'unclaimed',
  'reserved',
  'refunded',
  'hot',
  'fees',
] as const;
export type Account = (typeof accounts)[number];

export type Asset = Currency | 'native';

/** `subject` is the session whose part of `received`, `reserved` or `refunded` this is; empty for the other accounts. */
export type Posting = Readonly<{
  account: Account;
  subject: string;
  network: NetworkKey;
  asset: Asset;
  units: bigint;
}>;

export type EntryKind =
  | 'payment'
  | 'payment_reversed'
  | 'refund_reserved'
  | 'refund_released'
  | 'refund_paid'
  | 'refund_matched'
  | 'sweep_sent'
  | 'sweep_returned'
  | 'sweep_done'
  | 'gas_given'
  | 'fee';

/** `cause` is the transfer or payout that it tells of; `occurrence` counts how often the same has happened to it before. */
export type Entry = Readonly<{ kind: EntryKind; cause: string; occurrence: number; postings: readonly Posting[] }>;

/** Money that goes from one account to another. */
type Transaction = Readonly<{
  from: Account;
  to: Account;
  subject: string;
  network: NetworkKey;
  asset: Asset;
  units: bigint;
}>;

const sessionAccounts: readonly Account[] = ['received', 'reserved', 'refunded'];

function entry(
  kind: EntryKind,
  cause: string,
  occurrence: number,
  { from, to, subject, units, ...where }: Transaction,
): Entry {
  invariant(units > 0n, `what entry ${kind} of ${cause} moves is above zero`);
  const side = (account: Account, signed: bigint): Posting => ({
    account,
    subject: sessionAccounts.includes(account) ? subject : '',
    ...where,
    units: signed,
  });
  return { kind, cause, occurrence, postings: [side(from, -units), side(to, units)] };
}

/** A confirmed transfer; `sessionId` is null when no session has a claim to it. */
export type BookedPayment = Readonly<{
  transferId: number;
  sessionId: string | null;
  network: NetworkKey;
  currency: Currency;
  units: bigint;
}>;

/** @param isTaken true when it is confirmed, false when a reorg takes that back; each may happen again, which `occurrence` counts */
export function paymentEntry(payment: BookedPayment, isTaken: boolean, occurrence: number): Entry {
  const { transferId, sessionId, network, currency, units } = payment;
  const origin = sessionId === null ? 'unclaimed' : 'received';
  const [from, to]: [Account, Account] = isTaken ? [origin, 'collected'] : ['collected', origin];
  const transaction: Transaction = { from, to, subject: sessionId ?? '', network, asset: currency, units };
  return entry(isTaken ? 'payment' : 'payment_reversed', String(transferId), occurrence, transaction);
}

/** What a refund promises a session's payer. */
export type BookedRefund = Readonly<{
  id: string;
  sessionId: string;
  network: NetworkKey;
  currency: Currency;
  units: bigint;
}>;

/** `matched`: it was paid before the books knew of it, and has been asked for now. */
export function refundEntry(refund: BookedRefund, step: 'reserved' | 'released' | 'matched'): Entry {
  const { id, sessionId: subject, network, currency: asset, units } = refund;
  const ways = {
    reserved: ['refund_reserved', 'reserved', 'received'],
    released: ['refund_released', 'received', 'reserved'],
    matched: ['refund_matched', 'unclaimed', 'reserved'],
  } as const;
  const [kind, from, to] = ways[step];
  const moved = entry(kind, id, 0, { from, to, subject, network, asset, units });
  if (step !== 'matched') return moved;
  // What was paid for nobody has a session now.
  const paid = { account: 'refunded', network, asset } as const;
  return {
    ...moved,
    postings: [...moved.postings, { ...paid, subject: '', units }, { ...paid, subject, units: -units }],
  };
}

/** Where a payout is on its way: something was handed to a node, that is given up for this generation, or it is done. */
export type PayoutMilestone = 'sent' | 'returned' | 'succeeded';

/**
 * What a step of a payout means for the books; null where it moves nothing in them.
 * @param sessionId of a refund: whose money is given back; null for one of which only the signer's journal knows
 * @param occurrence how often the same has happened to it before
 */
export function payoutEntry(
  intent: Intent,
  sessionId: string | null,
  milestone: PayoutMilestone,
  occurrence: number,
): Entry | null {
  const { id, network } = intent;
  const units = unitsOf(intent);
  const of = (kind: EntryKind, from: Account, to: Account, asset: Asset): Entry =>
    entry(kind, id, occurrence, { from, to, subject: sessionId ?? '', network, asset, units });
  switch (intent.kind) {
    case 'refund':
      if (milestone !== 'succeeded') return null;
      // Nothing was promised for a refund that the books do not know: it is paid out of what came for nobody.
      return of('refund_paid', 'refunded', sessionId === null ? 'unclaimed' : 'reserved', intent.currency);
    case 'sweep':
      if (milestone === 'sent') return of('sweep_sent', 'collected', 'in_transit', intent.currency);
      if (milestone === 'returned') return of('sweep_returned', 'in_transit', 'collected', intent.currency);
      return of('sweep_done', 'in_transit', 'treasury', intent.currency);
    case 'gas':
      // A loan of resources moves no coin.
      if (milestone !== 'succeeded' || intent.form !== 'transfer') return null;
      return of('gas_given', 'hot', 'collected', 'native');
  }
}

/** What an attempt that is final did cost; null when it was free. */
export function feeEntry(
  payoutId: string,
  network: NetworkKey,
  payerRole: 'refund' | 'gas' | 'collection',
  units: bigint,
  generation: number,
): Entry | null {
  if (units === 0n) return null;
  const from: Account = payerRole === 'collection' ? 'collected' : 'hot';
  return entry('fee', payoutId, generation, { from, to: 'fees', subject: '', network, asset: 'native', units });
}

/** Base units that an intent moves. */
export const unitsOf = (intent: Intent): bigint =>
  intent.kind === 'sweep' ? intent.from.reduce((sum, { units }) => sum + units, 0n) : intent.units;

// ── Balances ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Sums by place. A place is an account's part in one network and asset. */
export type Balances = Map<string, bigint>;
type Place = Pick<Posting, 'account' | 'subject' | 'network' | 'asset'>;

export const placeOf = ({ account, subject, network, asset }: Place): string =>
  [network, asset, account, subject].join(' ').trimEnd();

export function add(balances: Balances, posting: Posting): void {
  const place = placeOf(posting);
  const sum = (balances.get(place) ?? 0n) + posting.units;
  if (sum === 0n) balances.delete(place);
  else balances.set(place, sum);
}

/** A place where the journal and the facts do not say the same. */
export type Difference = Readonly<{ place: string; journal: bigint; facts: bigint }>;

/** Every place of which two reckonings differ, in order of name. */
export function differences(journal: Balances, facts: Balances): Difference[] {
  return [...new Set([...journal.keys(), ...facts.keys()])]
    .sort()
    .map((place) => ({ place, journal: journal.get(place) ?? 0n, facts: facts.get(place) ?? 0n }))
    .filter((one) => one.journal !== one.facts);
}

/** Networks and assets, of one entry, whose postings do not add up to zero. */
export function imbalances(postings: readonly Pick<Posting, 'network' | 'asset' | 'units'>[]): string[] {
  const sums = new Map<string, bigint>();
  for (const { network, asset, units } of postings) {
    const key = `${network} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0n) + units);
  }
  return [...sums].filter(([, sum]) => sum !== 0n).map(([key, sum]) => `${key} by ${sum}`);
}
