/** The audit log, for the operator: what people changed, limited to a person, an act or a time; and the same as CSV. */
import type { AuditEntry } from '../../database/audit-log.ts';
import type { AuditedState } from '../../database/column-values.ts';
import { html } from '../../lib/html.ts';
import { list } from '../../web/list.ts';
import { readAuditNames } from '../audit-names.ts';
import type { DashboardDeps } from '../deps.ts';
import { type AnswerFile, dayFields, daysOf, type Field, type Listing, listPage } from '../listing.ts';
import type { CommonPage } from '../page.ts';
import { data, time } from '../show.ts';

const PATH = '/operator/audit';
/** So many entries are looked at for each page, and for each slice of a file. */
const ENTRIES_READ_MAX = 5_000;
const TEXT_CHARS_MAX = 100;

export function auditPages(deps: DashboardDeps, answerFile: AnswerFile): readonly CommonPage[] {
  const entries = auditList(deps);
  return [
    { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => listPage(entries, visit) },
    { method: 'get', path: `${PATH}.csv`, needs: 'installation:read', answer: (visit) => answerFile(entries, visit) },
  ];
}

const textField = (name: string, label: string): Field => ({
  ...{ name, label, type: 'text', charsMax: TEXT_CHARS_MAX },
  read: (text) => text,
});

const auditList = (deps: DashboardDeps): Listing<null, AuditEntry> => ({
  title: () => 'Audit log',
  fields: ({ words }) => [textField('who', 'Who'), textField('what', 'Act or what it was on'), ...dayFields(words)],
  async read({ zone }, chosen, after, limit) {
    const { who = null, what = null } = chosen;
    const { entries, goOnId } = await deps.database.audit.search({
      ...{ who, what, ...daysOf(chosen, zone), limit, entriesMax: ENTRIES_READ_MAX },
      beforeId: after !== null && /^\d{1,15}$/.test(after) ? Number(after) : null,
    });
    return { rows: entries, goOn: goOnId === null ? null : String(goOnId) };
  },
  async table(visit, entries) {
    const names = await readAuditNames(deps, visit, entries);
    return html`${list<AuditEntry>({
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
      empty: '',
    })}<p class="hint">Nothing deletes an entry.</p>`;
  },
  empty: (_visit, why) => (why === 'rest' ? 'Nothing here yet; older entries may match.' : 'No entry matches.'),
  file: {
    noun: 'audit',
    columns: ['time', 'who', 'what', 'on', 'before', 'after', 'reason'],
    cells: async (entries) =>
      entries.map(({ atMs, operator, command, target, before, after, reason }) => [
        ...[new Date(atMs).toISOString(), operator, command, target],
        ...[stateText(before), stateText(after), reason],
      ]),
    sliceRows: 100,
  },
});

const stateText = (state: AuditedState): string =>
  Object.entries(state ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
