/**
 * Values of audit entries as people know them: amounts and times in their units, people, stores and networks by name,
 * ids of payouts as links. The stored values stay as they are.
 */
import { shownMinor } from '../acts/refund-words.ts';
import type { AuditEntry } from '../database/audit-log.ts';
import type { AuditedState } from '../database/column-values.ts';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import type { Visit } from './page.ts';
import { data, span, time } from './show.ts';

/** Ids of what is paid out, which have a page each. */
const PAYOUT = /^(rf|rt|sw|ga|mv)_[\w-]{1,80}$/;
const STORE = /(\bmer_\w+)/;
const TIME_NAME = /(at|until|since)_?ms$/i;
/** What a number must be to be a time: from 1973 to 2286. */
const timeMs = { least: 1e11, most: 1e13 } as const;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/;

/** A name of the log ends in the unit of its value. */
const UNIT = /^(.+?)(Minor|_minor|Ms|_ms|S|_s)$/;

/** Returns a name of the log in words, without its unit: `topUpGraceS` is "top up grace". */
function wordsOf(name: string): string {
  const [, stem = name] = UNIT.exec(name) ?? [];
  return stem.replaceAll('_', ' ').replace(/([a-z0-9])([A-Z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`);
}

/** Shows what an id names. */
export type AuditNames = Readonly<{ target(text: string): Html; state(state: AuditedState): Html }>;

/** Reads what the entries of a page name. */
export async function readAuditNames(
  { database, config }: DashboardDeps,
  { words }: Pick<Visit<null>, 'words'>,
  entries: readonly AuditEntry[],
): Promise<AuditNames> {
  const named = new Map<string, Html>();
  const link = (href: string, text: string, id: string): Html =>
    html`<a class="long" href="${href}" title="${id}">${data(text)}</a>`;
  const all = JSON.stringify(entries.map(({ target, before, after }) => [target, before, after]));
  if (all.includes('usr_')) {
    for (const { id, name } of await database.people.list()) named.set(id, link('/operator/stores#people', name, id));
  }
  if (all.includes('mer_')) {
    for (const { id, name } of await database.stores.list()) named.set(id, link('/operator/stores', name, id));
  }
  for (const { key } of config.networks) named.set(key, link(`/operator/networks/${key}`, key, key));
  const nameOf = (text: string): Html | undefined =>
    PAYOUT.test(text) ? link(`/operator/payouts/${text}`, text, text) : named.get(text);
  const value = (name: string, one: string | number | boolean | null): Html => {
    const [, , unit = ''] = UNIT.exec(name) ?? [];
    const ms = TIME.test(String(one)) ? Date.parse(String(one)) : TIME_NAME.test(name) ? Number(one) : 0;
    if (ms >= timeMs.least && ms <= timeMs.most) return time(ms);
    const isCount = /^\d{1,30}$/.test(String(one));
    if (isCount && /minor/i.test(unit)) return data(shownMinor(BigInt(String(one))));
    if (isCount && /^_?s$/i.test(unit)) return span(words, Number(one) * 1000);
    if (typeof one !== 'string') return html`${one === null ? '–' : String(one)}`;
    // A role is said with its store: "owner of mer_…".
    return nameOf(one) ?? html`${one.split(STORE).map((part) => named.get(part) ?? part)}`;
  };
  return {
    target: (text) => nameOf(text) ?? html`<code class="long">${text}</code>`,
    state: (state) =>
      html`<bdi class="long">${Object.entries(state ?? {}).map(
        ([name, one], at) => html`${at === 0 ? null : ', '}${wordsOf(name)}: ${value(name, one)}`,
      )}</bdi>`,
  };
}
