/**
 * What an alarm is worth telling a person, and how it is said.
 * @module
 */
import { plainLine } from './excerpt.ts';

/** `page`: money or custody is at risk. `act`: somebody waits. `know`: it can wait for the morning. */
export const severities = ['page', 'act', 'know'] as const;
export type Severity = (typeof severities)[number];

/** Whoever is on call is told at once, also at night, and again until it is acknowledged. */
const pages: ReadonlySet<string> = new Set([
  'payment_reversed',
  'payouts_frozen',
  'payout_signed_after_end',
  'payout_paid_after_end',
  'sweep_not_ours',
  'wallet_balance_short',
  'row_altered',
  'address_not_derived',
  'reorg_below_floor',
  'chain_id_mismatch',
  'decimals_mismatch',
  'token_not_a_contract',
  'indexer_silent',
  'second_node_disagrees',
  'evidence_differs',
  'recovery_code_used',
  'passkey_copied',
]);
const knows: ReadonlySet<string> = new Set([
  'sign_in_new_device',
  'address_pool_low',
  'addresses_retired',
  'network_behind',
  'rates_stale',
  'rates_single_source',
  'webhook_failing',
  'webhooks_delayed',
  'api_key_expiring',
  'evidence_stale',
  'evidence_not_made',
]);

export const severityOf = (code: string): Severity => (pages.has(code) ? 'page' : knows.has(code) ? 'know' : 'act');

/** Whether one severity is worse than another. */
export const isWorse = (one: Severity, other: Severity): boolean => severities.indexOf(one) < severities.indexOf(other);

/** Every code that has a severity of its own. */
export const gradedCodes: readonly string[] = [...pages, ...knows];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** What happened to an alarm that is told. */
export type Change = 'opened' | 'acknowledged' | 'ended';

/** How long a change waits for others, or for being taken back, before it is told. */
const delays: Readonly<Record<Change, Readonly<Record<Severity, number>>>> = {
  opened: { page: 0, act: 0, know: 5 * MINUTE_MS },
  acknowledged: { page: 0, act: 5 * MINUTE_MS, know: 5 * MINUTE_MS },
  ended: { page: 2 * MINUTE_MS, act: 2 * MINUTE_MS, know: 5 * MINUTE_MS },
};
export const noticeDelayMs = (change: Change, severity: Severity): number => delays[change][severity];

/** @returns how long after it was told for the `times`th time an open alarm is told again; null for never */
export function repeatAfterMs(severity: Severity, times: number): number | null {
  if (severity === 'know') return null;
  if (severity === 'act') return DAY_MS;
  return [15 * MINUTE_MS, 45 * MINUTE_MS][times - 1] ?? DAY_MS;
}

/** After these minutes the same message is tried again, and from then on each hour, for a day in all. */
const RETRY_MINUTES = [1, 2, 4, 8, 16, 32];
export const NOTICE_TRIES_MAX = RETRY_MINUTES.length + 25;
export const noticeRetryMs = (tries: number): number => (RETRY_MINUTES[tries - 1] ?? 60) * MINUTE_MS;

/** What is said of one alarm. `message`: the alarm's own text, which may name amounts. `times`: told before. */
export type Told = Readonly<{
  alarmId: number;
  code: string;
  message: string;
  network: string | null;
  change: Change;
  severity: Severity;
  times: number;
}>;

const TITLE_CHARACTERS_MAX = 120;
const LINES_MAX = 20;
const LINE_CHARACTERS_MAX = 600;
/** Returns what people read of an alarm: what is wrong, and where. */
export const alarmTitle = ({ code, network }: Pick<Told, 'code' | 'network'>): string =>
  `${code.replaceAll('_', ' ')}${network === null ? '' : ` on ${network}`}`;

const prefixes: Readonly<Record<Change, string>> = { opened: '', acknowledged: 'Acknowledged: ', ended: 'Over: ' };

function line(told: Told): string {
  const { alarmId, change, times } = told;
  const again = change === 'opened' && times > 0 ? ', told again' : '';
  return `${prefixes[change]}${alarmTitle(told)} (A-${alarmId}${again})`;
}

export type NoticeText = Readonly<{ title: string; text: string; severity: Severity }>;

/**
 * Returns one message for all that is due at a target, at least one.
 * @param showsDetails adds each alarm's own text, which may name amounts, orders and addresses
 * @param sender names the installation
 */
export function noticeText(all: readonly Told[], showsDetails: boolean, sender: string): NoticeText {
  const severity = severities.find((one) => all.some((told) => told.severity === one)) ?? 'know';
  const [first] = all;
  const isOne = all.length === 1 && first !== undefined;
  const subject = isOne ? line(first) : `${all.length} notices`;
  const shown = all.slice(0, LINES_MAX).flatMap((told) => {
    const detail =
      showsDetails && told.change === 'opened' ? [`  ${plainLine(told.message, LINE_CHARACTERS_MAX)}`] : [];
    return [plainLine(line(told), LINE_CHARACTERS_MAX), ...detail];
  });
  const rest = all.length > LINES_MAX ? [`and ${all.length - LINES_MAX} more`] : [];
  const advice =
    'On the machine, `quayside alarms list` says what each means and what to do; ' +
    '`quayside alarms acknowledge <id>` says that somebody is looking, and ends the repeats.';
  return {
    severity,
    title: plainLine(`${sender}: ${subject}`, TITLE_CHARACTERS_MAX),
    text: [...shown, ...rest, '', advice].join('\n'),
  };
}
