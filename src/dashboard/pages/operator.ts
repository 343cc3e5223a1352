/**
 * The operator's pages: what needs somebody, networks, the audit log, and who may use the dashboard.
 * @module
 */
import type { NetworkStatus } from '../../database/database.ts';
import { whyUnfollowed } from '../../database/network-health.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, facts, type Tone, table, time } from '../show.ts';
import { alarmTable } from './alarms.ts';
import { lastProved } from './operator-sources.ts';

const ENTRIES_SHOWN = 100;

export const operatorPages = (deps: DashboardDeps): readonly CommonPage[] => {
  const page = (path: string, title: string, content: (visit: Visit<null>) => Promise<Html>): CommonPage => ({
    method: 'get',
    path,
    needs: 'installation:read',
    answer: async (visit): Promise<Reply> => ({ title, content: await content(visit) }),
  });
  return [
    page('/operator', 'Overview', (visit) => overview(deps, visit)),
    page('/operator/networks', 'Networks', async (visit) => networksTable(deps, await reports(deps), visit)),
    {
      method: 'get',
      path: '/operator/audit',
      needs: 'installation:read',
      answer: async ({ query }) => ({ title: 'Audit log', content: await auditPage(deps, query.get('before')) }),
    },
    page('/operator/people', 'People', () => peopleTable(deps)),
  ];
};

const reports = async ({ database }: DashboardDeps): Promise<ReadonlyMap<string, NetworkStatus>> =>
  new Map((await database.listNetworks()).map((status) => [status.network, status]));

async function overview(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database } = deps;
  const open = await database.listOpenAlarms();
  const { sessions, deliveriesWaiting, oldestWaitingMs, heldOpen } = await database.stats(visit.nowMs);
  const stores = await database.listStores();
  const toApprove = stores.filter(({ status, refusal }) => status === 'pending' && !refusal).length;
  const waits =
    deliveriesWaiting === 0 ? 'none' : `${deliveriesWaiting}, the oldest for ${Math.floor(oldestWaitingMs / 1000)} s`;
  return html`<section class="card" aria-labelledby="needs"><h2 id="needs">What needs you</h2>
${toApprove > 0 ? html`<p>${badge(`${toApprove} to approve`, 'attention')} <a href="/operator/stores">Stores that wait for you</a></p>` : null}
${open.length > 0 ? alarmTable(visit, open) : html`<p>${badge('no open alarm', 'good')}</p>`}
</section>
<section class="card" aria-labelledby="networks"><h2 id="networks">Networks</h2>${networksTable(deps, await reports(deps), visit)}</section>
<section class="card" aria-labelledby="numbers"><h2 id="numbers">Numbers</h2>${facts([
    ['Stores', String(stores.length)],
    ...Object.entries(sessions).map(([status, count]) => [`Sessions ${status}`, String(count)] as const),
    ['Webhooks waiting', waits],
    ['Held amounts to decide', String(heldOpen)],
    ['Backup last proved', lastProved(deps, visit)],
  ])}</section>`;
}

const networkTones: Readonly<Record<NetworkStatus['state'], Tone>> = {
  following: 'good',
  starting: 'wait',
  behind: 'attention',
  fault: 'attention',
  halted: 'danger',
};

function networksTable(
  { config }: DashboardDeps,
  known: ReadonlyMap<string, NetworkStatus>,
  { nowMs, words }: Visit<null>,
): Html {
  return table(
    'Networks',
    ['Network', 'State', 'Read to', 'Node’s head', 'Behind', 'Heard', 'Reason'],
    config.networks.map(({ key }) => {
      const status = known.get(key);
      const why = whyUnfollowed(status ?? null, nowMs);
      const isSilent = !status || why?.code === 'indexer_silent';
      const [at, head] = [status?.cursor?.number ?? null, status?.headNumber ?? null];
      return [
        html`<a href="/operator/networks/${key}">${key}</a>`,
        badge(isSilent ? 'silent' : status.state, isSilent ? 'danger' : networkTones[status.state]),
        at === null ? '–' : String(at),
        head === null ? '–' : String(head),
        at === null || head === null ? '–' : `${Math.max(0, head - at)} blocks`,
        status ? ago(words, status.nodeHeardAtMs, nowMs) : 'never',
        why ? html`${prose(why.message)}. <code>quayside networks show ${key}</code>` : '',
      ];
    }),
  );
}

/** @param before the id of the entry that the page before ended with */
async function auditPage({ database }: DashboardDeps, before: string | null): Promise<Html> {
  const beforeId = before !== null && /^\d{1,15}$/.test(before) ? Number(before) : null;
  const found = await database.listAudit(ENTRIES_SHOWN + 1, beforeId === null ? {} : { beforeId });
  const entries = found.slice(0, ENTRIES_SHOWN);
  const newest = beforeId === null ? null : html`<a href="/operator/audit">Newest</a>`;
  const older =
    found.length > ENTRIES_SHOWN
      ? html`<a href="/operator/audit?before=${entries.at(-1)?.id ?? 0}" rel="next">Older</a>`
      : null;
  return html`${table(
    'Audit log',
    ['Time', 'Who', 'What', 'On', 'Before', 'After', 'Why'],
    entries.map(({ atMs, operator, command, target, before, after, reason }) => [
      time(atMs),
      operator,
      command,
      html`<code>${target}</code>`,
      stateText(before),
      stateText(after),
      reason ?? '',
    ]),
  )}
<p class="pager">${newest} ${older}</p><p class="hint">Nothing deletes an entry.</p>`;
}

const stateText = (state: Readonly<Record<string, unknown>> | null): string =>
  state === null
    ? ''
    : Object.entries(state)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ');

async function peopleTable({ database }: DashboardDeps): Promise<Html> {
  const people = await database.listPeople();
  const stores = new Map((await database.listStores()).map(({ id, name }) => [id, name]));
  return html`${table(
    'People',
    ['Name', 'Roles', 'Since', 'State'],
    people.map(({ name, memberships, createdAtMs, removedAtMs, isReady }) => [
      name,
      memberships
        .map(({ role, storeId }) => (storeId === null ? role : `${role} of ${stores.get(storeId) ?? storeId}`))
        .join(', '),
      time(createdAtMs),
      removedAtMs === null
        ? isReady
          ? badge('can sign in', 'good')
          : badge('link not used yet', 'wait')
        : badge('removed', 'wait'),
    ]),
  )}
<p class="hint"><code>quayside user create NAME --role ROLE</code> adds somebody; <code>quayside user reset NAME</code> makes a new link.</p>`;
}
