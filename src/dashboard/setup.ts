/**
 * What a store still needs until its first live payment: each step, whether it is done, and what to do next.
 * @module
 */
import { isAllowed, type StorePermission } from '../core/access.ts';
import { isFollowed } from '../database/network-health.ts';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt, Visit } from './page.ts';
import { badge } from './show.ts';

/** Endpoints that are looked at for a webhook that arrived. */
const ENDPOINTS_READ_MAX = 3;

type Step = Readonly<{ isDone: boolean; what: string; next: Html }>;

/** Returns the steps; those of the installation are the operator's, and say so. */
async function stepsOf(deps: DashboardDeps, { at, visitor, nowMs }: Visit<StoreAt>): Promise<readonly Step[]> {
  const { database, config } = deps;
  const { storeId, mode } = at;
  const store = await database.findStore(storeId);
  const networks = config.networks.filter((network) => network.mode === mode);
  const sources = await Promise.all(
    [...new Set(networks.map(({ family }) => family))].map((family) => database.poolSource({ family, mode })),
  );
  const statuses = (await database.listNetworks()).filter(({ network }) => network.startsWith(`${mode}:`));
  const keys = (await database.listKeys(storeId)).filter((key) => key.mode === mode && key.revokedAtMs === null);
  const page = (name: string, text: string, permission: StorePermission): Html =>
    isAllowed(visitor.person.memberships, { permission, ...at })
      ? html`<a href="/s/${storeId}/${mode}/${name}">${text}</a>`
      : html`${text}: the store’s owner does that`;
  return [
    {
      isDone: store?.status === 'approved',
      what: 'The store is approved',
      next: html`${store?.refusal ? `It was refused: ${store.refusal.because}. ` : null}The operator approves it, in the dashboard or with <code>quayside store approve ${storeId}</code>`,
    },
    {
      isDone: sources.some((source) => source !== null),
      what: 'Deposit addresses come from your wallet',
      next: html`The operator sets <code>xpub</code> of a network, or imports a list where it has none: <code>quayside address-pool import</code>`,
    },
    {
      isDone: statuses.some((status) => isFollowed(status, nowMs)),
      what: `A ${mode} network is connected`,
      next: html`The operator adds one under <code>networks</code>: <code>quayside networks list</code> shows how each does`,
    },
    {
      isDone: keys.length > 0,
      what: `Your shop has a ${mode} key`,
      next: page('developers', 'Make a key', 'keys:manage'),
    },
    {
      isDone: await isWebhookProved(deps, at),
      what: 'A webhook arrived at your shop',
      next: page('webhooks', 'Add an endpoint and send it a test event', 'webhooks:read'),
    },
    {
      isDone: await database.hasCredits({ storeId, mode: 'test' }),
      what: 'A test payment came through',
      next: html`Pay a session of a test key: <code>quayside pay SESSION --network NAME</code> does it in the sandbox`,
    },
    {
      isDone: (await database.listNoticeTargets()).some(({ provedAtMs }) => provedAtMs !== null),
      what: 'Somebody is told when something breaks',
      next: html`The operator adds a target and types the code that arrives: <code>quayside notify add</code>`,
    },
    {
      isDone: deps.readBackups().proved !== null,
      what: 'A backup was made and proved',
      next: html`The operator makes one: <code>quayside backup</code>`,
    },
  ];
}

async function isWebhookProved({ database }: DashboardDeps, { storeId, mode }: StoreAt): Promise<boolean> {
  const all = await database.listEndpoints(storeId);
  const own = all.filter((endpoint) => endpoint.mode === mode && !endpoint.perSession);
  for (const { id } of own.slice(0, ENDPOINTS_READ_MAX)) {
    const health = await database.endpointHealth(id);
    if (health?.recent.some(({ state }) => state === 'delivered')) return true;
  }
  return false;
}

/** Shows what is missing; null once the store took its first live payment, or nothing is missing. */
export async function setupList(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html | null> {
  if (await deps.database.hasCredits({ storeId: visit.at.storeId, mode: 'live' })) return null;
  const steps = await stepsOf(deps, visit);
  const left = steps.filter(({ isDone }) => !isDone).length;
  if (left === 0) return null;
  return html`<section class="card" aria-labelledby="setup"><h2 id="setup">Before your first live payment: ${left} of ${steps.length} left</h2>
<ul class="steps">${steps.map(({ isDone, what, next }) =>
    isDone
      ? html`<li>${badge('done', 'good')} ${what}</li>`
      : html`<li>${badge('to do', 'attention')} ${what}<p class="hint">${next}</p></li>`,
  )}</ul></section>`;
}
