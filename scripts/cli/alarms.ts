/** An alarm for programs and for people. */
import type { Alarm } from '../../src/database/alarms.ts';
import { moment } from './command.ts';
import { table } from './table.ts';

/** Returns an alarm for programs. `state`: `open` or `ended`; `event` or `resolved` for one that reports an event. */
export const alarmShown = (alarm: Alarm) => {
  const { id, atMs, code, message, network, sessionId, key, acknowledgedAtMs } = alarm;
  const acknowledged = {
    acknowledged_at: acknowledgedAtMs === null ? null : moment(acknowledgedAtMs),
    acknowledged_by: alarm.acknowledgedBy,
    acknowledged_note: alarm.acknowledgedNote,
  };
  const shown = { id, at: moment(atMs), code, message, network, session: sessionId, key };
  return { ...shown, ...endOf(alarm), ...acknowledged };
};

type End = Readonly<{ state: 'open' | 'ended' | 'event' | 'resolved'; ended_at: string | null }>;

function endOf({ key, endedAtMs }: Alarm): End {
  if (endedAtMs === null) return { state: key === null ? 'event' : 'open', ended_at: null };
  return { state: key === null ? 'resolved' : 'ended', ended_at: moment(endedAtMs) };
}

export const isOpen = ({ key, endedAtMs }: Alarm): boolean => key !== null && endedAtMs === null;

/** Returns an alarm for people: two lines, and one for a note. */
export const alarmLines = (alarm: Alarm): string[] => {
  const { id, at, state, ended_at, code, acknowledged_by, acknowledged_note } = alarmShown(alarm);
  const until = { open: 'open', ended: `until ${ended_at}`, resolved: `resolved ${ended_at}`, event: '' }[state];
  const by = acknowledged_by !== null && ended_at === null ? `acknowledged by ${acknowledged_by}` : '';
  return [
    ...table([[at, `A-${id}`, code, [until, by].filter(Boolean).join(', ')]]),
    `  ${alarm.message}`,
    ...(acknowledged_note === null ? [] : [`  ${alarm.acknowledgedBy} noted: ${acknowledged_note}`]),
  ];
};
