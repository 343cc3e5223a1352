/**
 * What an alarm is worth telling a person, and how that and news are said.
 * @module
 */
import { plainLine } from './excerpt.ts';
import { countedNews, type News, type NewsKind, newsDetail, newsLine } from './news.ts';

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
  'comparison_differs',
  'recovery_code_used',
  'passkey_copied',
]);
const knows: ReadonlySet<string> = new Set([
  'address_pool_low',
  'addresses_retired',
  'network_behind',
  'rates_stale',
  'rates_single_source',
  'webhook_failing',
  'webhooks_delayed',
  'api_key_expiring',
  'comparison_stale',
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

/** News waits so long for more, so that it is told together. */
export const NEWS_DELAY_MS = 5 * MINUTE_MS;
/** So long it is tried to tell news. */
export const NEWS_AGE_MS_MAX = DAY_MS;

/** What is said of one alarm. `message`: the alarm's own text, which may name amounts. `times`: told before. */
export type AlarmTold = Readonly<{
  alarmId: number;
  code: string;
  message: string;
  network: string | null;
  change: Change;
  severity: Severity;
  times: number;
}>;

/** What is said of news: of one, or only how many there were (`facts` is null). */
export type NewsTold = Readonly<{
  newsId: number;
  kind: NewsKind;
  facts: News | null;
  count: number;
  severity: Severity;
  times: number;
}>;

export type Told = AlarmTold | NewsTold;

const TITLE_CHARACTERS_MAX = 120;
const LINES_MAX = 20;
const LINE_CHARACTERS_MAX = 600;
/** Returns what people read of an alarm: what is wrong, and where. */
export const alarmTitle = ({ code, network }: Pick<AlarmTold, 'code' | 'network'>): string =>
  `${code.replaceAll('_', ' ')}${network === null ? '' : ` on ${network}`}`;

const prefixes: Readonly<Record<Change, string>> = { opened: '', acknowledged: 'Acknowledged: ', ended: 'Over: ' };

/** Returns what happened, and under which number it is known. */
function line(told: Told): string {
  if ('newsId' in told) {
    const { newsId, kind, facts, count } = told;
    return facts === null ? countedNews(kind, count) : `${newsLine(facts)} (N-${newsId})`;
  }
  const { alarmId, change, times } = told;
  const again = change === 'opened' && times > 0 ? ', told again' : '';
  return `${prefixes[change]}${alarmTitle(told)} (A-${alarmId}${again})`;
}

/** Returns what is only said where details may be. */
function detail(told: Told): string | null {
  if ('newsId' in told) return told.facts === null ? null : newsDetail(told.facts);
  return told.change === 'opened' ? told.message : null;
}

const countOf = (all: readonly Told[]): number => all.reduce((sum, one) => sum + ('newsId' in one ? one.count : 1), 0);

/** The worst comes first, and payments last: many of them must not hide the rest. */
const rankOf = (told: Told): number =>
  'newsId' in told && told.kind === 'payment' ? severities.length : severities.indexOf(told.severity);

const ALARM_ADVICE =
  'On the machine, `quayside alarms list` says what each means and what to do; ' +
  '`quayside alarms acknowledge <id>` says that somebody is looking, and ends the repeats.';
const ACCESS_ADVICE =
  'If nobody of you wanted that: `quayside key revoke <id>` and `quayside user remove <name>` undo it, ' +
  '`quayside audit list` says who did what.';

/** Returns what to do about what is told; payments need nothing. */
const adviceFor = (all: readonly Told[]): readonly string[] => [
  ...(all.some((told) => 'alarmId' in told) ? [ALARM_ADVICE] : []),
  ...(all.some((told) => 'newsId' in told && told.kind !== 'payment') ? [ACCESS_ADVICE] : []),
];

export type NoticeText = Readonly<{ title: string; text: string; severity: Severity }>;

/**
 * Returns one message for all that is due at a target, at least one.
 * @param showsDetails adds each alarm's own text, and of a payment its amount and order
 * @param sender names the installation
 */
export function noticeText(all: readonly Told[], showsDetails: boolean, sender: string): NoticeText {
  const severity = severities.find((one) => all.some((told) => told.severity === one)) ?? 'know';
  const [first] = all;
  const subject = all.length === 1 && first !== undefined ? line(first) : `${countOf(all)} notices`;
  const sorted = [...all].sort((a, b) => rankOf(a) - rankOf(b));
  const lines = sorted.slice(0, LINES_MAX).flatMap((told) => {
    const more = showsDetails ? detail(told) : null;
    return [
      plainLine(line(told), LINE_CHARACTERS_MAX),
      ...(more === null ? [] : [`  ${plainLine(more, LINE_CHARACTERS_MAX)}`]),
    ];
  });
  const unsaid = countOf(sorted.slice(LINES_MAX));
  const advice = adviceFor(all);
  return {
    severity,
    title: plainLine(`${sender}: ${subject}`, TITLE_CHARACTERS_MAX),
    text: [...lines, ...(unsaid > 0 ? [`and ${unsaid} more`] : []), ...advice.flatMap((one) => ['', one])].join('\n'),
  };
}
