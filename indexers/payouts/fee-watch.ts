/**
 * Raises an alarm when a refund may cost a large part of what it pays, or far more than it was first offered for.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import { isPayback } from '../../src/core/intent.ts';
import { formatUnits, toPar } from '../../src/core/money.ts';
import type { Attempt, Payout } from '../../src/core/payout.ts';
import { costSharePpm } from '../../src/core/sweep.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** The largest fee without an alarm: a part of the refund, in millionths, and a multiple of the first offer. */
const FEE_SHARE_PPM_MAX = 250_000n;
const FEE_FACTOR_MAX = 10n;
/** Small refunds while a chain is dear would fill the list of alarms. */
const ALARM_MS_MIN = 3_600_000;

export interface FeeWatch {
  /**
   * Notes an attempt that is about to be signed.
   * @param attempts of its generation, the newest last
   * @throws Fault `storage_unavailable`
   */
  note(payout: Payout, attempts: readonly Attempt[]): Promise<void>;
}

export function createFeeWatch(
  network: Pick<NetworkConfig, 'key' | 'tokens' | 'nativeSymbol' | 'sweep'>,
  nativeDecimals: number,
  database: Pick<Database, 'raiseAlarm'>,
  clock: Pick<Clock, 'nowMs'>,
): FeeWatch {
  let raisedAtMs = Number.NEGATIVE_INFINITY;

  function whyDear({ intent }: Payout, attempts: readonly Attempt[]): string | null {
    const [first, newest] = [attempts[0]?.feeUnitsMax ?? 0n, attempts.at(-1)?.feeUnitsMax ?? 0n];
    if (!isPayback(intent)) return null;
    if (newest > FEE_FACTOR_MAX * first) return `more than ${FEE_FACTOR_MAX} times its first offer`;
    const token = network.tokens.find(({ symbol }) => symbol === intent.currency);
    const valuePar = token ? toPar(intent.units, token.decimals) : 0n;
    const share = valuePar > 0n ? costSharePpm(newest, nativeDecimals, valuePar, network.sweep) : null;
    return share !== null && share > FEE_SHARE_PPM_MAX ? `${share / 10_000n} % of what it pays` : null;
  }

  return {
    async note(payout, attempts) {
      const why = whyDear(payout, attempts);
      const nowMs = clock.nowMs();
      if (why === null || nowMs < raisedAtMs + ALARM_MS_MIN) return;
      raisedAtMs = nowMs;
      const cost = `${formatUnits(attempts.at(-1)?.feeUnitsMax ?? 0n, nativeDecimals)} ${network.nativeSymbol ?? 'of native coin'}`;
      const message =
        `${payout.intent.kind} ${payout.id} on ${network.key} may cost up to ${cost} in fees, ${why}. It goes on; ` +
        `\`quayside payouts show ${payout.id}\` shows its attempts. A lower fee_max in the signer's policy would stop it.`;
      await database.raiseAlarm({
        atMs: nowMs,
        code: 'refund_fee_high',
        message,
        network: network.key,
        sessionId: null,
      });
    },
  };
}
