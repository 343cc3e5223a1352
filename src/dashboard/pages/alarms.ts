/**
 * Alarms, for the operator: open, acknowledged, over. Those that watch something end by themselves; one that reports an
 * event waits for a person to resolve it.
 * @module
 */
import type { Alarm } from '../../database/alarms.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { badge, table, time } from '../show.ts';

const PATH = '/operator/alarms';
const ALARMS_SHOWN = 100;

export const alarmPages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: PATH,
    needs: 'installation:read',
    answer: async (visit) => ({
      title: 'Alarms',
      content: html`${alarmTable(visit, await deps.database.listAlarms(ALARMS_SHOWN))}
<p class="hint">The newest ${ALARMS_SHOWN} are shown; <code>quayside alarms list --limit N</code> shows more.</p>`,
    }),
  },
  commonChange(deps, {
    path: `${PATH}/acknowledge`,
    needs: 'installation:manage',
    plan: async (visit) => planAcknowledging(visit),
  }),
  commonChange(deps, { path: `${PATH}/resolve`, needs: 'installation:manage', plan: async (visit) => planEnd(visit) }),
];

/** A list of alarms, with what can be done about each. */
export const alarmTable = (visit: Visit<null>, alarms: readonly Alarm[]): Html =>
  alarms.length === 0
    ? html`<p class="card">There is none.</p>`
    : table(
        'Alarms',
        ['Raised', 'State', 'Alarm', 'What happened, and what to do', 'Change'],
        alarms.map((alarm) => [
          time(alarm.atMs),
          alarmState(alarm),
          html`<span>A-${alarm.id} <code>${alarm.code}</code>${alarm.network === null ? null : html` <code>${alarm.network}</code>`}</span>`,
          html`<span>${prose(alarm.message)}</span>`,
          html`<div>${alarmForms(visit, alarm)}</div>`,
        ]),
      );

function alarmState({ key, endedAtMs, acknowledgedAtMs, resolvedAtMs }: Alarm): Html {
  if (resolvedAtMs !== null) return badge('resolved', 'good');
  if (endedAtMs !== null) return badge('over', 'good');
  if (acknowledgedAtMs !== null) return badge('acknowledged', 'attention');
  return key === null ? badge('event', 'attention') : badge('open', 'danger');
}

function alarmForms(visit: Visit<null>, { id, key, endedAtMs, acknowledgedAtMs, resolvedAtMs }: Alarm): Html | null {
  if (endedAtMs !== null || resolvedAtMs !== null) return null;
  const form = (act: string, button: string) =>
    html`<form method="post" action="${PATH}/${act}">${changeFields(visit)}
<input type="hidden" name="alarm" value="${id}"><button class="plain" aria-label="${button} A-${id}">${button}</button></form>`;
  return html`${acknowledgedAtMs === null ? form('acknowledge', 'Acknowledge') : null}${key === null ? form('resolve', 'Resolve') : null}`;
}

const idOf = ({ form }: Visit<null>): number | null =>
  /^[1-9]\d{0,14}$/.test(form.alarm ?? '') ? Number(form.alarm) : null;

function planAcknowledging(visit: Visit<null>): Planned {
  const id = idOf(visit);
  if (id === null) return null;
  return {
    command: 'acknowledge alarm',
    target: `A-${id}`,
    review: null,
    async act(database, act) {
      const done = await database.acknowledgeAlarm(id, act);
      if (!done) return null;
      const said = {
        acknowledged: `A-${id} is acknowledged: it is not told again, its end is.`,
        already: `A-${id} was acknowledged already, by ${done.alarm.acknowledgedBy}.`,
        over: `A-${id} is over.`,
      }[done.outcome];
      return { to: PATH, said };
    },
  };
}

function planEnd(visit: Visit<null>): Planned {
  const id = idOf(visit);
  if (id === null) return null;
  return {
    command: 'resolve alarm',
    target: `A-${id}`,
    review: null,
    async act(database, act) {
      const done = await database.resolveAlarm(id, act);
      if (!done) return null;
      const said = {
        resolved: `A-${id} is resolved.`,
        already: `A-${id} is resolved already.`,
        lasts: `A-${id} ends by itself, when what it reports is over.`,
      }[done.outcome];
      return { to: PATH, said };
    },
  };
}
