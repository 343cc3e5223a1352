/** The installation at a glance, for the operator: what needs somebody, money taken, networks. */
import { isInformed } from '../../database/notices.ts';
import type { MerchantStore } from '../../database/stores.ts';
import { type Html, html } from '../../lib/html.ts';
import { figures, list, section } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { badge, time } from '../show.ts';
import { alarmColumns } from './alarms.ts';
import { NETWORKS_PATH, networksList, unseenNetworks } from './networks.ts';
import { SYSTEM_PATH } from './system.ts';

export const operatorPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: '/operator',
  needs: 'installation:read',
  answer: async (visit) => ({
    title: 'Installation',
    content: html`${await numbers(deps, visit)}
${section('needs', 'What needs you', await needs(deps, visit))}
${section('networks', 'Networks', await networksList(deps, visit), 'plain')}`,
  }),
});

async function numbers({ database }: DashboardDeps, { nowMs }: Visit<null>): Promise<Html> {
  const { sessions, deliveriesWaiting, oldestWaitingMs, heldOpen } = await database.reports.stats(nowMs);
  const oldest = html` <small>oldest ${Math.floor(oldestWaitingMs / 1000)} s</small>`;
  return html`<div class="card">${figures([
    ['Stores', String((await database.stores.list()).length)],
    ['Open payments', String(sessions.pending)],
    ['Paid', String(sessions.paid)],
    ['Held amounts to decide', String(heldOpen)],
    ['Webhooks waiting', html`${deliveriesWaiting}${deliveriesWaiting === 0 ? null : oldest}`],
  ])}</div>`;
}

async function needs(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database } = deps;
  const open = await database.alarms.listOpen();
  const stores = await database.stores.list();
  const toApprove = stores.filter(({ status, refusal }) => status === 'pending' && !refusal).length;
  const lines = [
    ...(toApprove > 0
      ? [html`${badge(`${toApprove} to approve`, 'attention')} <a href="/operator/stores">Stores that wait for you</a>`]
      : []),
    ...(await unseenNetworks(deps, visit.nowMs)).map(({ key, title, sinceMs }) => {
      const read = sinceMs === 0 ? 'was never read' : html`is read up to ${time(sinceMs)}`;
      return html`${badge('not read', 'danger')} <a href="${NETWORKS_PATH}">${title}</a> ${read}. <code>quayside network check ${key}</code> says what is wrong.`;
    }),
    ...(await missingGuards(deps)),
  ];
  const columns = await alarmColumns(deps, visit, open);
  const alarms = open.length > 0 ? list({ caption: 'Alarms', columns, rows: open, empty: '' }) : null;
  const quiet = lines.length === 0 && !alarms ? html`<p>${badge('no open alarm', 'good')}</p>` : null;
  return html`<ul class="steps">${lines.map((line) => html`<li>${line}</li>`)}</ul>${alarms}${quiet}${noStore(visit, stores)}`;
}

/** Precautions that are missing, and how to take them. */
async function missingGuards({ database, readBackups }: DashboardDeps): Promise<readonly Html[]> {
  const isTold = (await database.notices.listTargets()).some(isInformed);
  const backup = html`${badge('no backup was proved', 'attention')} <code>quayside backup</code> makes one and restores it on trial. <a href="${SYSTEM_PATH}">Backups and proofs</a>`;
  const notice = html`${badge('nobody is informed about alarms', 'attention')} <a href="/operator/alarms#targets">Add somebody</a>, and type the code that arrives.`;
  return [...(readBackups().proved === null ? [backup] : []), ...(isTold ? [] : [notice])];
}

/** Says to an operator who is a member of no store how to see payments. */
function noStore({ visitor: { person } }: Visit<null>, stores: readonly MerchantStore[]): Html | null {
  if (person.memberships.some(({ storeId }) => storeId !== null)) return null;
  const name = person.name.includes(' ') ? `"${person.name}"` : person.name;
  const [first, ...others] = stores;
  const store = others.length === 0 ? '' : ` --store ${first?.id ?? ''}`;
  const next = first
    ? html`<code>quayside user link ${name} --role owner${store}</code> makes you the owner of one.`
    : html`<a href="/stores/new">Make a store</a>`;
  return html`<p class="hint">You belong to no store, so no payment is shown to you. ${next}</p>`;
}
