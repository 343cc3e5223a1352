/** An alarm for programs, and what people see of it. */
import type { Alarm } from '../../src/database/alarms.ts';
import { moment, momentOrNull } from './command.ts';

/** `state`: `open` or `ended`; `event` or `resolved` for one that reports an event. */
export const alarmJson = (alarm: Alarm) => ({
  id: `A-${alarm.id}`,
  at: moment(alarm.atMs),
  code: alarm.code,
  message: alarm.message,
  network: alarm.network,
  session: alarm.sessionId,
  key: alarm.key,
  state: stateOf(alarm),
  ended_at: momentOrNull(alarm.endedAtMs),
  acknowledged_at: momentOrNull(alarm.acknowledgedAtMs),
  acknowledged_by: alarm.acknowledgedBy,
  acknowledged_note: alarm.acknowledgedNote,
});

export const alarmShown = ['at', 'id', 'code', 'state', 'message', 'acknowledged_by', 'acknowledged_note'] as const;

function stateOf({ key, endedAtMs }: Alarm): 'open' | 'ended' | 'event' | 'resolved' {
  if (endedAtMs === null) return key === null ? 'event' : 'open';
  return key === null ? 'resolved' : 'ended';
}

export const isOpen = (alarm: Alarm): boolean => stateOf(alarm) === 'open';
