/**
 * The steps of a store until its first payment, in test mode to try it and in live mode before the first real one:
 * each step, whether it is done, and what to do next.
 */
import { isAllowed, type StorePermission } from '../core/access.ts';
import { isInformed } from '../database/alarms.ts';
import { isFollowed } from '../database/networks.ts';
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
      : words.html('{step}: the store’s owner does that', { step: html`${step}` });
  };
  const command = html`<code>quayside store decide ${storeId} approve</code>`;
  const reason = store?.refusal?.because;
  const forLive = mode === 'test' ? [] : await liveSteps(deps, words);
  return [
    {
      isDone: store?.status === 'approved',
      what: 'The store is approved',
      next:
        reason === undefined
          ? words.html('The operator approves it, in the dashboard or with {command}', { command })
          : words.html('It was refused: {reason}. The operator approves it, in the dashboard or with {command}', {
              command,
              reason,
            }),
    },
    {
      isDone: sources.some((source) => source !== null),
      what: 'Deposit addresses come from your wallet',
      next: words.html(
        'The operator sets `xpub` of a network, or imports a list where it has none: `quayside address-pool import`',
      ),
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
      what: 'A webhook arrived at your shop',
      next: page('webhooks', 'Add an endpoint and send it a test event', 'webhooks:read'),
    },
    {
      isDone: await database.reports.hasCredits({ storeId, mode: 'test' }),
      what: 'A test payment came through',
      next: words.html('Pay a session of a test key: `quayside pay SESSION --network NAME` does it in the sandbox'),
    },
    ...forLive,
  ];
}

/** The installation's needs before real money comes. */
async function liveSteps({ database, config, readBackups }: DashboardDeps, words: Words): Promise<readonly Step[]> {
  const people = await database.people.list();
  return [
    {
      isDone: people.some(
        ({ memberships, isReady, removedAtMs }) =>
          isReady && removedAtMs === null && memberships.some(({ role }) => role === 'operator'),
      ),
      what: 'An operator can sign in, with a second factor',
      next: words.html('Whoever runs this installation makes the account: `quayside user link NAME`'),
    },
    {
      isDone: [config.baseUrl, config.checkoutUrl].every((url) => url.startsWith('https:')),
      what: 'Your shop and payers reach it by https',
      next: words.html('The operator sets `base_url` to the public address, behind a proxy with a certificate'),
    },
    {
      isDone: (await database.notices.listTargets()).some(isInformed),
      what: 'A person hears when something breaks',
      next: words.html('The operator adds somebody at Notices and types the code that arrives.'),
    },
    {
      isDone: readBackups().proved !== null,
      what: 'A backup was made and proved',
      next: words.html('The operator makes one: `quayside backup`'),
    },
  ];
}

/** An endpoint that is gone counts too: that of the demo is removed at its end. */
async function isWebhookProved({ database }: DashboardDeps, { storeId, mode }: StoreAt): Promise<boolean> {
  const search = { endpointId: null, state: 'delivered' } as const;
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
  return html`<section class="card" aria-labelledby="setup"><h2 id="setup">${words.say(visit.at.mode === 'test' ? 'To try it in test mode: {left} of {all} left' : 'Before your first live payment: {left} of {all} left', { left, all: steps.length })}</h2>
<ul class="steps">${steps.map(({ isDone, what, next }) =>
    isDone
      ? html`<li>${badge(words.say('done'), 'good')} ${words.say(what)}</li>`
      : html`<li>${badge(words.say('to do'), 'attention')} ${words.say(what)}<p class="hint">${next}</p></li>`,
  )}</ul></section>`;
}
