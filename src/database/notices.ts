/**
 * The part of the database port about notices: who is informed about alarms and news, and what is still to be sent. A
 * notice is a row that is written in the transaction of the alarm's change, or of what is news.
 * @module
 */
import type { NewsTally } from '../core/news.ts';
import type { Severity, Told } from '../core/notice.ts';
import type { OperatorAct } from './audit-log.ts';

export const channelKinds = ['email', 'telegram', 'ntfy', 'slack', 'discord', 'webhook', 'dead-man'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** What a person types to add a target. `secret`: a token, topic, password or URL; `token`: ntfy's access token. */
export type TargetField = 'secret' | 'token' | 'to' | 'from' | 'smtp' | 'user' | 'server';
export type TargetText = Readonly<Partial<Record<TargetField, string>>>;

/** So many targets, characters of a name, and minutes in which nobody acknowledges, at most. */
export const TARGETS_MAX = 50;
export const TARGET_NAME_CHARS_MAX = 64;
export const AFTER_MINUTES_MAX = 1_440;

/** Minutes after midnight, in the target's zone; what is not a page waits until `to`. */
export type QuietHours = Readonly<{ from: number; to: number }>;

export type NewNoticeTarget = Readonly<{
  id: string;
  kind: ChannelKind;
  /** What people call it. */
  name: string;
  /** Where it goes and with what secrets, as its channel reads it; sealed in the file. */
  address: string;
  severities: readonly Severity[];
  /** Only alarms about this store's sessions, and its news; null for all. */
  storeId: string | null;
  /** Whether the alarm's own text is sent, and a payment's amount and order. */
  showsDetails: boolean;
  /** Whether each payment is told, whatever the severities. */
  payments: boolean;
  quiet: QuietHours | null;
  /** Only alarms that nobody has acknowledged so long after they opened; 0 for all. */
  afterMinutes: number;
  /** When a digest of the day is sent, in minutes after midnight in `zone`; null for none. */
  digestMinute: number | null;
  /** An IANA time zone. */
  zone: string;
  /** What a person types to prove that messages arrive. */
  code: string;
  createdAtMs: number;
}>;

export type NoticeTarget = Omit<NewNoticeTarget, 'address' | 'code'> &
  Readonly<{
    /** Until then nothing but the code is sent. */
    provedAtMs: number | null;
    /** Since when nothing that was sent has arrived. */
    failingSinceMs: number | null;
    lastError: string | null;
    lastSentAtMs: number | null;
    digestAtMs: number | null;
    /** Since when it gets nothing, and by whom; null if it is not paused. */
    pausedAtMs: number | null;
    pausedBy: string | null;
    waiting: number;
  }>;

/** Whether a target is informed about alarms now. A URL that is only called never is. */
export const isInformed = ({ kind, provedAtMs, pausedAtMs }: NoticeTarget): boolean =>
  kind !== 'dead-man' && provedAtMs !== null && pausedAtMs === null;

/** A notice that is due, with what its message says. `count`: how many it stands for. */
export type DueNotice = Told & Readonly<{ id: number; createdAtMs: number; tries: number; count: number }>;

/** What became of notices that were sent together. `again`: try again then. `wait`: quiet hours until then. */
export type NoticeOutcome =
  | Readonly<{ kind: 'sent' }>
  | Readonly<{ kind: 'wait'; atMs: number }>
  | Readonly<{ kind: 'again'; atMs: number; error: string }>
  | Readonly<{ kind: 'failed'; error: string }>;

export interface NoticeDatabase {
  /** Adds a target, which waits for its code. A URL that is only called is proved by its answer, so at once. */
  addNoticeTarget(target: NewNoticeTarget, act: OperatorAct): Promise<void>;
  listNoticeTargets(): Promise<readonly NoticeTarget[]>;
  /** Returns where a target's messages go, with its secrets; null if there is none. */
  noticeAddress(id: string): Promise<string | null>;
  /**
   * Marks a target as proved if the code is right. After five wrong ones it must be added again.
   * @returns null if there is no such target
   */
  proveNoticeTarget(id: string, code: string, act: OperatorAct): Promise<'proved' | 'wrong' | 'too_many' | null>;
  /**
   * Pauses a target: it gets nothing until it is resumed, and the alarm about its failing ends. What is due waits.
   * @returns null if there is no such target
   */
  pauseNoticeTarget(id: string, act: OperatorAct): Promise<'done' | 'already' | null>;
  /**
   * Resumes a target: it is told at once what waited and is still so. Its next digest comes at its time.
   * @returns null if there is no such target
   */
  resumeNoticeTarget(id: string, act: OperatorAct): Promise<'done' | 'already' | null>;
  /** Removes a target and what it was still to be told. @returns false if there is none */
  removeNoticeTarget(id: string, act: OperatorAct): Promise<boolean>;
  /** Returns what is due at a target, oldest first. */
  dueNotices(targetId: string, nowMs: number, limit: number): Promise<readonly DueNotice[]>;
  /** Records what became of notices of one target, as they were read. */
  settleNotices(
    targetId: string,
    due: readonly Pick<DueNotice, 'id' | 'count'>[],
    outcome: NoticeOutcome,
    nowMs: number,
  ): Promise<void>;
  /** Returns how many messages were sent to a target since then. */
  noticesSentSince(targetId: string, sinceMs: number): Promise<number>;
  /** Sets when the next digest is sent. @returns how much news there was since the last, and counts from zero */
  setNextDigest(targetId: string, atMs: number | null): Promise<NewsTally>;
}
