/**
 * The table of everything that is watched: how long a trouble must last, and what an operator does about it. The alarms
 * page (docs/reference/alarms.md) says the same to people.
 */
import type { AlarmScope } from '../../database/alarms.ts';

/** `patience`: the setting `alarms.patience_s`. */
type RaiseAfter = number | 'patience';

/** `advice` names the command to run; null where the message does. */
type Rule = Readonly<{ scope: AlarmScope; raiseAfterMs: RaiseAfter; advice: string | null }>;

const MINUTE_MS = 60_000;

const rule = (scope: AlarmScope, raiseAfterMs: RaiseAfter, advice: string | null): Rule => ({
  scope,
  raiseAfterMs,
  advice,
});

const REPLACE_KEY =
  'Make another with `quayside key create --store <store> --mode <mode>`, use it, then `quayside key revoke <id>`';

export const watchRules = {
  indexer_silent: rule(
    'network',
    MINUTE_MS,
    'No payment there is seen. `quayside status` shows when it last reported; the log says why it does not run',
  ),
  /** The code of the alarm is that of the reason. */
  network_halted: rule(
    'network',
    0,
    'Nothing is credited there until it is followed again; see `quayside show <network>`',
  ),
  network_fault: rule(
    'network',
    'patience',
    'Payments in later blocks are not seen. Look at the node; `quayside show <network>` says what to do',
  ),
  network_behind: rule(
    'network',
    'patience',
    'Payments are seen late. `quayside show <network>` shows whether it is catching up',
  ),
  head_stalled: rule(
    'network',
    'patience',
    'The chain has stopped, or the node is cut off from it: compare the height in `quayside status` with an explorer',
  ),
  finality_stalled: rule('payments', MINUTE_MS, null),
  finality_not_asked: rule('payments', MINUTE_MS, null),
  second_node_disagrees: rule('payments', MINUTE_MS, null),
  second_node_unavailable: rule('payments', MINUTE_MS, null),
  payments_slow: rule(
    'payments',
    'patience',
    'They are credited once the network’s policy is met; `quayside show <network>` shows what it waits for',
  ),
  address_pool_low: rule('pool', 0, null),
  address_pool_empty: rule('pool', 0, null),
  address_pool_unfilled: rule('pool', MINUTE_MS, 'See the log of the server, and `quayside status`'),
  rates_stale: rule(
    'rates',
    'patience',
    'Sessions in other currencies than USD, USDT and USDC are refused. `quayside status` shows what each source answered',
  ),
  rates_single_source: rule(
    'rates',
    'patience',
    'Sessions in currencies that are not in rates.static or rates.single_source are refused; see `quayside status`',
  ),
  coin_depegged: rule(
    'coin',
    0,
    'It is not offered to sessions in another currency until it is halfway back to a dollar. ' +
      'Sessions that exist still take it at par: `quayside show <id>` shows one',
  ),
  clock_skewed: rule(
    'clock',
    MINUTE_MS,
    'Deadlines and signatures of requests depend on this clock: compare it with `date -u` elsewhere, and start NTP',
  ),
  api_key_expiring: rule('key', 0, REPLACE_KEY),
  api_key_expired: rule('key', 0, REPLACE_KEY),
  disk_filling: rule(
    'disk',
    0,
    'When nothing is left, new sessions are refused. Remove what is not needed, such as old backups, or make it larger; ' +
      '`quayside status` shows when it is enough',
  ),
  comparison_stale: rule(
    'nightly',
    0,
    'Read the log of the night (`comparison`), which says why; `quayside network check <network>` looks at the node',
  ),
  backup_unproved: rule(
    'backup',
    0,
    'Correct what it says, then `quayside backup`; `quayside status` shows the newest one that was proved',
  ),
  webhook_off: rule(
    'endpoint',
    0,
    'Its events wait. Once it works again: `quayside webhook set <endpoint> --state on`; for good: `quayside webhook remove <endpoint>`',
  ),
  webhook_failing: rule(
    'endpoint',
    0,
    '`quayside show <endpoint>` says what is wrong; then `quayside webhook resend <endpoint> --since 3d`',
  ),
  webhooks_failed: rule(
    'deliveries',
    0,
    '`quayside webhook list --state failed` shows them, and `quayside webhook resend --since 1d` sends them again',
  ),
  webhooks_delayed: rule('sending', 0, null),
  wallet_low: rule(
    'wallet',
    0,
    'Payouts wait for it, or soon will. Send it some; `quayside status` shows what it holds',
  ),
  payouts_delayed: rule('payouts', 10 * MINUTE_MS, '`quayside payout list` shows which; they are tried again'),
  payouts_frozen: rule(
    'frozen',
    0,
    'Nothing is signed or sent there. Find the cause, then `quayside payout reconcile <network> --reason REASON`',
  ),
  refunds_overdue: rule('refunds', 0, 'They wait until it is resolved; no money is lost. See `quayside payout list`'),
} as const satisfies Readonly<Record<string, Rule>>;

export type WatchCode = keyof typeof watchRules;
