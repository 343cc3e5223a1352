/**
 * Lends the gas wallet's stake to the refund wallet, so that a refund burns no coins for its energy where the chain has
 * such loans. No refund waits for a loan longer than a minute, nor for one that has met any trouble: it burns coins
 * then.
 *
 * @module
 */
import PQueue from 'p-queue';
import type { PayoutNode, Quote } from '../../src/chains/spend.ts';
import { type GasIntent, isPayback } from '../../src/core/intent.ts';
import type { Payout } from '../../src/core/payout.ts';
import { gasIdOf } from '../../src/core/sweep.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { EngineReason } from '../../src/database/money-out.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { PayoutWallets } from './wallets.ts';

/** How long a refund waits for its loan. It is in a block after a few seconds. */
const WAIT_MS_MAX = 60_000;
/** When a loan is taken back. What a refund has used of it comes back over a day in either wallet. */
const LENT_MS = 600_000;
/** More loans than are ever planned at once. */
const PLANNED_MAX = 200;

/** What would be lent, in base units of the native coin. `savedUnits`: burned without it; null: all, and more. */
export type Loan = Readonly<{ units: bigint; savedUnits: bigint | null }>;

/**
 * What a loan costs the gas wallet: its two transactions, in base units of the native coin. `whyNot`: why none is made
 * now, null if one is; `missingUnits`: the stake that the gas wallet lacks for it, 0 if that is not why.
 */
export type LoanPrice = Readonly<{ costUnits: bigint; whyNot: string | null; missingUnits: bigint }>;

export interface RefundLoans {
  /**
   * Plans a loan for a refund if it saves coins, once for each refund.
   * @param quote of the refund now
   * @returns what the refund waits for; null if it goes on with its quote
   * @throws Fault of the node, the signer or the database
   */
  holdFor(payout: Payout, quote: Quote): Promise<EngineReason | null>;
  /**
   * Ends a loan that comes too late, or the taking back of one that was never made, or that was taken back before.
   * @param quote of this gas payout now
   * @returns whether it has ended
   */
  endUseless(payout: Payout, quote: Quote): Promise<boolean>;
}

/** Who is asked what a loan costs. */
type Asked = Readonly<{ node: Pick<PayoutNode, 'quote'>; wallets: Pick<PayoutWallets, 'draft' | 'indexOf'> }>;

const gasFor = (
  { id, network }: Payout['intent'],
  form: GasIntent['form'],
  refundIndex: number,
  units: bigint,
): GasIntent => ({ kind: 'gas', id: gasIdOf(id, form, 0), network, form, refundIndex, units });

/**
 * Prices the loan for a refund.
 * @param lentUnits what others are lent before
 * @throws Fault of the node or the signer
 */
export async function priceLoan(
  refund: Payout['intent'],
  { units, savedUnits }: Loan,
  lentUnits: bigint,
  { node, wallets }: Asked,
): Promise<LoanPrice> {
  const loan = gasFor(refund, 'delegate', await wallets.indexOf('refund'), units);
  const draft = await wallets.draft(loan);
  const quote = await node.quote({ ...draft, intent: { ...loan, units: units + lentUnits } }, null, []);
  if (quote.kind === 'refused') {
    const missingUnits = quote.code === 'would_fail' ? (quote.missingUnits ?? 0n) : 0n;
    return { costUnits: 0n, whyNot: quote.message, missingUnits };
  }
  const costUnits = 2n * quote.feeUnits;
  const isWorth = savedUnits === null || costUnits < savedUnits;
  return {
    costUnits,
    whyNot: isWorth ? null : 'its two transactions would cost as much as it saves',
    missingUnits: 0n,
  };
}

/** Returns the stake that planned loans for refunds other than this one take. @throws Fault `storage_unavailable` */
export async function plannedLoans(
  network: NetworkKey,
  database: Pick<Database, 'listPayouts'>,
  refundId: string,
): Promise<bigint> {
  const gas = await database.listPayouts({ network, kind: 'gas', state: 'waiting', limit: PLANNED_MAX });
  const own = gasIdOf(refundId, 'delegate', 0);
  return gas.reduce((sum, { id, intent }) => sum + (isLoan(intent) && id !== own ? intent.units : 0n), 0n);
}

export function createRefundLoans(
  parts: Asked &
    Readonly<{
      network: NetworkKey;
      database: Pick<Database, 'findPayout' | 'listPayouts' | 'planPayouts' | 'cancelPayout'>;
      clock: Pick<Clock, 'nowMs'>;
    }>,
): RefundLoans {
  const { network, wallets, database, clock } = parts;
  /** Each loan counts on the stake that those before have left. */
  const turns = new PQueue({ concurrency: 1 });

  /** @returns whether it was planned: enough stake is free, and its transactions cost less than it saves */
  async function plan(refund: Payout, loan: Loan): Promise<boolean> {
    const lentUnits = await plannedLoans(network, database, refund.id);
    const { whyNot } = await priceLoan(refund.intent, loan, lentUnits, parts);
    if (whyNot !== null) return false;
    const refundIndex = await wallets.indexOf('refund');
    const gas = (form: GasIntent['form']) => gasFor(refund.intent, form, refundIndex, loan.units);
    const [lend, back] = [gas('delegate'), gas('reclaim')];
    const nowMs = clock.nowMs();
    const own = { sessionId: null, nowMs };
    await database.planPayouts([
      { ...own, intent: back, servesId: null, notBeforeMs: nowMs + LENT_MS },
      { ...own, intent: lend, servesId: back.id, notBeforeMs: nowMs },
    ]);
    return true;
  }

  const waits: EngineReason = {
    code: 'energy_awaited',
    message: 'the gas wallet lends its refund wallet the energy of a stake; after a minute it burns coins instead',
  };

  return {
    async holdFor(payout, quote) {
      const loan = loanIn(quote);
      if (!isPayback(payout.intent) || !loan) return null;
      const known = await database.findPayout(gasIdOf(payout.id, 'delegate', 0));
      if (!known) return (await turns.add(() => plan(payout, loan))) ? waits : null;
      const isOnItsWay = (known.state === 'waiting' && !known.wait && !known.fault) || known.state === 'sent';
      return isOnItsWay && !isLate(known, clock.nowMs()) ? waits : null;
    },
    async endUseless(payout, quote) {
      const { id, intent, servesId } = payout;
      const nowMs = clock.nowMs();
      if (intent.kind === 'gas' && intent.form === 'reclaim') {
        const isNothingLent = quote.kind === 'refused' && quote.code === 'would_fail';
        // A node that is behind does not see a loan that was made just now.
        return isNothingLent && nowMs >= payout.createdAtMs + LENT_MS && database.cancelPayout(id, nowMs);
      }
      if (!isLoan(intent) || !isLate(payout, nowMs) || !(await database.cancelPayout(id, nowMs))) return false;
      // If this is cut short, the taking back finds nothing lent.
      if (servesId !== null) await database.cancelPayout(servesId, nowMs);
      return true;
    },
  };
}

/** Returns the loan that a refund could be lent now; null if it needs none, or more than a loan. */
export function loanIn(quote: Quote): Loan | null {
  if (quote.kind === 'quoted') return quote.ways?.loan ?? null;
  return quote.loan?.missingUnits === 0n ? { units: quote.loan.units, savedUnits: null } : null;
}

const isLoan = (intent: Payout['intent']): intent is GasIntent =>
  intent.kind === 'gas' && intent.refundIndex !== undefined && intent.form === 'delegate';

const isLate = ({ createdAtMs }: Payout, nowMs: number): boolean => nowMs >= createdAtMs + WAIT_MS_MAX;
