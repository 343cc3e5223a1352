/**
 * The audit log, for the operator: what people changed, limited to a person, an act or a time; and the same as CSV.
 */
import type { AuditEntry, AuditSearch } from '../../database/audit-log.ts';
import type { AuditedState } from '../../database/column-values.ts';
import { html } from '../../lib/html.ts';
import { list } from '../../web/list.ts';
import { readAuditNames } from '../audit-names.ts';
import type { DashboardDeps } from '../deps.ts';
import { type StartExport, writeSlices } from '../export.ts';
import { chosenOf, dayFields, pager, queryOfChosen, readDays } from '../list-filter.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { data, time } from '../show.ts';

const PATH = '/operator/audit';
const ENTRIES_SHOWN = 50;
/** Of a file. */
const SLICE_ENTRIES = 100;
/** So many entries are looked at for each page, and for each slice of a file. */
const ENTRIES_READ_MAX = 5_000;
const TEXT_CHARS_MAX = 100;

export const auditPages = (deps: DashboardDeps, startExport: StartExport): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => auditPage(deps, visit) },
  {
    method: 'get',
    path: `${PATH}.csv`,
    needs: 'installation:read',
    async answer(visit) {
      const { chosen, search } = readFilter(visit);
      return startExport(visit, {
        name: 'audit',
        command: 'export audit log',
        target: 'audit log',
        chosen,
        back: html`<a href="${PATH}${queryOfChosen(chosen)}">Back to the audit log</a>`,
        parts: exportAudit(deps, search),
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
  const { chosen, search } = readFilter(visit);
  const before = query.get('before') ?? '';
  const beforeId = /^\d{1,15}$/.test(before) ? Number(before) : null;
  const page = { beforeId, limit: ENTRIES_SHOWN, entriesMax: ENTRIES_READ_MAX };
  const { entries, goOnId } = await deps.database.audit.search({ ...search, ...page });
  const names = await readAuditNames(deps, visit, entries);
  return {
    title: 'Audit log',
    content: html`<form method="get" action="${PATH}" class="controls">
<label>Who <input name="who" value="${chosen.who ?? ''}" maxlength="${TEXT_CHARS_MAX}"></label>
<label>Act or what it was on <input name="what" value="${chosen.what ?? ''}" maxlength="${TEXT_CHARS_MAX}" spellcheck="false"></label>
${dayFields(words, chosen)}
<button class="plain">Show</button></form>
${list<AuditEntry>({
  caption: 'Audit log',
  columns: [
    ['Time', ({ atMs }) => time(atMs), 'newest'],
    ['Who', ({ operator }) => data(operator)],
    ['What', ({ command }) => data(command), 'lead'],
    ['On', ({ target }) => names.target(target)],
    ['Before', (one) => names.state(one.before)],
    ['After', (one) => names.state(one.after)],
    ['Reason', ({ reason }) => data(reason ?? '')],
  ],
  rows: entries,
  empty: goOnId === null ? 'No entry matches.' : 'Nothing here yet; older entries may match.',
})}
${pager(words, { path: PATH, chosen, isFirst: beforeId === null, older: goOnId === null ? null : { before: String(goOnId) }, csv: `${PATH}.csv` })}
<p class="hint">Nothing deletes an entry.</p>`,
  };
}

const stateText = (state: AuditedState): string =>
  Object.entries(state ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');

/** Yields the entries as CSV, newest first. */
const exportAudit = ({ database, clock }: DashboardDeps, search: AuditSearch): AsyncGenerator<string> =>
  writeSlices(clock, ['time', 'who', 'what', 'on', 'before', 'after', 'reason'], async (beforeId: number | null) => {
    const slice = { beforeId, limit: SLICE_ENTRIES, entriesMax: ENTRIES_READ_MAX };
    const { entries, goOnId } = await database.audit.search({ ...search, ...slice });
    const rows = entries.map(({ atMs, operator, command, target, before, after, reason }) => [
      ...[new Date(atMs).toISOString(), operator, command, target],
      ...[stateText(before), stateText(after), reason],
    ]);
    return { rows, goOn: goOnId };
  });
