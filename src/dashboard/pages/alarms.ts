/**
 * Alarms, for the operator: open, acknowledged, over. Those that watch something end by themselves; one that
 * reports an event waits for a person to resolve it.
 */
import { acknowledgeAlarm } from '../../acts/alarms.ts';
import { isAllowed } from '../../core/access.ts';
import { ALARM_NOTE_CHARS_MAX, type Alarm } from '../../database/alarms.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { planAct } from '../act-form.ts';
import { changeFields, commonChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, faultMessage, moreLink, plainText, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/alarms';
const ALARMS_SHOWN = 50;
/** How often an open alarm was raised is counted in so many days. */
const COUNTED_DAYS = 30;

export const alarmPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => alarmsPage(deps, visit, null) },
  commonChange(deps, {
    path: `${PATH}/acknowledge`,
    needs: acknowledgeAlarm.needs,
    plan: (visit) =>
      planAct(deps, visit, acknowledgeAlarm, {
        texts: { alarm: visit.form.alarm },
        back: PATH,
        reason: visit.form.note?.trim() || null,
        refused: (fault) => alarmsPage(deps, visit, fault),
      }),
  }),
];

/** Open ones first; then all that there were, page by page. */
async function alarmsPage(deps: DashboardDeps, visit: Visit<null>, fault: Html | null): Promise<Reply> {
  const { words, query } = visit;
  const before = query.get('before') ?? '';
  const beforeId = /^[1-9]\d{0,14}$/.test(before) ? Number(before) : undefined;
  const found = await deps.database.alarms.list(ALARMS_SHOWN + 1, beforeId);
  const shown = found.slice(0, ALARMS_SHOWN);
  const last = found.length > ALARMS_SHOWN ? shown.at(-1) : undefined;
  const older = last ? moreLink(words, `${PATH}?before=${last.id}`) : null;
  const title = words.say('frame.operator_alarms');
  if (beforeId !== undefined) {
    return {
      title,
      content: html`<p><a href="${PATH}">${words.say('general.newest')}</a></p>${await alarmTable(deps, visit, shown)}${older}`,
    };
  }
  const lasting = await deps.database.alarms.listOpen();
  const needing = [...lasting].reverse().concat(shown.filter((one) => one.key === null && one.resolvedAtMs === null));
  const past = shown.filter((one) => !needing.some(({ id }) => id === one.id));
  return {
    title,
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section aria-labelledby="open"><h2 id="open">${words.say('alarms.needing')}</h2>${
      needing.length === 0 ? quiet(words, past) : await alarmTable(deps, visit, needing)
    }</section>
${past.length === 0 ? null : html`<section aria-labelledby="past"><h2 id="past">${words.say('alarms.past')}</h2>${await alarmTable(deps, visit, past)}</section>`}${older}`,
  };
}

/** Says since when nothing is open. @param past the newest alarms, all of which are over */
function quiet(words: Words, past: readonly Alarm[]): Html {
  const sinceMs = Math.max(0, ...past.map(({ endedAtMs, resolvedAtMs, atMs }) => endedAtMs ?? resolvedAtMs ?? atMs));
  const text = sinceMs === 0 ? words.say('alarms.quiet_ever') : words.html('alarms.quiet', { time: time(sinceMs) });
  return html`<p class="card">${badge(words.say('alarms.nothing_open'), 'good')} ${text}</p>`;
}

/** A list of alarms, with what can be done about each, and links to the payments that this person may see. */
export async function alarmTable(deps: DashboardDeps, visit: Visit<null>, alarms: readonly Alarm[]): Promise<Html> {
  const { words, nowMs } = visit;
  if (alarms.length === 0) return html`<p class="card">${words.say('alarms.none')}</p>`;
  const payments = await paymentPages(deps, visit, alarms);
  const open = alarms.flatMap(({ key, endedAtMs }) => (key !== null && endedAtMs === null ? [key] : []));
  const counts = await deps.database.alarms.countRaised(open, nowMs - COUNTED_DAYS * DAY_MS);
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
      html`<div>${alarmState(words, alarm)}${endText(words, alarm)}${noteOf(alarm)}</div>`,
      html`<span>${data(alarmName(alarm))} <code>${alarm.code}</code>${alarm.network === null ? null : html` <code>${alarm.network}</code>`}</span>`,
      html`<div>${english(alarm.message)}${paymentLink(words, payments.get(alarm.sessionId ?? ''))}${countText(words, alarm, counts)}</div>`,
      html`<div>${alarmForms(visit, alarm)}</div>`,
    ]),
  );
}

/** Says when an alarm was over. */
function endText(words: Words, { endedAtMs, resolvedAtMs }: Alarm): Html | null {
  const atMs = endedAtMs ?? resolvedAtMs;
  return atMs === null ? null : html`<p class="hint">${words.html('alarms.until', { time: time(atMs) })}</p>`;
}

/** Says that an open alarm comes again and again. */
function countText(words: Words, { key, endedAtMs }: Alarm, counts: ReadonlyMap<string, number>): Html | null {
  const count = endedAtMs === null ? (counts.get(key ?? '') ?? 0) : 0;
  return count < 2 ? null : html`<p class="hint">${words.say('alarms.times', { count, days: COUNTED_DAYS })}</p>`;
}

/** Returns the page of each session that alarms are about, where this person may see it. */
async function paymentPages({ database }: DashboardDeps, { visitor }: Visit<null>, alarms: readonly Alarm[]) {
  const pages = new Map<string, string>();
  for (const id of new Set(alarms.flatMap(({ sessionId }) => sessionId ?? []))) {
    const session = await database.sessions.find(id);
    if (!session) continue;
    const { storeId, mode } = session;
    const maySee = isAllowed(visitor.person.memberships, { permission: 'payments:read', storeId });
    if (maySee) pages.set(id, `/s/${storeId}/${mode}/payments/${id}`);
  }
  return pages;
}

const paymentLink = (words: Words, href: string | undefined): Html | null =>
  href === undefined ? null : html` <a href="${href}">${words.say('overview.alarm_payment')}</a>`;

const alarmName = ({ id }: Pick<Alarm, 'id'>): string => `A-${id}`;

function alarmState(words: Words, { key, endedAtMs, acknowledgedAtMs, resolvedAtMs }: Alarm): Html {
  if (resolvedAtMs !== null) return badge(words.say('alarms.resolved'), 'good');
  if (endedAtMs !== null) return badge(words.say('alarms.over'), 'good');
  if (acknowledgedAtMs !== null) return badge(words.say('alarms.acknowledged'), 'attention');
  return key === null ? badge(words.say('alarms.event'), 'attention') : badge(words.say('alarms.open'), 'danger');
}

const noteOf = ({ acknowledgedBy, acknowledgedNote }: Alarm): Html | null =>
  acknowledgedNote === null
    ? null
    : html`<p class="note">${data(plainText(acknowledgedNote))}</p><p class="hint">${data(acknowledgedBy ?? '')}</p>`;

function alarmForms(visit: Visit<null>, alarm: Alarm): Html | null {
  const { id, endedAtMs, acknowledgedAtMs, resolvedAtMs } = alarm;
  if (endedAtMs !== null || resolvedAtMs !== null || acknowledgedAtMs !== null) return null;
  const { words } = visit;
  const button = words.say('alarms.acknowledge');
  const label = words.say('general.act_on', { act: button, name: alarmName(alarm) });
  const name = words.html('general.act_on', { act: words.say('general.change'), name: alarmName(alarm) });
  return html`<details><summary>${name}</summary><form method="post" action="${PATH}/acknowledge">${changeFields(visit)}
<input type="hidden" name="alarm" value="${id}">${noteField(visit, alarm)}<button class="plain small" aria-label="${label}">${button}</button></form></details>`;
}

function noteField({ words }: Visit<null>, alarm: Alarm): Html {
  const note = words.say('alarms.note');
  const label = words.say('general.act_on', { act: note, name: alarmName(alarm) });
  return html`<input class="small" name="note" maxlength="${ALARM_NOTE_CHARS_MAX}" aria-label="${label}" placeholder="${note}" autocomplete="off"> `;
}
