/**
 * Alarms, for the operator: open, put off, acknowledged, over. Those that watch something end by themselves; one that
 * reports an event waits for a person to resolve it.
 * @module
 */
import { isAllowed } from '../../core/access.ts';
import { ALARM_NOTE_CHARS_MAX, type Alarm, isSnoozed } from '../../database/alarms.ts';
import { type Html, html } from '../../lib/html.ts';
import { type Snooze, snoozeEndMs, snoozes } from '../../lib/snooze.ts';
import { timeIn } from '../../lib/zone.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, faultMessage, plainText, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/alarms';
const ALARMS_SHOWN = 100;

export const alarmPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => alarmsPage(deps, visit, null) },
  commonChange(deps, {
    path: `${PATH}/acknowledge`,
    needs: 'installation:manage',
    plan: (visit) => planAcknowledging(deps, visit),
  }),
  commonChange(deps, {
    path: `${PATH}/snooze`,
    needs: 'installation:manage',
    plan: async (visit) => planSnooze(visit),
  }),
  commonChange(deps, { path: `${PATH}/resolve`, needs: 'installation:manage', plan: async (visit) => planEnd(visit) }),
];

async function alarmsPage(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  return {
    title: visit.words.say('frame.operator_alarms'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${await alarmTable(deps, visit, await deps.database.listAlarms(ALARMS_SHOWN))}
<p class="hint">${visit.words.html('alarms.newest', { count: ALARMS_SHOWN })}</p>`,
  };
}

/** A list of alarms, with what can be done about each, and links to the payments that this person may see. */
export async function alarmTable(deps: DashboardDeps, visit: Visit<null>, alarms: readonly Alarm[]): Promise<Html> {
  const { words } = visit;
  if (alarms.length === 0) return html`<p class="card">${words.say('alarms.none')}</p>`;
  const payments = await paymentPages(deps, visit, alarms);
  return table(
    words.say('frame.operator_alarms'),
    [
      words.say('alarms.raised'),
      words.say('general.state'),
      words.say('alarms.alarm'),
      words.say('alarms.what'),
      words.say('general.change'),
    ],
    alarms.map((alarm) => [
      time(alarm.atMs),
      html`<div>${alarmState(visit, alarm)}${noteOf(alarm)}</div>`,
      html`<span>${data(alarmName(alarm))} <code>${alarm.code}</code>${alarm.network === null ? null : html` <code>${alarm.network}</code>`}</span>`,
      html`<div>${english(alarm.message)}${paymentLink(words, payments.get(alarm.sessionId ?? ''))}</div>`,
      html`<div>${alarmForms(visit, alarm)}</div>`,
    ]),
  );
}

/** Returns the page of each session that alarms are about, where this person may see it. */
async function paymentPages({ database }: DashboardDeps, { visitor }: Visit<null>, alarms: readonly Alarm[]) {
  const pages = new Map<string, string>();
  for (const id of new Set(alarms.flatMap(({ sessionId }) => sessionId ?? []))) {
    const session = await database.findSession(id);
    if (!session) continue;
    const { storeId, mode } = session;
    const maySee = isAllowed(visitor.person.memberships, { permission: 'payments:read', storeId, mode });
    if (maySee) pages.set(id, `/s/${storeId}/${mode}/payments/${id}`);
  }
  return pages;
}

const paymentLink = (words: Words, href: string | undefined): Html | null =>
  href === undefined ? null : html` <a href="${href}">${words.say('overview.alarm_payment')}</a>`;

const alarmName = ({ id }: Pick<Alarm, 'id'>): string => `A-${id}`;

function alarmState({ words, nowMs }: Visit<null>, alarm: Alarm): Html {
  const { key, endedAtMs, acknowledgedAtMs, resolvedAtMs, snoozedUntilMs, snoozedBy } = alarm;
  if (resolvedAtMs !== null) return badge(words.say('alarms.resolved'), 'good');
  if (endedAtMs !== null) return badge(words.say('alarms.over'), 'good');
  if (acknowledgedAtMs !== null) return badge(words.say('alarms.acknowledged'), 'attention');
  if (isSnoozed(alarm, nowMs)) {
    const since = { time: time(snoozedUntilMs ?? 0), person: snoozedBy ?? '' };
    return html`<span>${badge(words.say('alarms.snoozed'), 'wait')} <span class="hint">${words.html('alarms.snoozed_until', since)}</span></span>`;
  }
  return key === null ? badge(words.say('alarms.event'), 'attention') : badge(words.say('alarms.open'), 'danger');
}

const noteOf = ({ acknowledgedBy, acknowledgedNote }: Alarm): Html | null =>
  acknowledgedNote === null
    ? null
    : html`<p class="note">${data(plainText(acknowledgedNote))}</p><p class="hint">${data(acknowledgedBy ?? '')}</p>`;

function alarmForms(visit: Visit<null>, alarm: Alarm): Html | null {
  const { id, key, endedAtMs, acknowledgedAtMs, resolvedAtMs } = alarm;
  if (endedAtMs !== null || resolvedAtMs !== null) return null;
  const { words } = visit;
  const form = (act: 'acknowledge' | 'resolve') => {
    const button = words.say(`alarms.${act}`);
    const label = words.say('general.act_on', { act: button, name: alarmName(alarm) });
    return html`<form method="post" action="${PATH}/${act}">${changeFields(visit)}
<input type="hidden" name="alarm" value="${id}">${act === 'acknowledge' ? noteField(visit, alarm) : null}<button class="plain small" aria-label="${label}">${button}</button></form>`;
  };
  if (acknowledgedAtMs !== null && key !== null) return null;
  const name = words.html('general.act_on', { act: words.say('general.change'), name: alarmName(alarm) });
  return html`<details><summary>${name}</summary>${acknowledgedAtMs === null ? html`${form('acknowledge')}${snoozeForm(visit, alarm)}` : null}${key === null ? form('resolve') : null}</details>`;
}

function noteField({ words }: Visit<null>, alarm: Alarm): Html {
  const note = words.say('alarms.note');
  const label = words.say('general.act_on', { act: note, name: alarmName(alarm) });
  return html`<input class="small" name="note" maxlength="${ALARM_NOTE_CHARS_MAX}" aria-label="${label}" placeholder="${note}" autocomplete="off"> `;
}

/** One button for each time that an alarm can be put off. */
function snoozeForm(visit: Visit<null>, alarm: Alarm): Html {
  const { words } = visit;
  const button = (one: Snooze) => {
    const text = words.say(`alarms.snooze_${one}`);
    const label = words.say('general.act_on', { act: `${words.say('alarms.snooze')} ${text}`, name: alarmName(alarm) });
    return html` <button class="plain small" name="for" value="${one}" aria-label="${label}">${text}</button>`;
  };
  return html`<form method="post" action="${PATH}/snooze" class="snooze">${changeFields(visit)}<input type="hidden" name="alarm" value="${alarm.id}">${words.say('alarms.snooze')}${snoozes.map(button)}</form>`;
}

const idOf = ({ form }: Visit<null>): number | null =>
  /^[1-9]\d{0,14}$/.test(form.alarm ?? '') ? Number(form.alarm) : null;

async function planAcknowledging(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const id = idOf(visit);
  if (id === null) return null;
  const note = (visit.form.note ?? '').trim();
  if (note.length > ALARM_NOTE_CHARS_MAX) {
    return alarmsPage(deps, visit, visit.words.say('alarms.long_note', { count: ALARM_NOTE_CHARS_MAX }));
  }
  return {
    command: 'acknowledge alarm',
    target: alarmName({ id }),
    reason: note || null,
    review: null,
    async act(database, act) {
      const done = await database.acknowledgeAlarm(id, act);
      if (!done) return null;
      const person = done.alarm.acknowledgedBy ?? '';
      const said = visit.words.say(`alarms.acknowledging_${done.outcome}`, { alarm: alarmName({ id }), person });
      return { to: PATH, said };
    },
  };
}

function planSnooze(visit: Visit<null>): Planned {
  const { form, words, zone, nowMs } = visit;
  const id = idOf(visit);
  const snooze = snoozes.find((one) => one === form.for);
  if (id === null || !snooze) return null;
  return {
    command: 'snooze alarm',
    target: alarmName({ id }),
    review: null,
    async act(database, act) {
      const done = await database.snoozeAlarm(id, snoozeEndMs(snooze, zone, nowMs), act);
      if (!done) return null;
      const person = done.alarm.acknowledgedBy ?? '';
      const until = timeIn(zone, done.alarm.snoozedUntilMs ?? 0).slice(0, 16);
      const said = words.say(`alarms.snoozing_${done.outcome}`, { alarm: alarmName({ id }), person, until });
      return { to: PATH, said };
    },
  };
}

function planEnd(visit: Visit<null>): Planned {
  const id = idOf(visit);
  if (id === null) return null;
  return {
    command: 'resolve alarm',
    target: alarmName({ id }),
    review: null,
    async act(database, act) {
      const done = await database.resolveAlarm(id, act);
      if (!done) return null;
      const said = visit.words.say(`alarms.resolving_${done.outcome}`, { alarm: alarmName({ id }) });
      return { to: PATH, said };
    },
  };
}
