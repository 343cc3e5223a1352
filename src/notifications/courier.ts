/**
 * Sends what is due to those who are informed about alarms and news. A message that was sent and not recorded, because
 * the program ended in between, is sent again under the same id.
 * @module
 */
import { randomUUID } from 'node:crypto';
import { transient } from '../core/fault.ts';
import { tallyLine } from '../core/news.ts';
import {
  alarmTitle,
  NOTICE_TRIES_MAX,
  type NoticeText,
  noticeRetryMs,
  noticeText,
  severityOf,
} from '../core/notice.ts';
import { type Alarm, alarmKey } from '../database/alarms.ts';
import type { Database } from '../database/database.ts';
import type { DueNotice, NoticeTarget } from '../database/notices.ts';
import { type Clock, DAY_MS, toSeconds } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { type Delivered, deliver } from './channels.ts';
import { nextMinuteMs, quietUntilMs } from './local-time.ts';
import type { Send } from './post.ts';

const LOOK_MS = 5_000;
const MINUTE_MS = 60_000;
/** Notices in one message; what is due besides follows in the next. */
const FOLDED_MAX = 500;
/** After so many messages to a target in so long, what follows waits and is sent as one; pages wait a minute. */
const STORM_MESSAGES = 10;
const STORM_MS = 5 * MINUTE_MS;
/** After that, messages with a page in them in a minute. */
const STORM_PAGES = 1;
const PING_MS = MINUTE_MS;
const DIGEST_ALARMS_MAX = 20;

export type CourierOptions = Readonly<{
  database: Pick<
    Database,
    | 'listNoticeTargets'
    | 'noticeAddress'
    | 'dueNotices'
    | 'settleNotices'
    | 'noticesSentSince'
    | 'setNextDigest'
    | 'listOpenAlarms'
    | 'findSession'
    | 'keepAlarm'
    | 'endAlarm'
  >;
  send: Send;
  clock: Clock;
  log: Log;
  /** Names this installation in each message. */
  sender: string;
  /** Ends what is being sent; it is sent again later. */
  signal: AbortSignal;
}>;

export type Courier = Readonly<{
  /** Sends what is due now. @throws Fault transient `storage_unavailable` */
  look(): Promise<void>;
}>;

const isPage = ({ severity }: DueNotice): boolean => severity === 'page';

export function createCourier({ database, send, clock, log, sender, signal }: CourierOptions): Courier {
  const pingedAtMs = new Map<string, number>();
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(transient('stopped', 'the program is stopping')), { once: true });
  });
  stopped.catch(() => {});

  async function sendTo(target: NoticeTarget, id: string, text: NoticeText): Promise<Delivered> {
    const address = await database.noticeAddress(target.id);
    // It was removed meanwhile.
    if (address === null) return { ok: true, status: null, text: '', retryAfterMs: null };
    const stamp = { id, atS: toSeconds(clock.nowMs()), nonce: randomUUID() };
    const answer = await Promise.race([deliver(send, target.kind, address, { ...text, ...stamp }), stopped]);
    const line = { target: target.id, kind: target.kind, status: answer.status };
    if (answer.ok) log.info(line, 'notice sent');
    else log.warn({ ...line, answer: answer.text }, 'notice not sent');
    return answer;
  }

  /** Records what became of a message, and tells the other targets of one that has failed for a day. */
  async function settle(target: NoticeTarget, due: readonly DueNotice[], answer: Delivered): Promise<void> {
    const nowMs = clock.nowMs();
    const key = alarmKey('notices', target.id);
    if (answer.ok) {
      await database.settleNotices(target.id, due, { kind: 'sent' }, nowMs);
      if (target.failingSinceMs !== null) await database.endAlarm(key, nowMs);
      return;
    }
    const error = `${answer.status ?? 'no answer'}: ${answer.text}`;
    const tries = Math.min(...due.map((one) => one.tries)) + 1;
    const atMs = nowMs + Math.max(noticeRetryMs(tries), answer.retryAfterMs ?? 0);
    const isLast = due.length > 0 && tries >= NOTICE_TRIES_MAX;
    const outcome = isLast ? ({ kind: 'failed', error } as const) : ({ kind: 'again', atMs, error } as const);
    await database.settleNotices(target.id, due, outcome, nowMs);
    if (target.failingSinceMs === null || nowMs - target.failingSinceMs < DAY_MS) return;
    const message =
      `Notices to ${target.name} (${target.id}) have not arrived for a day: ${error}. ` +
      `Correct it, and try it with \`quayside notify test ${target.id}\``;
    await database.keepAlarm({
      key,
      atMs: nowMs,
      code: 'notice_target_failing',
      message,
      network: null,
      sessionId: null,
    });
  }

  /**
   * Returns until when messages to a target are held back, as it has had too many; null if it has not. All that comes
   * meanwhile is due at the same time. A flood of lesser alarms must not hide a page.
   */
  async function stormUntilMs(target: NoticeTarget, hasPage: boolean): Promise<number | null> {
    const nowMs = clock.nowMs();
    const stepMs = hasPage ? MINUTE_MS : STORM_MS;
    const sentMax = hasPage ? STORM_PAGES : STORM_MESSAGES;
    if ((await database.noticesSentSince(target.id, nowMs - STORM_MS)) < STORM_MESSAGES) return null;
    if ((await database.noticesSentSince(target.id, nowMs - stepMs)) < sentMax) return null;
    return (Math.floor(nowMs / stepMs) + 1) * stepMs;
  }

  /** Puts off what may wait, and returns what is to be sent now. */
  async function afterQuiet(target: NoticeTarget, due: readonly DueNotice[]): Promise<readonly DueNotice[]> {
    const nowMs = clock.nowMs();
    const put = async (some: readonly DueNotice[], atMs: number) => {
      if (some.length > 0) await database.settleNotices(target.id, some, { kind: 'wait', atMs }, nowMs);
    };
    const stormUntil = await stormUntilMs(target, due.some(isPage));
    if (stormUntil !== null) {
      await put(due, stormUntil);
      return [];
    }
    const quietUntil = quietUntilMs(target.quiet, target.zone, nowMs);
    if (quietUntil === null) return due;
    await put(
      due.filter((one) => !isPage(one)),
      quietUntil,
    );
    return due.filter(isPage);
  }

  async function sendDue(target: NoticeTarget): Promise<void> {
    const found = await database.dueNotices(target.id, clock.nowMs(), FOLDED_MAX);
    if (found.length === 0) return;
    const due = await afterQuiet(target, found);
    const [first] = due;
    if (!first) return;
    const id = 'newsId' in first ? `N-${first.id}-${first.times}` : `A-${first.alarmId}-${first.id}-${first.times}`;
    const answer = await sendTo(target, id, noticeText(due, target.showsDetails, sender));
    await settle(target, due, answer);
  }

  /** Returns what is open; for a target of one store only what is about its payments. */
  async function openFor({ storeId }: NoticeTarget): Promise<readonly Alarm[]> {
    const open = await database.listOpenAlarms();
    if (storeId === null) return open;
    const own: Alarm[] = [];
    for (const alarm of open) {
      const session = alarm.sessionId === null ? null : await database.findSession(alarm.sessionId);
      if (session?.storeId === storeId) own.push(alarm);
    }
    return own;
  }

  async function sendDigest(target: NoticeTarget): Promise<void> {
    const { digestMinute, digestAtMs, zone } = target;
    const nowMs = clock.nowMs();
    if (digestMinute === null || (digestAtMs !== null && digestAtMs > nowMs)) return;
    const tally = tallyLine(await database.setNextDigest(target.id, nextMinuteMs(zone, digestMinute, nowMs)));
    if (digestAtMs === null) return;
    const open = await openFor(target);
    const lines = open.slice(0, DIGEST_ALARMS_MAX).map((alarm) => `${alarmTitle(alarm)} (A-${alarm.id})`);
    const rest = open.length > lines.length ? [`and ${open.length - lines.length} more`] : [];
    const text = [
      ...lines,
      ...rest,
      ...(tally === null ? [] : [tally]),
      '',
      'On the machine, `quayside status` shows the whole.',
    ].join('\n');
    const title = open.length === 0 ? `${sender}: all quiet` : `${sender}: ${open.length} open alarms`;
    await settle(
      target,
      [],
      await sendTo(target, `digest-${target.id}-${digestAtMs}`, { title, text, severity: 'know' }),
    );
  }

  /** Calls a dead-man URL each minute, while nothing is open that a person must see at once. */
  async function ping(target: NoticeTarget): Promise<void> {
    const nowMs = clock.nowMs();
    if (nowMs - (pingedAtMs.get(target.id) ?? 0) < PING_MS) return;
    const isWell = (await database.listOpenAlarms()).every(({ code }) => severityOf(code) !== 'page');
    if (!isWell) return;
    pingedAtMs.set(target.id, nowMs);
    await settle(target, [], await sendTo(target, `ping-${nowMs}`, { title: '', text: '', severity: 'know' }));
  }

  return {
    async look() {
      const all = await database.listNoticeTargets();
      const targets = all.filter(({ provedAtMs, pausedAtMs }) => provedAtMs !== null && pausedAtMs === null);
      await Promise.all(
        targets.map(async (target) => {
          if (target.kind === 'dead-man') return ping(target);
          await sendDue(target);
          await sendDigest(target);
        }),
      );
    },
  };
}

/** Sends notices until the signal. */
export function runNotices(options: CourierOptions): Promise<void> {
  const { clock, log, signal } = options;
  return every(LOOK_MS, createCourier(options).look, { clock, log, signal, what: 'sending notices' });
}
