/**
 * The double-entry ledger. Each event is one entry whose postings add up to zero for every network and asset. An
 * account's balance is the sum of its postings. Accounts with positive balances say where money is. Those with negative
 * balances say whose it is, or where it came from.
 *
 * Coins that an operator sends to the refund and gas wallets are not booked. `hot` and `refunded` count outgoing
 * amounts.
 */
import { invariant } from './fault.ts';
import type { Intent } from './intent.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/**
 * - `collected`: on deposit addresses. `in_transit`: in sweeps that are not final. `treasury`: swept.
 * - `received`: paid to sessions and not promised back. `unclaimed`: paid to no session.
 * - `reserved`: promised back. `refunded`: paid back, from the refund wallet.
 * - `hot`: native coin of the refund and gas wallets. `fees`: spent on transactions.
 * - `adjusted`: left those wallets without a payout, and was explained by an operator.
 */
const accounts = [
  'collected',
  'in_transit',
  'treasury',
  'received',
  'unclaimed',
  'reserved',
  'refunded',
  'hot',
  'fees',
  'adjusted',
] as const;
export type Account = (typeof accounts)[number];

export type Asset = Currency | 'native';

/** `subject` is the session of a posting to `received`, `reserved` or `refunded`, and empty for the other accounts. */
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
  | 'fee'
  | 'adjustment';

/** `cause` is the transfer or payout. `occurrence` counts earlier entries of the same kind and cause. */
export type Entry = Readonly<{ kind: EntryKind; cause: string; occurrence: number; postings: readonly Posting[] }>;

/** Money that moves from one account to another. */
type Movement = Omit<Posting, 'account'> & Readonly<{ from: Account; to: Account }>;

const sessionAccounts: readonly Account[] = ['received', 'reserved', 'refunded'];

function entry(
  kind: EntryKind,
  cause: string,
  occurrence: number,
  { from, to, subject, units, ...where }: Movement,
): Entry {
  invariant(units > 0n, `entry ${kind} of ${cause} moves an amount above zero`);
  const side = (account: Account, signed: bigint): Posting => ({
    account,
    subject: sessionAccounts.includes(account) ? subject : '',
    ...where,
    units: signed,
  });
  return { kind, cause, occurrence, postings: [side(from, -units), side(to, units)] };
}

/** A confirmed transfer. `sessionId` is null if it belongs to no session. */
export type BookedPayment = Readonly<{
  transferId: number;
  sessionId: string | null;
  network: NetworkKey;
  currency: Currency;
  units: bigint;
}>;

/**
 * Returns the entry of a confirmed transfer, or of a reorg that reverses it.
 * @param isTaken true when it is confirmed, false when it is reversed
 * @param occurrence earlier entries of the same kind for this transfer
 */
export function paymentEntry(payment: BookedPayment, isTaken: boolean, occurrence: number): Entry {
  const { transferId, sessionId, network, currency, units } = payment;
  const origin = sessionId === null ? 'unclaimed' : 'received';
  const [from, to]: [Account, Account] = isTaken ? [origin, 'collected'] : ['collected', origin];
  const movement: Movement = { from, to, subject: sessionId ?? '', network, asset: currency, units };
  return entry(isTaken ? 'payment' : 'payment_reversed', String(transferId), occurrence, movement);
}

/** The fields of a refund that the ledger needs. */
type BookedRefund = Omit<BookedPayment, 'transferId'> & Readonly<{ id: string; sessionId: string }>;

/** Returns the entry of a refund. `matched`: the chain showed the payment before the refund was requested here. */
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
  // The payment was booked without a session, and belongs to one now.
  const paid = { account: 'refunded', network, asset } as const;
  return {
    ...moved,
    postings: [...moved.postings, { ...paid, subject: '', units }, { ...paid, subject, units: -units }],
  };
}

/** `sent`: a node has accepted it. `returned`: this generation ended without effect. `succeeded`: it is final. */
type PayoutMilestone = 'sent' | 'returned' | 'succeeded';

/**
 * Returns the entry of a payout's milestone, or null if it moves nothing in the ledger.
 * @param sessionId the session of a refund or return; null if only the signer's journal knows it
 * @param occurrence earlier entries of the same kind for this payout
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
    case 'return':
      if (milestone !== 'succeeded') return null;
      // A refund that this database does not know reserved nothing, so it is paid out of `unclaimed`.
      return of('refund_paid', 'refunded', sessionId === null ? 'unclaimed' : 'reserved', intent.currency);
    case 'sweep':
      if (milestone === 'sent') return of('sweep_sent', 'collected', 'in_transit', intent.currency);
      if (milestone === 'returned') return of('sweep_returned', 'in_transit', 'collected', intent.currency);
      return of('sweep_done', 'in_transit', 'treasury', intent.currency);
    case 'gas':
      // Lending resources moves no coin.
      if (milestone !== 'succeeded' || intent.form !== 'transfer') return null;
      return of('gas_given', 'hot', 'collected', 'native');
  }
}

/** Returns the entry of a final attempt's fee; null if it was free. */
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

/** Units of an asset that left the refund and gas wallets without a payout. */
export type Unexplained = Readonly<{ asset: Asset; units: bigint }>;

/**
 * Returns the entry of an outflow that an operator has explained. With `isBack` it takes a wrong explanation back.
 * Returns null if nothing left the wallets.
 * @param occurrence earlier entries of the same kind for this network
 */
export function adjustmentEntry(
  network: NetworkKey,
  moved: readonly Unexplained[],
  occurrence: number,
  isBack = false,
): Entry | null {
  const sums = new Map<Asset, bigint>();
  for (const { asset, units } of moved) sums.set(asset, (sums.get(asset) ?? 0n) + units);
  const postings = [...sums].flatMap(([asset, units]) => {
    const wallet: Account = asset === 'native' ? 'hot' : 'refunded';
    const [from, to]: [Account, Account] = isBack ? ['adjusted', wallet] : [wallet, 'adjusted'];
    return entry('adjustment', network, occurrence, { from, to, subject: '', network, asset, units }).postings;
  });
  return postings.length === 0 ? null : { kind: 'adjustment', cause: network, occurrence, postings };
}

export const assetOf = (intent: Intent): Asset => (intent.kind === 'gas' ? 'native' : (intent.currency ?? 'native'));

export const unitsOf = (intent: Intent): bigint =>
  intent.kind === 'sweep' ? intent.from.reduce((sum, { units }) => sum + units, 0n) : intent.units;

// ── Balances ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Sums by place. A place is one account's part in one network and asset. */
export type Balances = Map<string, bigint>;
type Place = Pick<Posting, 'account' | 'subject' | 'network' | 'asset'>;

const placeOf = ({ account, subject, network, asset }: Place): string =>
  [network, asset, account, subject].join(' ').trimEnd();

export function add(balances: Balances, posting: Posting): void {
  const place = placeOf(posting);
  const sum = (balances.get(place) ?? 0n) + posting.units;
  if (sum === 0n) balances.delete(place);
  else balances.set(place, sum);
}

/** A place where the ledger and the facts disagree. */
export type Difference = Readonly<{ place: string; journal: bigint; facts: bigint }>;

/** Returns every place where two sets of balances differ, sorted by name. */
export function differences(journal: Balances, facts: Balances): Difference[] {
  return [...new Set([...journal.keys(), ...facts.keys()])]
    .sort()
    .map((place) => ({ place, journal: journal.get(place) ?? 0n, facts: facts.get(place) ?? 0n }))
    .filter((one) => one.journal !== one.facts);
}

/** Returns the networks and assets of one entry whose postings do not add up to zero. */
export function imbalances(postings: readonly Pick<Posting, 'network' | 'asset' | 'units'>[]): string[] {
  const sums = new Map<string, bigint>();
  for (const { network, asset, units } of postings) {
    const key = `${network} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0n) + units);
  }
  return [...sums].filter(([, sum]) => sum !== 0n).map(([key, sum]) => `${key} by ${sum}`);
}
