import type { Alarm } from '../../src/database/alarms.ts';
import { type Command, moment, wholeOption } from './command.ts';
import { table } from './table.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

export const alarmList: Command = {
  name: 'alarm list',
  args: [],
  summary: 'List alarms: those that are open, then the newest others. Open ones end by themselves.',
  options: {
    open: { help: 'only those that are open' },
    limit: { value: 'N', help: `how many others, at most ${LISTED_MAX} (default ${LISTED})` },
  },
  async run(input, { database }) {
    const limit = wholeOption(input, 'limit', 1, LISTED_MAX, LISTED);
    const open = await database.alarms.listOpen();
    const others = input.options.open ? [] : (await database.alarms.list(limit)).filter((one) => !isOpen(one));
    const shown = [...open.toReversed(), ...others];
    return {
      json: shown.map(alarmShown),
      lines: shown.length === 0 ? [input.options.open ? 'no open alarms' : 'no alarms'] : shown.flatMap(alarmLines),
    };
  },
};

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

function endOf({ key, endedAtMs, resolvedAtMs }: Alarm): End {
  if (key === null && resolvedAtMs !== null) return { state: 'resolved', ended_at: moment(resolvedAtMs) };
  if (key === null) return { state: 'event', ended_at: null };
  return endedAtMs === null ? { state: 'open', ended_at: null } : { state: 'ended', ended_at: moment(endedAtMs) };
}

const isOpen = ({ key, endedAtMs }: Alarm): boolean => key !== null && endedAtMs === null;

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
