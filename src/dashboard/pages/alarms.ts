/**
 * Alarms, for the operator: open, acknowledged, over. Those that watch something end by themselves; one that
 * reports an event waits for a person to resolve it. And who is informed about them.
 */
import { say } from '../../acts/act.ts';
import { acknowledgeAlarm } from '../../acts/alarms.ts';
import { isAllowed } from '../../core/access.ts';
import type { Alarm } from '../../database/alarms.ts';
import { type Html, html } from '../../lib/html.ts';
import { type Column, list, section } from '../../web/list.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, pageOf, showList } from '../listing.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { badge, data, english, plainText, time } from '../show.ts';
import { noticeForms, noticeSection } from './notices.ts';

const PATH = '/operator/alarms';
/** So many alarms are looked at for events that nobody has acknowledged. */
const EVENTS_LOOKED_AT = 50;

const acknowledging = formOf(acknowledgeAlarm, { path: `${PATH}/acknowledge`, inputs: ['alarm'] });

export const alarmPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'installation:read', answer: (visit) => alarmsPage(deps, visit) }, [
    acknowledging,
    ...noticeForms,
  ]);

/** Alarms that are over, and those that are open where `isOpen` says so. */
const alarmList = (deps: DashboardDeps, isOpen: (alarm: Alarm) => boolean): Listing<null, Alarm> => ({
  path: PATH,
  caption: () => 'Earlier alarms',
  async read(_visit, _chosen, after, limit) {
    const beforeId = /^[1-9]\d{0,14}$/.test(after ?? '') ? Number(after) : undefined;
    const { rows, goOn } = pageOf(await deps.database.alarms.list(limit + 1, beforeId), limit, ({ id }) => id);
    return { rows: rows.filter((one) => !isOpen(one)), goOn };
  },
  columns: (visit, alarms) => alarmColumns(deps, visit, alarms),
  empty: () => 'No alarm has ended yet.',
});

/** Open ones first; then all that there were, page by page. */
async function alarmsPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const open = visit.query.has('before') ? [] : await openAlarms(deps);
  const past = await showList(
    alarmList(deps, ({ id }) => open.some((one) => one.id === id)),
    visit,
  );
  const needing = list<Alarm>({
    caption: 'Alarms',
    columns: await alarmColumns(deps, visit, open),
    rows: open,
    empty: html`${badge('nothing open', 'good')} Alarms are listed here as long as they last.`,
  });
  return {
    title: 'Alarms',
    content: html`${past.isFirst ? section('open', 'Needs somebody', needing, 'plain') : null}
${section('past', 'Earlier', past.table, 'plain')}
${past.isFirst ? await noticeSection(deps, visit) : null}`,
  };
}

/** Returns what lasts, the newest first, and then events of late that nobody has acknowledged. */
async function openAlarms({ database }: DashboardDeps): Promise<readonly Alarm[]> {
  const events = (await database.alarms.list(EVENTS_LOOKED_AT)).filter(
    (one) => one.key === null && one.endedAtMs === null,
  );
  return [...(await database.alarms.listOpen())].reverse().concat(events);
}

/** The columns of alarms, with what can be done about each, and links to the payments that this person may see. */
export async function alarmColumns(
  deps: DashboardDeps,
  visit: Visit<null>,
  alarms: readonly Alarm[],
): Promise<readonly Column<Alarm>[]> {
  const payments = await paymentPages(deps, visit, alarms);
  return [
    ['Raised', ({ atMs }) => time(atMs)],
    ['State', alarmState, 'lead'],
    [
      'Alarm',
      ({ id, code, network }) =>
        html`${nameOf(id)} <code>${code}</code>${network === null ? null : html` <code>${network}</code>`}`,
    ],
    [
      'What happened, and what to do',
      ({ message, sessionId }) => {
        const href = payments.get(sessionId ?? '');
        return html`${english(message)}${href === undefined ? null : html` <a href="${href}">The payment</a>`}`;
      },
    ],
    ['Change', (one) => changeOf(visit, one)],
  ];
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

const nameOf = (id: number): string => `A-${id}`;

/** An alarm's outcome, its end, and the person who looks at it. */
function alarmState({ key, endedAtMs, acknowledgedAtMs, acknowledgedBy, acknowledgedNote }: Alarm): Html {
  const until = endedAtMs === null ? null : html`<p class="hint">until ${time(endedAtMs)}</p>`;
  const note =
    acknowledgedNote === null
      ? null
      : html`<p class="note">${data(plainText(acknowledgedNote))}</p><p class="hint">${data(acknowledgedBy ?? '')}</p>`;
  const state = () => {
    if (endedAtMs !== null) return badge(key === null ? 'resolved' : 'over', 'good');
    if (acknowledgedAtMs !== null) return badge('acknowledged', 'attention');
    return key === null ? badge('event', 'attention') : badge('open', 'danger');
  };
  return html`${state()}${until}${note}`;
}

function changeOf(visit: Visit<null>, { id, endedAtMs, acknowledgedAtMs }: Alarm): Html | null {
  if (endedAtMs !== null || acknowledgedAtMs !== null) return null;
  return acknowledging.show(visit, {
    ...{ button: 'Acknowledge', about: nameOf(id), look: 'small', opens: 'Acknowledge…' },
    ...{ given: { alarm: String(id) }, note: say('Note') },
  });
}
