/** Acts of an operator on an alarm. */
import { severityOf } from '../core/notice.ts';
import { ALARM_NOTE_CHARS_MAX, type Alarm } from '../database/alarms.ts';
import { defineAct, refuse, say, textOf } from './act.ts';

const ALARMS_READ_MAX = 10_000;

const alarmId = (text: string) => {
  const [, digits] = /^(?:A-)?([1-9]\d{0,14})$/.exec(text) ?? [];
  return digits === undefined
    ? say('"{text}" is no alarm, expected a number such as A-1042', { text })
    : Number(digits);
};

const nameOf = ({ id }: Pick<Alarm, 'id'>): string => `A-${id}`;

/** An event is over once it is acknowledged. An alarm that watches something stays open until its cause is over. */
export const acknowledgeAlarm = defineAct({
  name: 'alarm acknowledge',
  summary: 'Acknowledge an alarm: its notices are not repeated. An event, such as a reversal, is over with it.',
  needs: 'installation:manage',
  fields: { alarm: { label: say('Alarm'), help: 'such as A-1042', isArgument: true, read: alarmId } },
  async plan({ database, act }, { alarm: id }) {
    if ((act.reason ?? '').length > ALARM_NOTE_CHARS_MAX) {
      return refuse('usage', say('A note has at most {count} characters.', { count: ALARM_NOTE_CHARS_MAX }));
    }
    const known = [...(await database.alarms.listOpen()), ...(await database.alarms.list(ALARMS_READ_MAX))];
    const found = known.find((one) => one.id === id);
    return found ?? refuse('not_found', say('there is no alarm A-{id}; `quayside alarm list` shows all', { id }));
  },
  // A thief of a session must not be able to switch off the notice that reports the theft.
  asks: ({ code }) => (severityOf(code) === 'page' ? 'second factor' : 'nothing'),
  review: (alarm) => ({
    title: say('Acknowledge {alarm}', { alarm: nameOf(alarm) }),
    target: nameOf(alarm),
    facts: [
      [say('Alarm'), alarm.code],
      [say('What happened'), alarm.message],
    ],
    button: say('Acknowledge'),
  }),
  async run({ database, act }, alarm) {
    const done = await database.alarms.acknowledge(alarm.id, act);
    const isOver = !done || (alarm.key === null && done.outcome === 'acknowledged');
    const outcome = isOver ? 'over' : done.outcome;
    const said = {
      acknowledged: '{alarm} is acknowledged: it is not repeated, and you hear when it is over.',
      already: '{alarm} was acknowledged already, by {person}.',
      over: '{alarm} is over.',
    }[outcome];
    const values = { alarm: nameOf(alarm), person: done?.alarm.acknowledgedBy ?? '' };
    return { said: say(said, values), json: { outcome } };
  },
});

const timeText = (ms: number | null): string | null => (ms === null ? null : textOf({ atMs: ms }));

/** Returns an alarm for programs. `state`: `open` or `ended`; `event` or `resolved` for one that reports an event. */
export const alarmJson = (alarm: Alarm) => ({
  id: nameOf(alarm),
  at: textOf({ atMs: alarm.atMs }),
  code: alarm.code,
  message: alarm.message,
  network: alarm.network,
  session: alarm.sessionId,
  key: alarm.key,
  state: stateOf(alarm),
  ended_at: timeText(alarm.endedAtMs),
  acknowledged_at: timeText(alarm.acknowledgedAtMs),
  acknowledged_by: alarm.acknowledgedBy,
  acknowledged_note: alarm.acknowledgedNote,
});

export const alarmShown = ['at', 'id', 'code', 'state', 'message', 'acknowledged_by', 'acknowledged_note'] as const;

function stateOf({ key, endedAtMs }: Alarm): 'open' | 'ended' | 'event' | 'resolved' {
  if (endedAtMs === null) return key === null ? 'event' : 'open';
  return key === null ? 'resolved' : 'ended';
}

export const isOpen = (alarm: Alarm): boolean => stateOf(alarm) === 'open';
