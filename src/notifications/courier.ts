/**
 * Sends notices of alarms to their targets. If the program ends between sending and recording a message, the message is
 * sent again. It has the same id, if nothing has changed meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { transient } from '../core/fault.ts';
import { dueNotices, type NoticeText, noticeId, noticeRetryMs, noticeText, severityOf } from '../core/notice.ts';
import { alarmKey, type NoticeOutcome, type NoticeTarget } from '../database/alarms.ts';
import type { ChannelKind } from '../database/column-values.ts';
import type { Database } from '../database/database.ts';
import { type Clock, DAY_MS, toSeconds } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import type { Log } from '../lib/log.ts';
import { type Delivered, deliver, type Ways } from './channels.ts';

const LOOK_MS = 5_000;
/** Wait between two messages to a target. A flood of alarms becomes one message that lists them all. */
const MESSAGE_GAP_MS = 60_000;
/** Most new alarms in one message. The next message contains the rest. */
const NEW_ALARMS_MAX = 1_000;

type CourierOptions = Readonly<{
  database: Database;
  ways: Ways;
  clock: Clock;
  log: Log;
  /** Names this installation in each message. */
  sender: string;
  /** Ends messages under way, which are sent again later. */
  signal: AbortSignal;
}>;

type Courier = Readonly<{
  /** Sends the notices that are due now. @throws Fault transient `storage_unavailable` */
  look(): Promise<void>;
}>;

/** Whether a channel's server is the operator's choice. Other services keep messages, so they get no alarm texts. */
const isOwnServer: Readonly<Record<ChannelKind, boolean>> = {
  email: true,
  webhook: true,
  telegram: false,
  ntfy: false,
  slack: false,
  discord: false,
  'dead-man': false,
};

type Sent = Extract<NoticeOutcome, { kind: 'sent' }>;

const ownKey = ({ id }: NoticeTarget): string => alarmKey('notices', id);

/**
 * Returns whether a target's next message has to wait. After a clock was set back, a time in the future counts as long
 * ago, so that it silences no target.
 */
const isWaiting = ({ triedAtMs, waitMs }: NoticeTarget, nowMs: number): boolean =>
  triedAtMs !== null && Math.abs(nowMs - triedAtMs) < waitMs;

export function createCourier({ database, ways, clock, log, sender, signal }: CourierOptions): Courier {
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(transient('stopped', 'the program is stopping')), { once: true });
  });
  stopped.catch(() => {});

  /** @returns null if the target was removed meanwhile */
  async function sendTo(target: NoticeTarget, id: string, text: NoticeText): Promise<Delivered | null> {
    const address = await database.alarms.addressOf(target.id);
    if (address === null) return null;
    const stamp = { id, atS: toSeconds(clock.nowMs()), nonce: randomUUID() };
    const answer = await Promise.race([deliver(ways, target.kind, address, { ...text, ...stamp }), stopped]);
    const line = { target: target.id, kind: target.kind, status: answer.status };
    if (answer.ok) log.info(line, 'notice sent');
    else log.warn({ ...line, answer: answer.text }, 'notice not sent');
    return answer;
  }

  /** Records a failure. Once a target has failed for a day, it raises an alarm, which the other targets get. */
  async function settleFailure(target: NoticeTarget, { status, text, retryAfterMs }: Delivered): Promise<void> {
    const nowMs = clock.nowMs();
    const error = `${status ?? 'no answer'}: ${text}`;
    const retryMs = target.kind === 'dead-man' ? MESSAGE_GAP_MS : noticeRetryMs(target.tries + 1);
    const waitMs = Math.max(retryMs, retryAfterMs ?? 0);
    await database.alarms.settleNotice(target.id, { kind: 'failed', error, waitMs }, nowMs);
    if (target.failingSinceMs === null || nowMs - target.failingSinceMs < DAY_MS) return;
    const message =
      `Notices to ${target.name} (${target.id}) have not arrived for a day: ${error}. ` +
      'Remove it at Alarms in the dashboard, and add it again';
    const alarm = { key: ownKey(target), atMs: nowMs, code: 'notice_target_failing', message };
    await database.alarms.keep({ ...alarm, network: null, sessionId: null });
  }

  /** Records the outcome of a message. `answer` is null if its target was removed meanwhile. */
  async function settle(target: NoticeTarget, answer: Delivered | null, sent: Omit<Sent, 'kind' | 'waitMs'>) {
    if (answer === null) return;
    if (!answer.ok) return settleFailure(target, answer);
    await database.alarms.settleNotice(target.id, { kind: 'sent', ...sent, waitMs: MESSAGE_GAP_MS }, clock.nowMs());
    if (target.failingSinceMs !== null) await database.alarms.end(ownKey(target), clock.nowMs());
  }

  async function sendDue(target: NoticeTarget): Promise<void> {
    const { alarms, throughId } = await database.alarms.watchedAlarms(target, NEW_ALARMS_MAX);
    const told = dueNotices(alarms, { least: target.severity, ownKey: ownKey(target) }, clock.nowMs());
    if (told.length === 0) {
      if (throughId === target.throughAlarmId) return;
      await database.alarms.settleNotice(target.id, { kind: 'read', throughId }, clock.nowMs());
      return;
    }
    const answer = await sendTo(target, noticeId(target.id, told), noticeText(told, sender, isOwnServer[target.kind]));
    await settle(target, answer, { told, throughId });
  }

  /** Calls a dead-man URL while no open alarm puts money or custody at risk. */
  async function call(target: NoticeTarget): Promise<void> {
    const isWell = (await database.alarms.listOpen()).every(({ code }) => severityOf(code) !== 'page');
    if (!isWell) return;
    const answer = await sendTo(target, `call-${clock.nowMs()}`, { title: '', text: '', severity: 'know' });
    await settle(target, answer, { told: [], throughId: target.throughAlarmId });
  }

  return {
    async look() {
      const targets = await database.alarms.listTargets();
      const due = targets.filter((one) => one.provedAtMs !== null && !isWaiting(one, clock.nowMs()));
      await Promise.all(due.map((target) => (target.kind === 'dead-man' ? call(target) : sendDue(target))));
    },
  };
}

/** Sends notices until the signal aborts. */
export function runNotices(options: CourierOptions): Promise<void> {
  const { clock, log, signal } = options;
  return every(LOOK_MS, createCourier(options).look, { clock, log, signal, what: 'sending notices' });
}
