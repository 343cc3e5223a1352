/**
 * The part of the database port about alarms: what an operator must look at.
 */
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { OperatorAct } from './audit-log.ts';

export type NewAlarm = Readonly<{
  atMs: number;
  code: string;
  message: string;
  network: NetworkKey | null;
  sessionId: string | null;
}>;

/** An alarm that is open until what it reports is over. A key, such as `network:live:bsc`, has at most one open. */
export type LastingAlarm = NewAlarm & Readonly<{ key: string }>;

/** So many characters has the note of whoever acknowledges an alarm, at most. */
export const ALARM_NOTE_CHARS_MAX = 200;

/** `key` is null for an alarm that reports an event; `endedAtMs` is null for such an alarm, and for an open one. */
export type Alarm = NewAlarm &
  Readonly<{
    id: number;
    key: string | null;
    endedAtMs: number | null;
    /** When somebody said that they are looking at it, and who; null if nobody has. */
    acknowledgedAtMs: number | null;
    acknowledgedBy: string | null;
    /** What they noted for the others; null for nothing. */
    acknowledgedNote: string | null;
    /** When somebody said that the event is dealt with; null for all others. */
    resolvedAtMs: number | null;
  }>;

/** What came of acknowledging an alarm. `over`: it has ended by itself. */
export type Acknowledged = Readonly<{ outcome: 'acknowledged' | 'already' | 'over'; alarm: Alarm }>;

/** What came of resolving an alarm. `lasts`: it ends by itself, when what it reports is over. */
export type Resolved = Readonly<{ outcome: 'resolved' | 'already' | 'lasts'; alarm: Alarm }>;

/** What is watched, each with an alarm for every subject: a network, a pool, a coin. */
export const alarmScopes = [
  'network',
  'payments',
  'pool',
  'rates',
  'coin',
  'clock',
  'key',
  'disk',
  'wallet',
  'payouts',
  'frozen',
  'refunds',
  'held',
  'endpoint',
  'deliveries',
  'sending',
  'comparison',
  'nightly',
  'notices',
  'backup',
  'store',
  'approval',
] as const;
export type AlarmScope = (typeof alarmScopes)[number];

/** Returns the key of a lasting alarm, such as `network:live:bsc`. */
export const alarmKey = (scope: AlarmScope, subject: string): string => (subject ? `${scope}:${subject}` : scope);

export interface Alarms {
  /** Reports an event. */
  raise(alarm: NewAlarm): Promise<void>;
  /**
   * Raises a lasting alarm, or brings the open one of this key up to date; one with another code is ended first.
   * @returns whether it was raised
   */
  keep(alarm: LastingAlarm): Promise<boolean>;
  /** Ends the open alarm of a key. @returns false when there is none */
  end(key: string, nowMs: number): Promise<boolean>;
  /**
   * Records that somebody looks at an alarm, which ends its repeated notices, but not that of its end. The act's reason
   * is kept as their note, at most `ALARM_NOTE_CHARS_MAX` characters.
   * @returns null if there is no such alarm
   */
  acknowledge(id: number, act: OperatorAct): Promise<Acknowledged | null>;
  /**
   * Records that an event which an alarm reports is dealt with: its notices end, and it is no longer shown as open.
   * @returns null if there is no such alarm
   */
  resolve(id: number, act: OperatorAct): Promise<Resolved | null>;
  /** Returns the newest alarms, newest first; only those with a lower id than `beforeId`, if one is given. */
  list(limit: number, beforeId?: number): Promise<readonly Alarm[]>;
  /** Returns how often the alarm of each key was raised since then. */
  countRaised(keys: readonly string[], sinceMs: number): Promise<ReadonlyMap<string, number>>;
  /**
   * Returns the newest alarms about a store's sessions that nobody acknowledged, among the newest of all. Held money
   * and refunds to approve are left out: they have lists of their own, with their end.
   */
  listOfStore(at: Readonly<{ storeId: string; mode: Mode }>, limit: number): Promise<readonly Alarm[]>;
  /** Returns the lasting alarms that are open, oldest first. */
  listOpen(): Promise<readonly Alarm[]>;
}
