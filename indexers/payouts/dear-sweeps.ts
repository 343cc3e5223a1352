/**
 * Keeps sweeps that nobody ordered from being made at a loss: fees may rise between the plan and the signature. Judged
 * by the plan's own rule, before the first signature of a sweep or of gas for it, and before a deposit address pays a
 * higher fee. Loans are always reclaimed.
 *
 * What is signed can be in a block at any time, so it is sent again until it is, at the fee that it has: its address
 * has numbers of its own, and nothing else waits for them. The gas wallet's fees are raised as ever, because its later
 * numbers wait.
 *
 * @module
 */
import type { Quote, SpendRules } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { SweepIntent } from '../../src/core/intent.ts';
import { unitsOf } from '../../src/core/ledger.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import type { Payout } from '../../src/core/payout.ts';
import { SWEEP_TOO_DEAR } from '../../src/core/sweep.ts';
import type { Database } from '../../src/database/database.ts';
import type { EngineReason } from '../../src/database/money-out.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { percentOf, type SweepCosts } from './sweep-costs.ts';

export interface DearSweeps {
  /**
   * Judges what is not signed yet.
   * @param quote of this payout now
   * @returns why a sweep, or gas for one, is not signed now; null if it may be
   * @throws Fault of the node, the signer or the database
   */
  holdFor(payout: Payout, quote: Quote): Promise<EngineReason | null>;
  /**
   * Judges a higher fee for what is signed, and saves what it waits for.
   * @param quote of the replacement; null: the price is not above the fee
   * @returns whether the fee stays as it is
   * @throws Fault of the node, the signer or the database
   */
  keepsFee(payout: Payout, quote: Quote | null): Promise<boolean>;
}

type Sweep = Payout & Readonly<{ intent: SweepIntent }>;

export function createDearSweeps({
  network,
  rules,
  costs,
  database,
  clock,
}: Readonly<{
  network: Pick<NetworkConfig, 'tokens' | 'nativeSymbol' | 'sweep'>;
  rules: Pick<SpendRules, 'payer' | 'nativeDecimals'>;
  costs: Pick<SweepCosts, 'price' | 'judge'>;
  database: Pick<Database, 'findPayout' | 'recordWait'>;
  clock: Pick<Clock, 'nowMs'>;
}>): DearSweeps {
  const { sweep: policy, tokens, nativeSymbol } = network;

  /** Returns the sweep that this is, or that it gives gas for, unless an operator has ordered it. */
  async function automatic(payout: Payout | null): Promise<Sweep | null> {
    if (!payout || policy.nativePricePar === null) return null;
    const { intent, servesId, isOrdered } = payout;
    if (intent.kind === 'gas' && servesId !== null) return automatic(await database.findPayout(servesId));
    return intent.kind === 'sweep' && !isOrdered ? { ...payout, intent } : null;
  }

  async function whyDear({ id, intent }: Sweep, quote: Quote | undefined): Promise<EngineReason | null> {
    const price = await costs.price(intent, { lentUnits: 0n }, quote);
    if (price.kind === 'refused') return null;
    const { sharePpm, isTooDear } = costs.judge(intent, price.costUnits, policy);
    if (!isTooDear || sharePpm === null) return null;
    const decimals = tokens.find(({ symbol }) => symbol === intent.currency)?.decimals ?? 0;
    const amount = `${formatUnits(unitsOf(intent), decimals, MINOR_DECIMALS)} ${intent.currency}`;
    const cost = `${formatUnits(price.costUnits, rules.nativeDecimals)} ${nativeSymbol ?? 'native coin'}`;
    const message =
      `sweeping ${amount} would cost about ${cost} now, ${percentOf(sharePpm)} of it, and sweep.cost_share_max is ` +
      `${percentOf(policy.costSharePpmMax)}. It goes on by itself when that is less; \`quayside sweep order ${id}\` ` +
      'has it made whatever it costs';
    return { code: SWEEP_TOO_DEAR, message };
  }

  /** Saves what a payout waits for, and leaves when it is due; null ends only our own reason. */
  async function save({ id, generation, wait: known, notBeforeMs }: Payout, wait: EngineReason | null): Promise<void> {
    if (!wait && known?.code !== SWEEP_TOO_DEAR) return;
    await database.recordWait({ id, generation, wait, nextLookAtMs: notBeforeMs, nowMs: clock.nowMs() });
  }

  return {
    async holdFor(payout, quote) {
      const sweep = await automatic(payout);
      if (!sweep) return null;
      const isGas = payout.id !== sweep.id;
      // Gas that cannot be given now has a reason of its own.
      if (isGas && quote.kind === 'refused') return null;
      const hold = await whyDear(sweep, isGas ? undefined : quote);
      if (isGas) await save(sweep, hold);
      return hold;
    },
    async keepsFee(payout, quote) {
      const sweep = rules.payer(payout.intent).role === 'collection' ? await automatic(payout) : null;
      const dear = sweep && quote ? await whyDear(sweep, quote) : null;
      const wait = dear && {
        ...dear,
        message: `its transaction is sent until it is in a block, and a higher fee is not offered: ${dear.message}`,
      };
      await save(payout, wait);
      return quote === null || wait !== null;
    },
  };
}
