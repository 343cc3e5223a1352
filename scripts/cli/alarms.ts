/**
 * Lists alarms.
 * @module
 */
import type { Alarm } from '../../src/database/alarms.ts';
import { type Command, moment, table, wholeOption } from './command.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

export const alarmsList: Command = {
  name: 'alarms list',
  args: [],
  summary: 'List alarms: those that are open, then the newest others. Open ones end by themselves.',
  options: {
    open: { help: 'only those that are open' },
    limit: { value: 'N', help: `how many others, at most ${LISTED_MAX} (default ${LISTED})` },
  },
  async run(input, { database }) {
    const limit = wholeOption(input, 'limit', 1, LISTED_MAX, LISTED);
    const open = await database.listOpenAlarms();
    const others = input.options.open ? [] : (await database.listAlarms(limit)).filter((one) => !isOpen(one));
    const shown = [...open.toReversed(), ...others];
    return {
      json: shown.map(alarmShown),
      lines: shown.length === 0 ? [input.options.open ? 'no open alarms' : 'no alarms'] : shown.flatMap(alarmLines),
    };
  },
};

/** Returns an alarm for programs. `state`: `open`, `ended`, or `event` for one that reports something that is over. */
export const alarmShown = (alarm: Alarm) => {
  const { id, atMs, code, message, network, sessionId, key, endedAtMs } = alarm;
  return { id, at: moment(atMs), code, message, network, session: sessionId, key, ...endOf(key, endedAtMs) };
};

function endOf(key: string | null, endedAtMs: number | null) {
  if (key === null) return { state: 'event', ended_at: null };
  return endedAtMs === null ? { state: 'open', ended_at: null } : { state: 'ended', ended_at: moment(endedAtMs) };
}

const isOpen = ({ key, endedAtMs }: Alarm): boolean => key !== null && endedAtMs === null;

/** Returns an alarm for people, on two lines. */
export const alarmLines = (alarm: Alarm): string[] => {
  const { at, state, ended_at, code } = alarmShown(alarm);
  const until = state === 'open' ? 'open' : state === 'ended' ? `until ${ended_at}` : '';
  return [...table([[at, code, until]]), `  ${alarm.message}`];
};
