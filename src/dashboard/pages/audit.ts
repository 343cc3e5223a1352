/** The audit log, for the operator: what people changed. */
import type { AuditEntry } from '../../database/audit-log.ts';
import type { AuditedState } from '../../database/column-values.ts';
import { type Html, html } from '../../lib/html.ts';
import { pageOf } from '../../web/filters.ts';
import { data, time } from '../../web/show.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import type { CommonPage } from '../page.ts';

const PATH = '/operator/audit';

export const auditPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: PATH,
  needs: 'installation:read',
  async answer(visit) {
    const { table } = await showList(auditList(deps), visit);
    return { title: 'Audit log', content: html`${table}<p class="hint">Nothing deletes an entry.</p>` };
  },
});

const auditList = (deps: DashboardDeps): Listing<null, AuditEntry> => ({
  path: PATH,
  caption: () => 'Audit log',
  async read(_visit, _chosen, after, limit) {
    const beforeId = after !== null && /^\d{1,15}$/.test(after) ? Number(after) : undefined;
    return pageOf(await deps.database.audit.list(limit + 1, beforeId), limit, ({ id }) => id);
  },
  async columns() {
    const names = await readNames(deps);
    return [
      ['Time', ({ atMs }) => time(atMs), 'newest'],
      ['Who', ({ operator }) => data(operator)],
      ['What', ({ command }) => data(command), 'lead'],
      ['On', ({ target }) => names.target(target)],
      ['Before', (one) => names.state(one.before)],
      ['After', (one) => names.state(one.after)],
      ['Reason', ({ reason }) => data(reason ?? '')],
    ];
  },
  empty: () => 'Nothing was changed yet.',
});

const STORE = /(\bmer_\w+)/;
const TIME_NAME = /_?ms$/i;
/** The range of numbers that are times: from 1973 to 2286. */
const timeMs = { least: 1e11, most: 1e13 } as const;

/** Writes the name of a member as words: "link expires at" for `linkExpiresAtMs`. */
const wordsOf = (name: string): string =>
  name
    .replace(TIME_NAME, '')
    .replaceAll('_', ' ')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Reads the names of people and stores. */
async function readNames({ database }: DashboardDeps) {
  const all = [...(await database.people.list()), ...(await database.stores.list())];
  const named = new Map(all.map(({ id, name }) => [id, html`<span class="long" title="${id}">${data(name)}</span>`]));
  const value = (name: string, one: string | number | boolean | null): Html => {
    const ms = TIME_NAME.test(name) ? Number(one) : 0;
    if (ms >= timeMs.least && ms <= timeMs.most) return time(ms);
    if (typeof one !== 'string') return html`${one === null ? '–' : String(one)}`;
    // A role is said with its store: "owner of mer_…".
    return named.get(one) ?? html`${one.split(STORE).map((part) => named.get(part) ?? part)}`;
  };
  return {
    target: (text: string) => named.get(text) ?? html`<code class="long">${text}</code>`,
    state: (state: AuditedState) =>
      html`<bdi class="long">${Object.entries(state ?? {}).map(
        ([name, one], at) => html`${at === 0 ? null : ', '}${wordsOf(name)}: ${value(name, one)}`,
      )}</bdi>`,
  };
}
