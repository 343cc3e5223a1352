/**
 * Lists alarms, and records that somebody looks at one or has dealt with it.
 * @module
 */
import { permanent } from '../../src/core/fault.ts';
import { ALARM_NOTE_CHARS_MAX, type Alarm, type AlarmDatabase } from '../../src/database/alarms.ts';
import {
  type Command,
  dryRunOption,
  type Input,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  usage,
  wholeOption,
} from './command.ts';
import { table } from './table.ts';

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
  options: {
    reason: { value: 'NOTE', help: 'what the others should know: shown with the alarm, and in the audit log' },
    'dry-run': dryRunOption,
  },
  async run(input, { database, clock }) {
    const id = alarmId(input);
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(alarmsAcknowledge, input, clock);
    if ((act.reason ?? '').length > ALARM_NOTE_CHARS_MAX)
      throw usage(`--reason has more than ${ALARM_NOTE_CHARS_MAX} characters; shorten it`);
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

export const alarmsResolve: Command = {
  name: 'alarms resolve',
  args: ['id'],
  summary: 'Say that an event is dealt with, such as a reversal. Other alarms end by themselves.',
  options: { reason: reasonOption, 'dry-run': dryRunOption },
  async run(input, { database, clock }) {
    const id = alarmId(input);
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(alarmsResolve, input, clock);
    const done = isDryRun ? await foreseenEnd(database, id) : await database.resolveAlarm(id, act);
    if (!done) throw notFound(`there is no alarm A-${id}; \`quayside alarms list\` shows all`);
    const { outcome, alarm } = done;
    if (outcome === 'lasts') {
      throw permanent('refused', `A-${id} (${alarm.code}) ends by itself, when what it reports is over`);
    }
    const line = {
      resolved: `A-${id} (${alarm.code}) ${isDryRun ? 'would be' : 'is'} resolved`,
      already: `A-${id} (${alarm.code}) is resolved since ${moment(alarm.resolvedAtMs)}`,
    }[outcome];
    return { json: { ...alarmShown(alarm), outcome, dry_run: isDryRun }, lines: [line] };
  },
};

/** @throws Fault permanent `usage` */
function alarmId({ args: [text = ''] }: Input): number {
  const [, digits] = /^(?:A-)?([1-9]\d{0,14})$/.exec(text) ?? [];
  if (digits === undefined) throw usage(`"${text}" is no alarm, expected a number such as A-1042`);
  return Number(digits);
}

type Alarms = Pick<AlarmDatabase, 'listAlarms' | 'listOpenAlarms'>;

async function findAlarm(database: Alarms, id: number): Promise<Alarm | undefined> {
  const known = [...(await database.listOpenAlarms()), ...(await database.listAlarms(LISTED_MAX))];
  return known.find((one) => one.id === id);
}

/** Returns what resolving an alarm would come to. */
async function foreseenEnd(database: Alarms, id: number) {
  const alarm = await findAlarm(database, id);
  if (!alarm) return null;
  const outcome = alarm.key !== null ? 'lasts' : alarm.resolvedAtMs === null ? 'resolved' : 'already';
  return { alarm, outcome } as const;
}

/** Returns what acknowledging an alarm would come to. */
async function foreseen(database: Alarms, id: number) {
  const alarm = await findAlarm(database, id);
  if (!alarm) return null;
  const isOver = alarm.endedAtMs !== null;
  return { alarm, outcome: isOver ? 'over' : alarm.acknowledgedAtMs === null ? 'acknowledged' : 'already' } as const;
}

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
