/**
 * The audit log, for the operator: what people changed, limited to a person, an act or a time; and the same as CSV.
 */
import type { AuditEntry, AuditedState, AuditSearch } from '../../database/audit-log.ts';
import { type Html, html } from '../../lib/html.ts';
import { type AuditNames, readAuditNames } from '../audit-names.ts';
import type { DashboardDeps } from '../deps.ts';
import { type StartExport, writeSlices } from '../export.ts';
import { chosenOf, dayFields, queryOfChosen, readDays } from '../list-filter.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { data, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/operator/audit';
const ENTRIES_SHOWN = 50;
/** Of a file. */
const SLICE_ENTRIES = 100;
/** So many entries are looked at for each page, and for each slice of a file. */
const ENTRIES_READ_MAX = 5_000;
const TEXT_CHARS_MAX = 100;

const columns = ['time', 'who', 'what', 'on', 'before', 'after', 'reason'] as const;

export const auditPages = (deps: DashboardDeps, startExport: StartExport): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => auditPage(deps, visit) },
  {
    method: 'get',
    path: `${PATH}.csv`,
    needs: 'installation:read',
    async answer(visit) {
      const filter = readFilter(visit);
      return startExport(visit, {
        name: 'audit',
        command: 'export audit log',
        target: 'audit log',
        chosen: filter.chosen,
        back: html`<a href="${PATH}${queryOfChosen(filter.chosen)}">${visit.words.say('audit.back')}</a>`,
        parts: exportAudit(deps, filter.search),
      });
    },
  },
];

type Filter = Readonly<{
  chosen: Readonly<Partial<Record<'who' | 'what' | 'from' | 'to', string>>>;
  search: AuditSearch;
}>;

/** What the address says that is no day filters nothing and is left out. */
function readFilter({ query, zone }: Pick<Visit<null>, 'query' | 'zone'>): Filter {
  const textOf = (name: string) => (query.get(name) ?? '').trim().slice(0, TEXT_CHARS_MAX) || null;
  const [who, what] = [textOf('who'), textOf('what')];
  const { from, to, fromMs, toMs } = readDays(query, zone);
  return { chosen: chosenOf({ who, what, from, to }), search: { who, what, fromMs, toMs } };
}

async function auditPage(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { query, words } = visit;
  const filter = readFilter(visit);
  const before = query.get('before') ?? '';
  const beforeId = /^\d{1,15}$/.test(before) ? Number(before) : null;
  const page = { beforeId, limit: ENTRIES_SHOWN, entriesMax: ENTRIES_READ_MAX };
  const { entries, goOnId } = await deps.database.audit.search({ ...filter.search, ...page });
  const link = (path: string, more: Readonly<Record<string, string>>, text: string, rel: Html | null = null) =>
    html`<a href="${path}${queryOfChosen(filter.chosen, more)}"${rel}>${text}</a>`;
  const isFiltered = Object.keys(filter.chosen).length > 0;
  const older = { before: String(goOnId) };
  const none = html`<p class="card">${words.say(goOnId === null ? 'audit.none' : 'audit.rest')}</p>`;
  return {
    title: words.say('frame.operator_audit'),
    content: html`${filterForm(words, filter)}
${entries.length === 0 ? none : entryTable(words, entries, await readAuditNames(deps, visit, entries))}
<p class="pager">${beforeId === null ? null : link(PATH, {}, words.say('general.newest'))}
${goOnId === null ? null : link(PATH, older, words.say('general.older'), html` rel="next"`)}
${link(`${PATH}.csv`, {}, words.say(isFiltered ? 'payments.csv_these' : 'payments.csv_all'))}</p>
<p class="hint">${words.say('audit.no_deletes')}</p>`,
  };
}

const filterForm = (
  words: Words,
  { chosen }: Filter,
): Html => html`<form method="get" action="${PATH}" class="controls">
<label>${words.say('audit.who')} <input name="who" value="${chosen.who ?? ''}" maxlength="${TEXT_CHARS_MAX}"></label>
<label>${words.say('audit.what_or_on')} <input name="what" value="${chosen.what ?? ''}" maxlength="${TEXT_CHARS_MAX}" spellcheck="false"></label>
${dayFields(words, chosen)}
<button class="plain">${words.say('general.show')}</button></form>`;

const entryTable = (words: Words, entries: readonly AuditEntry[], names: AuditNames): Html =>
  table(
    words.say('frame.operator_audit'),
    columns.map((column) => words.say(`audit.${column}`)),
    entries.map(({ atMs, operator, command, target, before, after, reason }) => [
      time(atMs),
      data(operator),
      data(command),
      names.target(target),
      names.state(before, target),
      names.state(after, target),
      data(reason ?? ''),
    ]),
  );

const stateText = (state: AuditedState): string =>
  Object.entries(state ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');

/** Yields the entries as CSV, newest first. */
const exportAudit = ({ database, clock }: DashboardDeps, search: AuditSearch): AsyncGenerator<string> =>
  writeSlices(clock, columns, async (beforeId: number | null) => {
    const slice = { beforeId, limit: SLICE_ENTRIES, entriesMax: ENTRIES_READ_MAX };
    const { entries, goOnId } = await database.audit.search({ ...search, ...slice });
    const rows = entries.map(({ atMs, operator, command, target, before, after, reason }) => [
      ...[new Date(atMs).toISOString(), operator, command, target],
      ...[stateText(before), stateText(after), reason],
    ]);
    return { rows, goOn: goOnId };
  });
