/**
 * What a store still needs until its first payment, in test mode to try it and in live mode before the first real one:
 * each step, whether it is done, and what to do next.
 */
import { isAllowed, type StorePermission } from '../core/access.ts';
import { isFollowed } from '../database/networks.ts';
import { isInformed } from '../database/notices.ts';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import type { StoreAt, Visit } from './page.ts';
import { badge } from './show.ts';
import type { TextKey, Words } from './texts.ts';

/** Deliveries that are looked at for a webhook that arrived, the newest ones. */
const DELIVERIES_LOOKED_AT_MAX = 100;

type Step = Readonly<{ isDone: boolean; what: TextKey; next: Html }>;

/** Returns the steps; those of the installation are the operator's, and say so. */
async function stepsOf(deps: DashboardDeps, { at, visitor, nowMs, words }: Visit<StoreAt>): Promise<readonly Step[]> {
  const { database, config } = deps;
  const { storeId, mode } = at;
  const store = await database.stores.find(storeId);
  const networks = config.networks.filter((network) => network.mode === mode);
  const sources = await Promise.all(
    [...new Set(networks.map(({ family }) => family))].map((family) => database.addresses.source({ family, mode })),
  );
  const statuses = (await database.networks.list()).filter(({ network }) => network.startsWith(`${mode}:`));
  const keys = (await database.keys.list(storeId)).filter((key) => key.mode === mode && key.revokedAtMs === null);
  const page = (name: string, key: TextKey, permission: StorePermission): Html => {
    const step = words.say(key);
    return isAllowed(visitor.person.memberships, { permission, ...at })
      ? html`<a href="/s/${storeId}/${mode}/${name}">${step}</a>`
      : words.html('setup.owner_does', { step: html`${step}` });
  };
  const command = html`<code>quayside store decide ${storeId} approve</code>`;
  const reason = store?.refusal?.because;
  const forLive = mode === 'test' ? [] : await liveSteps(deps, words);
  return [
    {
      isDone: store?.status === 'approved',
      what: 'setup.approved',
      next:
        reason === undefined
          ? words.html('setup.approved_next', { command })
          : words.html('setup.refused_next', { command, reason }),
    },
    {
      isDone: sources.some((source) => source !== null),
      what: 'setup.addresses',
      next: words.html('setup.addresses_next'),
    },
    {
      // That it stops later is no step of setting up: the overview says so.
      isDone: statuses.some((status) => status.cursor !== null || isFollowed(status, nowMs)),
      what: `setup.network_${mode}`,
      next: words.html('setup.network_next'),
    },
    {
      isDone: keys.length > 0,
      what: `setup.key_${mode}`,
      next: page('developers', 'setup.key_next', 'keys:manage'),
    },
    {
      isDone: await isWebhookProved(deps, at),
      what: 'setup.webhook',
      next: page('webhooks', 'setup.webhook_next', 'webhooks:read'),
    },
    {
      isDone: await database.reports.hasCredits({ storeId, mode: 'test' }),
      what: 'setup.payment',
      next: words.html('setup.payment_next'),
    },
    ...forLive,
  ];
}

/** What the installation needs before real money comes. */
async function liveSteps({ database, config, readBackups }: DashboardDeps, words: Words): Promise<readonly Step[]> {
  const people = await database.people.list();
  return [
    {
      isDone: people.some(
        ({ memberships, isReady, removedAtMs }) =>
          isReady && removedAtMs === null && memberships.some(({ role }) => role === 'operator'),
      ),
      what: 'setup.operator',
      next: words.html('setup.operator_next'),
    },
    {
      isDone: [config.baseUrl, config.checkoutUrl].every((url) => url.startsWith('https:')),
      what: 'setup.https',
      next: words.html('setup.https_next'),
    },
    {
      isDone: (await database.notices.listTargets()).some(isInformed),
      what: 'setup.notices',
      next: words.html('setup.notices_next'),
    },
    {
      isDone: readBackups().proved !== null,
      what: 'setup.backup',
      next: words.html('setup.backup_next'),
    },
  ];
}

/** An endpoint that is gone counts too: that of the demo is removed at its end. */
async function isWebhookProved({ database }: DashboardDeps, { storeId, mode }: StoreAt): Promise<boolean> {
  const search = { endpointId: null, state: 'delivered', answer: null } as const;
  const page = { after: null, limit: 1, lookMax: DELIVERIES_LOOKED_AT_MAX };
  return (await database.deliveries.ofStore({ storeId, mode }, search, page)).deliveries.length > 0;
}

/** Shows what the mode still misses; null once the store took its first live payment, or nothing is missing. */
export async function setupList(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html | null> {
  if (await deps.database.reports.hasCredits({ storeId: visit.at.storeId, mode: 'live' })) return null;
  const steps = await stepsOf(deps, visit);
  const left = steps.filter(({ isDone }) => !isDone).length;
  if (left === 0) return null;
  const { words } = visit;
  return html`<section class="card" aria-labelledby="setup"><h2 id="setup">${words.say(visit.at.mode === 'test' ? 'setup.title_test' : 'setup.title', { left, all: steps.length })}</h2>
<ul class="steps">${steps.map(({ isDone, what, next }) =>
    isDone
      ? html`<li>${badge(words.say('setup.done'), 'good')} ${words.say(what)}</li>`
      : html`<li>${badge(words.say('setup.to_do'), 'attention')} ${words.say(what)}<p class="hint">${next}</p></li>`,
  )}</ul></section>`;
}
