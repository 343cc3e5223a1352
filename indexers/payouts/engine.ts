/**
 * The payout engine of one network, which runs next to the follower if a signer is configured. It takes planned
 * payouts, has them signed, broadcasts them, and watches them until they are final. `src/core/payout.ts` decides each
 * payout's next step.
 *
 * It works only while the network is followed, because a transaction may exist that a node that is behind does not
 * find.
 */
import PQueue from 'p-queue';
import type { SpendRules } from '../../src/chains/spend.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { PayoutRules, Recent } from '../../src/core/payout.ts';
import { reason, reasonFault } from '../../src/core/reasons.ts';
import { isFollowed } from '../../src/database/networks.ts';
import type { OpenPayout } from '../../src/database/payouts/attempts.ts';
import { endOf, type Freeze } from '../../src/database/payouts/holds.ts';
import { every } from '../../src/lib/every.ts';
import { acquireLease, endsLease, type PayoutLease } from './journal.ts';
import type { PayerOptions } from './nodes.ts';
import { BEAT_MS, createSettlingIn, SETTLING, type SettlingIn } from './settling-in.ts';
import { createSignerFreezer } from './signer-freeze.ts';
import { type AdvancePayout, createAdvancePayout } from './step.ts';
import { createBalanceWatch, createWalletWatch } from './wallet-watch.ts';
import { createPayoutWallets } from './wallets.ts';

/** Payouts in progress at once. */
const OPEN_MAX = 64;
const CONCURRENCY = 8;
/** Without nonces, signatures need no order. */
const ALLOTTING = { sequence: 1, expiry: CONCURRENCY } as const;
const LOOK_MS = 1000;
/** Interval of the checks whether another engine uses the signer. */
const FOLLOW_MS = 60_000;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;
/**
 * The interval between two broadcasts of the same bytes. Nodes relay a transaction for a while, but drop it if it
 * expires soon or does not fit.
 */
const RESEND_MS = { sequence: { min: 1000, max: 15_000 }, expiry: { min: 3000, max: 3000 } } as const;
/** Longest start of an installation's processes, which is the first one on a busy machine. */
const START_MS_MAX = 60_000;
const OUTBID_MS_MIN = 30_000;
const OUTBID_BLOCKS = 10;

/** Faults that end by themselves. The follower reports a network that is not followed. */
const passing: readonly string[] = ['network_not_followed', SETTLING];

const frozenFault = (freeze: Freeze | null): Fault | null =>
  freeze &&
  transient(
    'payouts_frozen',
    reason('payouts_frozen', { network: freeze.network, by: freeze.frozenBy, why: freeze.reason, end: endOf(freeze) })
      .message,
  );

/** Returns the intervals of a rebroadcast and of the comparison of a fee with the price. */
export const paceOf = ({ lane }: SpendRules, blockTimeMs: number): PayoutRules => {
  const { min, max } = RESEND_MS[lane];
  const resendMs = Math.min(max, Math.max(min, 1.5 * blockTimeMs));
  return { lane, resendMs, outbidMs: Math.max(OUTBID_MS_MIN, OUTBID_BLOCKS * blockTimeMs) };
};

/** Returns the settling-in after a gap; null where the family needs none. */
function settlingInOf({ network, rules, chainNode, database, clock }: PayerOptions): SettlingIn | null {
  const settleMs = rules.settleMs?.(network.payoutExpiryMs);
  return settleMs === undefined
    ? null
    : createSettlingIn({ network: network.key, settleMs, chainNode, engines: database.engines, clock });
}

export type Payer = ReturnType<typeof createPayer>;

export function createPayer(options: PayerOptions) {
  const { network, rules, signer, database, clock, log } = options;
  const { holds, engines } = database;
  const pace = paceOf(rules, network.blockTimeMs);
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const allotting = new PQueue({ concurrency: ALLOTTING[rules.lane] });
  const wallets = createPayoutWallets({ network: network.key, tokens: network.tokens, rules, signer });
  const settlingIn = settlingInOf(options);
  const signerFreezer = createSignerFreezer({ network: network.key, signer, holds, clock, log });
  const walletWatch = createWalletWatch({ ...options, wallets });
  const balances = createBalanceWatch(options);
  /** By open payout: the time of its next step, its memory and its last fault. */
  const schedule = new Map<
    string,
    Readonly<{ nextAtMs: number; memory: Recent; retryMs: number; fault: Fault | null }>
  >();
  let lease: PayoutLease | null = null;
  let advance: AdvancePayout | null = null;
  let followedAtMs = 0;
  let reported: Readonly<{ news: string | null; message: string | undefined }> | null = null;
  /** Until then, transient faults are no warnings, because the signer may still be starting. */
  const startedMs = clock.nowMs() + START_MS_MAX;

  async function begin(): Promise<AdvancePayout> {
    if (lease && advance) return advance;
    lease = await acquireLease(network.key, signer, database);
    advance = createAdvancePayout({ ...options, wallets, lease, pace, allotting, settlingIn });
    return advance;
  }

  /**
   * Refuses to pay while the network is not followed.
   * @returns the network's floor
   * @throws Fault transient `network_not_followed`
   */
  async function refuseUnfollowed(): Promise<number> {
    const status = await database.networks.find(network.key);
    if (status && isFollowed(status, clock.nowMs())) return status.floor;
    const state = status?.state ?? 'not started';
    throw reasonFault('network_not_followed', { network: network.key, state });
  }

  async function advanceOne(advancePayout: AdvancePayout, open: OpenPayout): Promise<void> {
    const { id } = open.payout;
    const { memory = { sentAtMs: null, outbidAtMs: null }, retryMs = 0 } = schedule.get(id) ?? {};
    try {
      const { quoted, ...progress } = await advancePayout(open, memory);
      if (quoted) balances.recordQuote(quoted.draft, quoted.quote);
      await recordFault(open, null);
      schedule.set(id, { ...progress, retryMs: 0, fault: null });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const waitMs = Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, 2 * retryMs));
      schedule.set(id, { nextAtMs: clock.nowMs() + waitMs, memory, retryMs: waitMs, fault: error });
      await recordFault(open, error).catch((failure: unknown) => {
        // The next read reports a failing database. The other payouts continue until then.
        if (!(failure instanceof Fault)) throw failure;
      });
    }
  }

  /** Saves, with the payout, why it cannot be advanced now. */
  async function recordFault({ payout }: OpenPayout, fault: Fault | null): Promise<void> {
    const { id, generation, fault: known } = payout;
    if (known?.code === fault?.code && known?.message === fault?.message) return;
    const reason = fault && { code: fault.code, message: fault.message };
    await database.payouts.recordFault({ id, generation, fault: reason, nowMs: clock.nowMs() });
  }

  /**
   * Runs one iteration over all open payouts that are due.
   * @returns a fault that delays single payouts, if any
   * @throws Fault if nothing can be paid now
   */
  async function look(): Promise<Fault | null> {
    try {
      return await lookOnce();
    } catch (error) {
      // Another engine has the lease, so this one must acquire it again.
      if (!(error instanceof Fault)) throw error;
      if (endsLease(error)) {
        lease = null;
        schedule.clear();
      }
      throw error;
    }
  }

  async function lookOnce(): Promise<Fault | null> {
    await settlingIn?.beat();
    const floor = await refuseUnfollowed();
    const advancePayout = await begin();
    await walletWatch.renew();
    await signerFreezer.renew();
    await settlingIn?.renew(floor, walletWatch.compareCounts);
    const nowMs = clock.nowMs();
    const open = await database.payouts.open(network.key, nowMs, OPEN_MAX);
    const ids = new Set(open.map(({ payout }) => payout.id));
    for (const id of schedule.keys()) if (!ids.has(id)) schedule.delete(id);
    const due = open.filter(({ payout }) => (schedule.get(payout.id)?.nextAtMs ?? 0) <= nowMs);
    await queue.addAll(due.map((one) => () => advanceOne(advancePayout, one)));
    const faults = [...schedule.values()].flatMap(({ fault }) => fault ?? []);
    const last = faults.find(endsLease);
    if (last) throw last;
    if (nowMs >= followedAtMs + FOLLOW_MS) {
      await lease?.follow();
      followedAtMs = nowMs;
    }
    await balances.renew(await wallets.own());
    return settlingIn?.current() ?? faults[0] ?? frozenFault(await holds.find(network.key));
  }

  /** Saves the present fault for `status`, with an alarm if only a person can end it. */
  async function report(fault: Fault | null): Promise<void> {
    const nowMs = clock.nowMs();
    const isQuiet = passing.includes(fault?.code ?? '') || (fault?.kind === 'transient' && nowMs < startedMs);
    const level = isQuiet ? 'info' : 'warn';
    const news = fault && `${level} ${fault.code}`;
    const isNews = reported?.news !== news;
    if (!isNews && reported?.message === fault?.message) return;
    const reason = fault && { code: fault.code, message: fault.message };
    await engines.report(network.key, reason);
    reported = { news, message: fault?.message };
    if (!isNews) return;
    if (reason && fault.kind === 'permanent') {
      await database.alarms.raise({ atMs: nowMs, ...reason, network: network.key, sessionId: null });
    }
    if (reason) log[level]({ code: reason.code, reason: reason.message }, 'payouts are waiting');
    else log.info({ fence: lease?.fence }, 'payouts resume');
  }

  return {
    look,
    /**
     * Pays until the signal aborts.
     * @throws anything but operating faults, which are reported and waited out
     */
    run(signal: AbortSignal): Promise<void> {
      const work = async (): Promise<void> => report(await look());
      const paying = every(LOOK_MS, work, { clock, log, signal, what: 'paying out', onFault: report });
      if (!settlingIn) return paying;
      // With a slow node, an iteration may take minutes.
      const beat = () => settlingIn.beat();
      const beating = every(BEAT_MS, beat, { clock, log, signal, what: 'beating', onFault: async () => {} });
      return Promise.all([paying, beating]).then(() => {});
    },
  };
}
