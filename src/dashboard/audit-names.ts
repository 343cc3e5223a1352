/**
 * What entries of the audit log name, as people know it: times in the log's zone, ids as links to the pages that this
 * person may open, people and stores by their names. What is stored stays as it is.
 */

import { shownMinor } from '../acts/refund-words.ts';
import { isAllowed, type StorePermission } from '../core/access.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { AuditEntry, AuditedState } from '../database/audit-log.ts';
import { type Html, html } from '../lib/html.ts';
import { createAddressFormat } from '../payments/destination.ts';
import type { DashboardDeps } from './deps.ts';
import type { Visit } from './page.ts';
import { data, span, time } from './show.ts';
import type { Words } from './texts.ts';

/** Ids that are looked up for one page. */
const LOOKED_UP_MAX = 100;
const ID = /^(cs|rf|rt|sw|ga|mv|held|key|we|op)_[\w-]{1,80}$/;
const STORE = /(\bmer_\w+)/;
/** Of an address. */
const KEY = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
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

/** Shows an amount or a length of time by the unit that its name ends in; null for any other value. */
function inUnit(words: Words, name: string, one: string | number | boolean | null): Html | null {
  const [, , unit = ''] = UNIT.exec(name) ?? [];
  if (!/^\d{1,30}$/.test(String(one))) return null;
  if (/minor/i.test(unit)) return data(shownMinor(BigInt(String(one))));
  return /^_?s$/i.test(unit) ? span(words, Number(one) * 1000) : null;
}

/** Shows what an id names. */
export type AuditNames = Readonly<{
  target(text: string): Html;
  /** @param target what the entry is about */
  state(state: AuditedState, target: string): Html;
}>;

type InStore = Readonly<{ storeId: string; mode: Mode }>;

/** Looks up what the entries of a page name, each once. */
export async function readAuditNames(
  deps: DashboardDeps,
  visit: Visit<null>,
  entries: readonly AuditEntry[],
): Promise<AuditNames> {
  const texts = new Set(
    entries.flatMap(({ target, before, after }) => [
      target,
      ...Object.values(before ?? {}),
      ...Object.values(after ?? {}),
    ]),
  );
  const named = await readLists(deps, texts);
  const ids = [...texts].filter((text): text is string => typeof text === 'string' && ID.test(text));
  for (const id of ids.slice(0, LOOKED_UP_MAX)) {
    const href = await pageOf(deps, visit, id);
    if (href !== null) named.set(id, link(href, id));
  }
  const networks = await readNetworks(deps, entries);
  const format = createAddressFormat(deps.config);
  /** A destination is stored as a key, by the network of its refund or under the network's name. */
  const address = (name: string, one: unknown, target: string): Html | null => {
    const network =
      name === 'destination' ? networks.get(target) : deps.config.networks.find(({ key }) => key === name)?.key;
    return network && KEY.test(String(one)) ? data(format(network, String(one))) : null;
  };
  const value = (name: string, one: string | number | boolean | null): Html => {
    const ms =
      typeof one === 'number' && TIME_NAME.test(name) ? one : TIME.test(String(one)) ? Date.parse(String(one)) : 0;
    if (ms >= timeMs.least && ms <= timeMs.most) return time(ms);
    const measured = inUnit(visit.words, name, one);
    if (measured !== null) return measured;
    if (typeof one !== 'string') return html`${one === null ? '–' : String(one)}`;
    // A role is said with its store: "owner of mer_…".
    return named.get(one) ?? html`${one.split(STORE).map((part) => named.get(part) ?? part)}`;
  };
  return {
    target: (text) => named.get(text) ?? html`<code class="long">${text}</code>`,
    state: (state, target) =>
      html`<bdi class="long">${Object.entries(state ?? {}).map(
        ([name, one], at) =>
          html`${at === 0 ? null : ', '}${wordsOf(name)}: ${address(name, one, target) ?? value(name, one)}`,
      )}</bdi>`,
  };
}

/** Returns the networks of refunds whose destination was changed. */
async function readNetworks(
  { database }: DashboardDeps,
  entries: readonly AuditEntry[],
): Promise<ReadonlyMap<string, NetworkKey>> {
  const networks = new Map<string, NetworkKey>();
  for (const { target, after } of entries) {
    if (!after || !('destination' in after) || networks.has(target)) continue;
    const refund = await database.refunds.findBy({ id: target });
    if (refund) networks.set(target, refund.network);
  }
  return networks;
}

/** `id`: what stands behind a name. */
const link = (href: string, text: string, id = text): Html =>
  html`<a class="long" href="${href}">${id === text ? data(text) : html`<span title="${id}">${data(text)}</span>`}</a>`;

/** People, stores, networks, alarms and targets of notices: few, or known by their form. */
async function readLists({ database, config }: DashboardDeps, texts: ReadonlySet<unknown>): Promise<Map<string, Html>> {
  const named = new Map<string, Html>();
  const has = (prefix: string): boolean => [...texts].some((text) => String(text).includes(prefix));
  if (has('usr_')) {
    for (const { id, name } of await database.people.list()) named.set(id, link('/operator/people', name, id));
  }
  if (has('mer_')) {
    for (const { id, name } of await database.stores.list()) named.set(id, link('/operator/stores', name, id));
  }
  for (const { key } of config.networks) named.set(key, link(`/operator/networks/${key}`, key));
  for (const text of texts) {
    if (typeof text !== 'string') continue;
    const [, alarm] = /^A-([1-9]\d{0,14})$/.exec(text) ?? [];
    if (alarm) named.set(text, link(`/operator/alarms?before=${Number(alarm) + 1}`, text));
    if (text.startsWith('nt_')) named.set(text, link('/operator/notices', text));
  }
  return named;
}

/** Returns the page of what an id names; null if there is none, or this person may not open it. */
async function pageOf({ database }: DashboardDeps, visit: Visit<null>, id: string): Promise<string | null> {
  const { memberships } = visit.visitor.person;
  const inStore = (at: InStore | null, permission: StorePermission, path: string): string | null =>
    at && isAllowed(memberships, { permission, ...at }) ? `/s/${at.storeId}/${at.mode}/${path}` : null;
  const isMember = memberships.some(({ storeId }) => storeId !== null);
  const payoutPage = async () => ((await database.findPayout(id)) ? `/operator/payouts/${id}` : null);
  switch (id.split('_')[0]) {
    case 'cs':
      return isMember ? inStore(await database.sessions.find(id), 'payments:read', `payments/${id}`) : null;
    case 'rf':
    case 'rt': {
      const refund = isMember ? await database.refunds.findBy({ id }) : null;
      return inStore(refund, 'payments:read', `refunds/${id}`) ?? payoutPage();
    }
    case 'held':
      return isMember ? inStore(await database.held.find(id), 'payments:read', `held/${id}`) : null;
    case 'key':
      return isMember ? inStore(await database.keys.show(id), 'keys:manage', 'developers') : null;
    case 'we':
      return isMember ? inStore(await database.findEndpoint(id), 'webhooks:read', `webhooks/${id}`) : null;
    default:
      return payoutPage();
  }
}
