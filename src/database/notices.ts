/**
 * The part of the database port about notices: who is informed about alarms, and when each last heard of which.
 */
import type { Severity, Told, WatchedAlarm } from '../core/notice.ts';
import type { OperatorAct } from './audit-log.ts';

export const channelKinds = ['email', 'telegram', 'ntfy', 'slack', 'discord', 'webhook', 'dead-man'] as const;
export type ChannelKind = (typeof channelKinds)[number];

/** What a person types to add a target. `secret`: a token, topic, password or URL; `token`: ntfy's access token. */
export type TargetField = 'secret' | 'token' | 'to' | 'from' | 'smtp' | 'user' | 'server';
export type TargetText = Readonly<Partial<Record<TargetField, string>>>;

/** A pass sends to all of them side by side. */
export const TARGETS_MAX = 50;
export const TARGET_NAME_CHARS_MAX = 64;

export type NewNoticeTarget = Readonly<{
  id: string;
  kind: ChannelKind;
  /** What people call it. */
  name: string;
  /** Where it goes and with what secrets, as its channel reads it; sealed in the file. */
  address: string;
  /** The least severity that it hears of. */
  severity: Severity;
  /** What a person types to prove that messages arrive. */
  code: string;
  createdAtMs: number;
}>;

export type NoticeTarget = Omit<NewNoticeTarget, 'address' | 'code'> &
  Readonly<{
    /** Until then nothing but the code is sent. */
    provedAtMs: number | null;
    /** Up to this id, alarms were told or need not be. */
    throughAlarmId: number;
    /** When a message was last tried, and how long the next one waits. */
    triedAtMs: number | null;
    waitMs: number;
    /** How often in a row it failed. */
    tries: number;
    failingSinceMs: number | null;
    lastError: string | null;
    lastSentAtMs: number | null;
  }>;

/** Whether a target is informed about alarms. A URL that is only called never is. */
export const isInformed = ({ kind, provedAtMs }: NoticeTarget): boolean => kind !== 'dead-man' && provedAtMs !== null;

/** Alarms about which a target may have to be informed. `throughId`: none up to this id is missing. */
export type WatchedAlarms = Readonly<{ alarms: readonly WatchedAlarm[]; throughId: number }>;

/** What became of a message. `read`: nothing was to be sent. `waitMs`: how long the next one waits. */
export type NoticeOutcome =
  | Readonly<{ kind: 'read'; throughId: number }>
  | Readonly<{ kind: 'sent'; told: readonly Told[]; throughId: number; waitMs: number }>
  | Readonly<{ kind: 'failed'; error: string; waitMs: number }>;

export interface Notices {
  /** Adds a target, which waits for its code. A URL that is only called is proved by its answer, so at once. */
  addTarget(target: NewNoticeTarget, act: OperatorAct): Promise<void>;
  listTargets(): Promise<readonly NoticeTarget[]>;
  /** Returns where a target's messages go, with its secrets; null if there is none. */
  addressOf(id: string): Promise<string | null>;
  /**
   * Marks a target as proved if the code is right. After five wrong ones it must be added again.
   * @returns null if there is no such target
   */
  proveTarget(id: string, code: string, act: OperatorAct): Promise<'proved' | 'wrong' | 'too_many' | null>;
  /** Removes a target, and forgets its secrets. @returns false if there is none */
  removeTarget(id: string, act: OperatorAct): Promise<boolean>;
  /** Returns all alarms that a target has heard of, and at most `limit` newer ones that need somebody. */
  watchedAlarms(target: Pick<NoticeTarget, 'id' | 'throughAlarmId'>, limit: number): Promise<WatchedAlarms>;
  /** Records what became of a message to a target. */
  settle(targetId: string, outcome: NoticeOutcome, nowMs: number): Promise<void>;
}
