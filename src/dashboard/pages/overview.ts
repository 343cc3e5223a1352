/**
 * A store at a glance: what needs somebody, what came in, and the steps until its first payment, in test mode to try it
 * and in live mode before the first real one.
 */
import { shownMinor } from '../../acts/refund-words.ts';
import { parToMinorFloor } from '../../core/money.ts';
import { type Currency, currencies } from '../../core/transfer.ts';
import { isFollowed } from '../../database/networks.ts';
import type { CreditTotal } from '../../database/reports.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { dateIn, datePlus, startOfDayMs } from '../../lib/zone.ts';
import { barChart } from '../../web/chart.ts';
import { figures, list, section } from '../../web/list.ts';
import { badge, data, time } from '../../web/show.ts';
import type { DashboardDeps } from '../deps.ts';
import { may, pathIn, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { coinNames } from '../show.ts';
import type { TextKey, Words } from '../texts.ts';
import { unseenNetworks } from './operator.ts';

const DAYS_SHOWN = 30;
/** The end of counts of waiting things, so that a count costs the same in every shop. */
const COUNTED_MAX = 50;
/** Deliveries that failed are counted this far back. */
const FAILURE_DAYS = 7;

export const overviewPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/overview',
  needs: 'payments:read',
  async answer(visit) {
    const { at, nowMs, zone, words } = visit;
    const today = dateIn(zone, nowMs);
    const dates = Array.from({ length: DAYS_SHOWN }, (_, ago) => datePlus(today, ago - DAYS_SHOWN + 1));
    const starts = [...dates, datePlus(today, 1)].map((date) => startOfDayMs(zone, date) ?? 0);
    const days = await deps.database.ledger.sumCredits(at, starts);
    const waiting = await readWaiting(deps, at);
    const open = await deps.database.sessions.countOpen(at, starts[0] ?? 0);
    return {
      title: words.say(at.mode === 'test' ? 'Test overview' : 'Overview'),
      content: html`${glance(visit, days, waiting, open)}
${await needs(deps, visit, waiting)}
${await setupList(deps, visit)}
${section('money', words.say('Received in the last {days} days', { days: DAYS_SHOWN }), money(visit, days, dates))}`,
    };
  },
});

/** How many decisions wait in a store, each counted up to a limit. */
type Waiting = Readonly<{ held: number; refunds: number }>;

async function readWaiting({ database }: DashboardDeps, at: StoreAt): Promise<Waiting> {
  const limit = COUNTED_MAX + 1;
  const held = (await database.held.list({ ...at, state: 'open', limit })).length;
  const unapproved = await database.refunds.list({ ...at, isUnapproved: true, limit });
  return { held, refunds: unapproved.length };
}

const upTo = (count: number): string => (count > COUNTED_MAX ? `${COUNTED_MAX}+` : String(count));

/** Figures first: what was taken, and what is open. @param open payments of the shown days that are not over */
function glance({ at, words }: Visit<StoreAt>, totals: Totals, { held, refunds }: Waiting, open: number): Html {
  const symbols = coinsOf(totals);
  const unit = coinNames(symbols.length === 0 ? ['USD'] : symbols);
  const taken = (days: number) =>
    html`${data(signed(netPar(totals.slice(-days).flat())))} <small>${data(unit)}</small>`;
  const link = (path: string, count: string) => html`<a href="${pathIn(at, path)}">${count}</a>`;
  return html`<div class="card">${figures([
    [words.say('Taken today'), taken(1)],
    [words.say('In {days} days', { days: 7 }), taken(7)],
    [words.say('In {days} days', { days: DAYS_SHOWN }), taken(DAYS_SHOWN)],
    [words.say('Still open'), link('payments?status=pending', String(open))],
    [words.say('Held'), link('payments?status=held', upTo(held))],
    [words.say('Refunds to approve'), link('refunds?status=approval', upTo(refunds))],
  ])}</div>`;
}

async function needs(deps: DashboardDeps, visit: Visit<StoreAt>, { held, refunds }: Waiting): Promise<Html> {
  const { at, words } = visit;
  const waits = (path: string, text: TextKey, count: number): readonly Html[] =>
    count === 0
      ? []
      : [html`<a href="${pathIn(at, path)}">${words.say(text, { number: upTo(count), days: FAILURE_DAYS })}</a>`];
  const stopped = await stoppedNetworks(deps, visit);
  const lines = [
    ...(await failingHooks(deps, visit)),
    ...waits('payments?status=held', 'Held amounts that wait for a decision: {number}', held),
    ...waits('refunds?status=approval', 'Refunds that wait for approval: {number}', refunds),
    ...waits(
      'webhooks?state=failed',
      'Deliveries that failed in the last {days} days: {number}',
      await undelivered(deps, visit),
    ),
  ];
  const content =
    lines.length + stopped.length === 0
      ? html`<p>${badge(words.say('nothing'), 'good')}</p>`
      : html`<ul class="steps">${stopped.map((line) => html`<li>${badge(words.say('not followed'), 'danger')} ${line}</li>`)}${lines.map((line) => html`<li>${badge(words.say('waits'), 'attention')} ${line}</li>`)}</ul>`;
  return section('needs', words.say('What needs you'), content);
}

const FAILING =
  '{endpoint} has accepted nothing since {time}: your shop does not hear of its payments. Its events wait and are tried again.';

/** Says which endpoints of the store are off or accept nothing now, to who may look at them. */
async function failingHooks({ database }: DashboardDeps, visit: Visit<StoreAt>) {
  const { at, words } = visit;
  if (!may(visit, 'webhooks:read')) return [];
  const failing = (await database.endpoints.ofStore(at)).filter((one) => one.disabledAtMs ?? one.failingSinceMs);
  return failing.map(({ id, url, disabledAtMs, failingSinceMs, disabledReason }) =>
    words.html(disabledAtMs === null ? FAILING : '{endpoint} since {time}: {reason}. Its events wait.', {
      endpoint: html`<a href="${pathIn(at, `webhooks/${id}`)}">${data(url)}</a>`,
      time: time(disabledAtMs ?? failingSinceMs ?? 0),
      reason: disabledReason ?? words.say('disabled'),
    }),
  );
}

/** Says which networks of the mode show no payments now, and since when. */
async function stoppedNetworks(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<readonly Html[]> {
  const { at, nowMs, words } = visit;
  const unseen = (await unseenNetworks(deps, nowMs)).filter(({ mode }) => mode === at.mode);
  return unseen.map(({ title, sinceMs }) => {
    const network = data(title);
    return sinceMs === 0
      ? words.html(
          '{network} has not been read yet, so no payment on it is seen. The operator has to look at its node.',
          { network },
        )
      : words.html(
          'No payment on {network} has been seen since {time}. None is lost: it counts once the network is read again, and checkout leaves {network} out until then. The operator has to look at its node.',
          { network, time: time(sinceMs) },
        );
  });
}

/** The credits of each shown day, the last is today. */
type Totals = readonly (readonly CreditTotal[])[];

/** Adds up credits at par; what a reorg took back is subtracted. */
const netPar = (totals: readonly CreditTotal[]): bigint => totals.reduce((sum, { par }) => sum + par, 0n);

const coinsOf = (totals: Totals): readonly Currency[] =>
  currencies.filter((one) => totals.flat().some(({ currency }) => currency === one));

/** Writes a sum in whole cents: what is below one is left out of a headline. */
const signed = (par: bigint): string => {
  const text = shownMinor(parToMinorFloor(par < 0n ? -par : par));
  return par < 0n ? `-${text}` : text;
};

/** @param totals of each day */
function money({ at, words }: Visit<StoreAt>, totals: Totals, dates: readonly string[]): Html {
  if (totals.flat().length === 0) {
    const test_mode = html`<a href="/s/${at.storeId}/test/overview">${words.say('test mode')}</a>`;
    return html`<p>${at.mode === 'test' ? words.html('No payment was credited in these days. `npm run demo` plays a payment through in the sandbox.') : words.html('No payment was credited in these days. Try one in {test_mode} first.', { test_mode })}</p>`;
  }
  const symbols = coinNames(coinsOf(totals));
  const inCoins = (par: bigint): string => `${signed(par)} ${symbols}`;
  const days = dates.map((date, day) => ({
    date,
    par: netPar(totals[day] ?? []),
    transfers: (totals[day] ?? []).reduce((sum, { credits }) => sum + credits, 0),
  }));
  const numbers = list({
    caption: words.say('Credited by day'),
    columns: [
      [words.say('Day'), ({ date }) => data(date)],
      [words.say('Credited'), ({ par }) => data(inCoins(par)), 'number'],
      [words.say('Transfers'), ({ transfers }) => String(transfers), 'number'],
    ],
    rows: days.filter((_, day) => (totals[day] ?? []).length > 0).reverse(),
    empty: '',
  });
  const bars = days.map(({ date, par }) => ({ label: date, size: par > 0n ? par : 0n }));
  const title = words.say('Credited by day, {from} to {to}', { from: dates[0] ?? '', to: dates.at(-1) ?? '' });
  return barChart({ title, bars, text: inCoins, numbers, numbersTitle: words.say('The numbers') });
}

/** Returns how many deliveries did not arrive, up to a limit; none for who may not look at them. */
async function undelivered({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<number> {
  if (!may(visit, 'webhooks:read')) return 0;
  return database.deliveries.countFailed(visit.at, visit.nowMs - FAILURE_DAYS * DAY_MS, COUNTED_MAX + 1);
}

/** Deliveries that are looked at for a webhook that arrived, the newest ones. */
const DELIVERIES_LOOKED_AT_MAX = 100;

type Step = Readonly<{ isDone: boolean; what: TextKey; next: Html }>;

/** Returns the steps; those of the installation are the operator's, and say so. */
async function stepsOf(deps: DashboardDeps, { at, nowMs, words }: Visit<StoreAt>): Promise<readonly Step[]> {
  const { database, config } = deps;
  const { storeId, mode } = at;
  const store = await database.stores.find(storeId);
  const networks = config.networks.filter((network) => network.mode === mode);
  const sources = await Promise.all(
    [...new Set(networks.map(({ family }) => family))].map((family) => database.addresses.source({ family, mode })),
  );
  const statuses = (await database.networks.list()).filter(({ key }) => key.startsWith(`${mode}:`));
  const keys = (await database.keys.list(storeId)).filter((key) => key.mode === mode && key.revokedAtMs === null);
  const page = (name: string, key: TextKey): Html => html`<a href="${pathIn(at, name)}">${words.say(key)}</a>`;
  const command = html`<code>quayside store decide ${storeId} approve</code>`;
  const reason = store?.suspension?.because;
  return [
    {
      isDone: store?.status === 'approved' && reason === undefined,
      what: 'The store is approved',
      next:
        reason === undefined
          ? words.html('The operator approves it, in the dashboard or with {command}', { command })
          : words.html('The operator has suspended the store: {reason}', { reason }),
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
      isDone: statuses.some((status) => status.tipHash !== null || isFollowed(status, nowMs)),
      what: `setup.network_${mode}`,
      next: words.html('setup.network_next'),
    },
    {
      isDone: keys.length > 0,
      what: `setup.key_${mode}`,
      next: page('developers', 'setup.key_next'),
    },
    {
      isDone: await isWebhookProved(deps, at),
      what: 'A webhook arrived at your shop',
      next: page('webhooks', 'Add an endpoint and send it a test event'),
    },
    {
      isDone: await database.ledger.hasCredits({ storeId, mode: 'test' }),
      what: 'A test payment came through',
      next: html`<a href="/s/${storeId}/test/payments">${words.say('New payment')}</a>`,
    },
    ...(mode === 'live' ? [overHttps(deps, words)] : []),
  ];
}

/** Before real money comes. The operator's page shows what else the installation lacks. */
const overHttps = ({ config }: DashboardDeps, words: Words): Step => ({
  isDone: [config.baseUrl, config.checkoutUrl].every((url) => url.startsWith('https:')),
  what: 'Your shop and payers reach it by https',
  next: words.html('The operator sets `base_url` to the public address, behind a proxy with a certificate'),
});

/** An endpoint that is gone counts too: that of the demo is removed at its end. */
async function isWebhookProved({ database }: DashboardDeps, { storeId, mode }: StoreAt): Promise<boolean> {
  const search = { endpointId: null, state: 'delivered' } as const;
  const page = { after: null, limit: 1, lookMax: DELIVERIES_LOOKED_AT_MAX };
  return (await database.deliveries.ofStore({ storeId, mode }, search, page)).deliveries.length > 0;
}

/** Shows an owner what the mode still misses; null once the store took its first live payment, or all is there. */
async function setupList(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html | null> {
  if (!may(visit, 'store:manage')) return null;
  if (await deps.database.ledger.hasCredits({ storeId: visit.at.storeId, mode: 'live' })) return null;
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
