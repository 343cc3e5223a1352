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

export function createRefundLoans(
  parts: Readonly<{
    network: NetworkKey;
    node: Pick<PayoutNode, 'quote'>;
    wallets: Pick<PayoutWallets, 'draft' | 'indexOf'>;
    database: Pick<Database, 'findPayout' | 'listPayouts' | 'planPayouts' | 'cancelPayout'>;
    clock: Pick<Clock, 'nowMs'>;
  }>,
): RefundLoans {
  const { network, node, wallets, database, clock } = parts;
  /** Each loan counts on the stake that those before have left. */
  const turns = new PQueue({ concurrency: 1 });

  const planned = async (): Promise<bigint> => {
    const gas = await database.listPayouts({ network, kind: 'gas', state: 'waiting', limit: PLANNED_MAX });
    return gas.reduce((sum, { intent }) => sum + (isLoan(intent) ? intent.units : 0n), 0n);
  };

  /** @returns whether it was planned: enough stake is free, and its transactions cost less than it saves */
  async function plan(refund: Payout, { units, savedUnits }: Loan): Promise<boolean> {
    const refundIndex = await wallets.indexOf('refund');
    const loanOf = (form: GasIntent['form']): GasIntent => {
      return { kind: 'gas', id: gasIdOf(refund.id, form, 0), network, form, refundIndex, units };
    };
    const [loan, back] = [loanOf('delegate'), loanOf('reclaim')];
    const draft = await wallets.draft(loan);
    const quote = await node.quote({ ...draft, intent: { ...loan, units: units + (await planned()) } }, null, []);
    if (quote.kind === 'refused' || (savedUnits !== null && 2n * quote.feeUnits >= savedUnits)) return false;
    const nowMs = clock.nowMs();
    const own = { sessionId: null, nowMs };
    await database.planPayouts([
      { ...own, intent: back, servesId: null, notBeforeMs: nowMs + LENT_MS },
      { ...own, intent: loan, servesId: back.id, notBeforeMs: nowMs },
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

/** What would be lent, in base units of the native coin. `savedUnits`: burned without it; null: all, and more. */
type Loan = Readonly<{ units: bigint; savedUnits: bigint | null }>;

function loanIn(quote: Quote): Loan | null {
  if (quote.kind === 'quoted') return quote.ways?.loan ?? null;
  return quote.loan?.missingUnits === 0n ? { units: quote.loan.units, savedUnits: null } : null;
}

const isLoan = (intent: Payout['intent']): intent is GasIntent =>
  intent.kind === 'gas' && intent.refundIndex !== undefined && intent.form === 'delegate';

const isLate = ({ createdAtMs }: Payout, nowMs: number): boolean => nowMs >= createdAtMs + WAIT_MS_MAX;
