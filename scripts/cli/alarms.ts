/**
 * Lists alarms, and says that somebody looks at one.
 * @module
 */
import type { Alarm, AlarmDatabase } from '../../src/database/alarms.ts';
import {
  becauseOption,
  type Command,
  dryRunOption,
  moment,
  notFound,
  operatorAct,
  table,
  usage,
  wholeOption,
} from './command.ts';

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

export const alarmsAcknowledge: Command = {
  name: 'alarms acknowledge',
  args: ['id'],
  summary: 'Say that you are looking at an alarm: it stays open, and its notices are not repeated.',
  options: { because: becauseOption, 'dry-run': dryRunOption },
  async run(input, { database, clock }) {
    const [, digits] = /^(?:A-)?([1-9]\d{0,14})$/.exec(input.args[0] ?? '') ?? [];
    if (digits === undefined) throw usage(`"${input.args[0]}" is no alarm, expected a number such as A-1042`);
    const id = Number(digits);
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(alarmsAcknowledge, input, clock);
    const done = isDryRun ? await foreseen(database, id) : await database.acknowledgeAlarm(id, act);
    if (!done) throw notFound(`there is no alarm A-${id}; \`quayside alarms list\` shows all`);
    const { outcome, alarm } = done;
    const line = {
      acknowledged: `A-${id} (${alarm.code}) ${isDryRun ? 'would be' : 'is'} acknowledged; its end is still told`,
      already: `A-${id} (${alarm.code}) was acknowledged at ${moment(alarm.acknowledgedAtMs)} by ${alarm.acknowledgedBy}`,
      over: `A-${id} (${alarm.code}) is over since ${moment(alarm.endedAtMs)}`,
    }[outcome];
    return { json: { ...alarmShown(alarm), outcome, dry_run: isDryRun }, lines: [line] };
  },
};

/** Returns what acknowledging an alarm would come to. */
async function foreseen(database: Pick<AlarmDatabase, 'listAlarms' | 'listOpenAlarms'>, id: number) {
  const known = [...(await database.listOpenAlarms()), ...(await database.listAlarms(LISTED_MAX))];
  const alarm = known.find((one) => one.id === id);
  if (!alarm) return null;
  const isOver = alarm.endedAtMs !== null;
  return { alarm, outcome: isOver ? 'over' : alarm.acknowledgedAtMs === null ? 'acknowledged' : 'already' } as const;
}

/** Returns an alarm for programs. `state`: `open`, `ended`, or `event` for one that reports something that is over. */
export const alarmShown = (alarm: Alarm) => {
  const { id, atMs, code, message, network, sessionId, key, endedAtMs, acknowledgedAtMs, acknowledgedBy } = alarm;
  const acknowledged = {
    acknowledged_at: acknowledgedAtMs === null ? null : moment(acknowledgedAtMs),
    acknowledged_by: acknowledgedBy,
  };
  const shown = { id, at: moment(atMs), code, message, network, session: sessionId, key };
  return { ...shown, ...endOf(key, endedAtMs), ...acknowledged };
};

function endOf(key: string | null, endedAtMs: number | null) {
  if (key === null) return { state: 'event', ended_at: null };
  return endedAtMs === null ? { state: 'open', ended_at: null } : { state: 'ended', ended_at: moment(endedAtMs) };
}

const isOpen = ({ key, endedAtMs }: Alarm): boolean => key !== null && endedAtMs === null;

/** Returns an alarm for people, on two lines. */
export const alarmLines = (alarm: Alarm): string[] => {
  const { id, at, state, ended_at, code, acknowledged_by } = alarmShown(alarm);
  const until = state === 'open' ? 'open' : state === 'ended' ? `until ${ended_at}` : '';
  const by = acknowledged_by !== null && state !== 'ended' ? `acknowledged by ${acknowledged_by}` : '';
  return [...table([[at, `A-${id}`, code, [until, by].filter(Boolean).join(', ')]]), `  ${alarm.message}`];
};
