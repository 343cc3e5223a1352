/** Chooses the alarms to send to a target now, and their wording. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { plainLine } from './excerpt.ts';

/** `page`: money or custody is at risk. `act`: somebody is waiting. `know`: it can wait for the morning. */
export const severities = ['page', 'act', 'know'] as const;
export type Severity = (typeof severities)[number];

const pages: ReadonlySet<string> = new Set([
  'payment_reversed',
  'payouts_frozen',
  'payout_paid_after_end',
  'sweep_not_ours',
  'row_altered',
  'reorg_below_floor',
  'chain_id_mismatch',
  'decimals_mismatch',
  'indexer_silent',
  'second_node_disagrees',
  'comparison_differs',
  'recovery_code_used',
  'passkey_copied',
]);
const knows: ReadonlySet<string> = new Set([
  'address_pool_low',
  'network_behind',
  'rates_stale',
  'rates_single_source',
  'webhook_failing',
  'webhooks_delayed',
  'comparison_stale',
]);

export const severityOf = (code: string): Severity => (pages.has(code) ? 'page' : knows.has(code) ? 'know' : 'act');

const isAtLeast = (one: Severity, least: Severity): boolean => severities.indexOf(one) <= severities.indexOf(least);

/** Every code that has a severity of its own. */
export const gradedCodes: readonly string[] = [...pages, ...knows];

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Minutes before each retry of a message. Later retries are an hour apart. */
const RETRY_MINUTES = [1, 2, 4, 8, 16, 32];
export const noticeRetryMs = (tries: number): number => (RETRY_MINUTES[tries - 1] ?? 60) * MINUTE_MS;

/**
 * An alarm, and the time at which it was last sent to a target (null if never). `isOver`: it has ended, or is resolved.
 */
export type WatchedAlarm = Readonly<{
  id: number;
  key: string | null;
  code: string;
  /** The alarm's own text, which may contain amounts, orders and addresses. */
  message: string;
  network: string | null;
  isOver: boolean;
  isAcknowledged: boolean;
  toldAtMs: number | null;
}>;

/** The reason for a message. `repeated`: sent before, and nobody has acknowledged the alarm. */
export type Change = 'opened' | 'repeated' | 'ended';

export type Told = WatchedAlarm & Readonly<{ change: Change; severity: Severity }>;

/** A target gets alarms that are at least as severe as `least`, except the one about itself (`ownKey`). */
type Hearer = Readonly<{ least: Severity; ownKey: string }>;

/**
 * Returns the alarms to send to a target now, in one message. An alarm that ended before its first message is left out.
 * A day after the first message, all alarms that nobody has acknowledged are repeated together.
 */
export function dueNotices(all: readonly WatchedAlarm[], { least, ownKey }: Hearer, nowMs: number): readonly Told[] {
  const told = all.flatMap((alarm): readonly Told[] => {
    const severity = severityOf(alarm.code);
    if (!isAtLeast(severity, least) || alarm.key === ownKey) return [];
    if (alarm.isOver) return alarm.toldAtMs === null ? [] : [{ ...alarm, severity, change: 'ended' }];
    if (alarm.isAcknowledged) return [];
    return [{ ...alarm, severity, change: alarm.toldAtMs === null ? 'opened' : 'repeated' }];
  });
  // A clock that was set back must not silence the repeats, so a time in the future counts as long ago.
  const isOld = ({ toldAtMs }: Told) => toldAtMs !== null && Math.abs(nowMs - toldAtMs) >= DAY_MS;
  const areRepeated = told.some((one) => one.change === 'repeated' && isOld(one));
  return told.filter(({ change }) => change !== 'repeated' || areRepeated);
}

/** Returns the id of a message, derived from its content, so that a receiver recognises a duplicate. */
export function noticeId(targetId: string, told: readonly Told[]): string {
  const lines = told.map(({ id, change, toldAtMs }) => `${id} ${change} ${toldAtMs}`);
  return `notice-${bytesToHex(sha256(utf8ToBytes([targetId, ...lines].join('\n')))).slice(0, 26)}`;
}

const TITLE_CHARACTERS_MAX = 120;
const LINES_MAX = 20;
const LINE_CHARACTERS_MAX = 600;

const prefixes: Readonly<Record<Change, string>> = {
  opened: '',
  repeated: 'Not acknowledged: ',
  ended: 'Over: ',
};

const line = ({ id, code, network, change }: Told): string =>
  `${prefixes[change]}${code.replaceAll('_', ' ')}${network === null ? '' : ` on ${network}`} (A-${id})`;

const ADVICE =
  'On the machine, `quayside alarm list` explains each alarm and the remedy. ' +
  '`quayside alarm acknowledge <id>` ends the repeats of one.';

export type NoticeText = Readonly<{ title: string; text: string; severity: Severity }>;

/** Formats an alarm in one line, followed by its own text if that may leave the machine. */
function said(told: Told, showsMessages: boolean): readonly string[] {
  const title = plainLine(line(told), LINE_CHARACTERS_MAX);
  const isShown = showsMessages && told.change !== 'ended';
  return isShown ? [title, `  ${plainLine(told.message, LINE_CHARACTERS_MAX)}`] : [title];
}

/**
 * Returns one message for all alarms that are due at a target, the most severe first.
 * @param all at least one
 * @param sender names the installation
 * @param showsMessages adds each alarm's own text
 */
export function noticeText(all: readonly Told[], sender: string, showsMessages: boolean): NoticeText {
  const sorted = severities.flatMap((severity) => all.filter((one) => one.severity === severity));
  const [first] = sorted;
  const subject = all.length === 1 && first !== undefined ? line(first) : `${all.length} notices`;
  const lines = sorted.slice(0, LINES_MAX).flatMap((told) => said(told, showsMessages));
  const unsaid = sorted.length - LINES_MAX;
  return {
    severity: first?.severity ?? 'know',
    title: plainLine(`${sender}: ${subject}`, TITLE_CHARACTERS_MAX),
    text: [...lines, ...(unsaid > 0 ? [`and ${unsaid} more`] : []), '', ADVICE].join('\n'),
  };
}
