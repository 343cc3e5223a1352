/**
 * A store at a glance: what needs somebody, what came in, and whether payments would be seen and reported.
 */
import { shownMinor } from '../../acts/refund-words.ts';
import { waitsForApproval } from '../../acts/refunds.ts';
import { coinOf } from '../../chains/coin-text.ts';
import { isAllowed } from '../../core/access.ts';
import { parToMinorFloor } from '../../core/money.ts';
import { currencies, type NetworkKey } from '../../core/transfer.ts';
import { isSilent, unseenSinceMs, whyUnfollowed } from '../../database/network-health.ts';
import type { CreditTotal, SessionTotal } from '../../database/reports.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { type Html, html } from '../../lib/html.ts';
import { dateIn, datePlus, startOfDayMs } from '../../lib/zone.ts';
import { barChart } from '../chart.ts';
import type { DashboardDeps } from '../deps.ts';
import { failingEndpoints } from '../failing-endpoints.ts';
import type { StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames } from '../received.ts';
import { setupList } from '../setup.ts';
import { badge, data, english, figures, networkTitle, share, table, time } from '../show.ts';
import { storeEndpoints } from '../store-endpoints.ts';
import type { Words } from '../texts.ts';

const DAYS_SHOWN = 30;
/** Held amounts and refunds are counted up to this many: the count costs the same in every shop. */
const COUNTED_MAX = 50;
const ALARMS_SHOWN = 10;
/** An alarm names its payout for the operator; the store's people know the order. */
const PAYOUT_ID = / \([a-z]{2}_[0-9a-f]{26,32}\)/;
/** Deliveries that did not arrive are counted up to this many, and failures this far back. */
const DELIVERIES_COUNTED_MAX = 100;
/** Above what a store may have, except by the tool. */
const ENDPOINTS_READ_MAX = 100;
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
    const days = await deps.database.reports.sumCredits(at, starts);
    const [created] = await deps.database.reports.countSessions(at, [starts[0] ?? 0, starts.at(-1) ?? 0]);
    return {
      title: words.say(at.mode === 'test' ? 'overview.test_title' : 'frame.overview'),
      content: html`${await needs(deps, visit)}
${await setupList(deps, visit)}
<section class="card" aria-labelledby="money"><h2 id="money">${words.say('overview.money', { days: DAYS_SHOWN })}</h2>${money(deps.config, visit, days, dates)}${created ? conversion(visit, created, dates[0] ?? '') : null}</section>
<section class="card" aria-labelledby="health"><h2 id="health">${words.say('overview.health')}</h2>${await health(deps, visit)}</section>`,
    };
  },
});

const counted = (words: Words, what: 'held' | 'refund', count: number): string =>
  count > COUNTED_MAX
    ? words.say(`overview.${what}_many`, { count: COUNTED_MAX })
    : words.say(`overview.${what}_waits`, { count });

async function needs(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html> {
  const { database } = deps;
  const { at, words } = visit;
  const base = `/s/${at.storeId}/${at.mode}`;
  const limit = COUNTED_MAX + 1;
  const held = (await database.held.list({ ...at, state: 'open', limit })).length;
  const pending = await database.refunds.list({ ...at, status: 'pending', limit });
  const waiting = pending.filter(waitsForApproval).length;
  const alarms = await database.alarms.listOfStore(at, ALARMS_SHOWN);
  const stopped = await stoppedNetworks(deps, visit);
  const lines = [
    ...(await failingHooks(deps, visit)),
    ...(held > 0 ? [html`<a href="${base}/payments?flag=held">${counted(words, 'held', held)}</a>`] : []),
    ...(waiting > 0 ? [html`<a href="${base}/refunds?waits=approval">${counted(words, 'refund', waiting)}</a>`] : []),
    ...alarms.map(
      ({ atMs, message, sessionId }) =>
        html`${time(atMs)} ${english(message.replace(PAYOUT_ID, ''))} <a href="${base}/payments/${sessionId}">${words.say('overview.alarm_payment')}</a>`,
    ),
  ];
  return html`<section class="card" aria-labelledby="needs"><h2 id="needs">${words.say('overview.needs_you')}</h2>
${
  lines.length + stopped.length === 0
    ? html`<p>${badge(words.say('overview.nothing'), 'good')}</p>`
    : html`<ul class="steps">${stopped.map((line) => html`<li>${badge(words.say('overview.not_followed'), 'danger')} ${line}</li>`)}${lines.map((line) => html`<li>${badge(words.say('overview.waits'), 'attention')} ${line}</li>`)}</ul>`
}</section>`;
}

/** Says which endpoints of the store accept nothing now, to who may look at them. */
async function failingHooks({ database }: DashboardDeps, { at, nowMs, visitor, words }: Visit<StoreAt>) {
  if (!isAllowed(visitor.person.memberships, { permission: 'webhooks:read', ...at })) return [];
  const failing = await failingEndpoints(database, nowMs);
  const all = await storeEndpoints(database, at, ENDPOINTS_READ_MAX);
  const own = all.filter(({ disabledAtMs }) => disabledAtMs === null);
  return own.flatMap(({ id, url }) => {
    const sinceMs = failing.get(id);
    if (sinceMs === undefined) return [];
    const endpoint = html`<a href="/s/${at.storeId}/${at.mode}/webhooks/${id}">${data(url)}</a>`;
    return [words.html('overview.endpoint_fails', { endpoint, time: time(sinceMs) })];
  });
}

/** Says which networks of the mode show no payments now, and since when; operators get a link to what to do. */
async function stoppedNetworks({ database, config }: DashboardDeps, visit: Visit<StoreAt>): Promise<readonly Html[]> {
  const { at, nowMs, visitor, words } = visit;
  const known = new Map((await database.networks.list()).map((status) => [status.network as string, status]));
  const isOperator = isAllowed(visitor.person.memberships, { permission: 'installation:read' });
  return config.networks
    .filter(({ mode }) => mode === at.mode)
    .flatMap(({ key, title }) => {
      const network = isOperator ? html`<a href="/operator/networks/${key}">${title}</a>` : data(title);
      const status = known.get(key);
      const sinceMs = status ? unseenSinceMs(status, nowMs) : 0;
      if (sinceMs === null) return [];
      return sinceMs === 0
        ? [words.html('overview.network_never', { network })]
        : [words.html('overview.network_stopped', { network, time: time(sinceMs) })];
    });
}

type Day = Omit<CreditTotal, 'network' | 'currency'>;
const NO_MONEY: Day = { credits: 0, creditedPar: 0n, reversals: 0, reversedPar: 0n };

const plus = (one: Day, other: Day): Day => ({
  credits: one.credits + other.credits,
  creditedPar: one.creditedPar + other.creditedPar,
  reversals: one.reversals + other.reversals,
  reversedPar: one.reversedPar + other.reversedPar,
});

/** Sums over the shown days by network and coin, the greatest first. */
function byAsset(totals: readonly CreditTotal[]) {
  const sums = new Map<string, Readonly<{ network: NetworkKey; currency: string; par: bigint }>>();
  for (const { network, currency, creditedPar, reversedPar } of totals) {
    const key = `${network} ${currency}`;
    const par = (sums.get(key)?.par ?? 0n) + creditedPar - reversedPar;
    sums.set(key, { network, currency, par });
  }
  return [...sums.values()].sort((one, other) => (one.par < other.par ? 1 : -1));
}

/** Writes a sum in whole cents: what is below one is left out of a headline. */
const signed = (par: bigint): string => {
  const text = shownMinor(parToMinorFloor(par < 0n ? -par : par));
  return par < 0n ? `-${text}` : text;
};

/** @param totals of each day */
function money(
  config: DashboardDeps['config'],
  { at, words }: Visit<StoreAt>,
  totals: readonly (readonly CreditTotal[])[],
  dates: readonly string[],
): Html {
  if (totals.flat().length === 0) {
    const test_mode = html`<a href="/s/${at.storeId}/test/overview">${words.say('overview.test_mode')}</a>`;
    return html`<p>${at.mode === 'test' ? words.html('overview.no_money_test') : words.html('overview.no_money_live', { test_mode })}</p>`;
  }
  const shares = byAsset(totals.flat());
  const symbols = currencies.filter((one) => shares.some(({ currency }) => currency === one));
  const inCoins = (par: bigint): string => `${signed(par)} ${coinNames(symbols)}`;
  const days = dates.map((date, day) => [date, (totals[day] ?? []).reduce(plus, NO_MONEY)] as const);
  const all = days.map(([, day]) => day).reduce(plus);
  const rows = days
    .filter(([, { credits: some, reversals }]) => some + reversals > 0)
    .reverse()
    .map(([day, one]) => [
      data(day),
      data(inCoins(one.creditedPar)),
      String(one.credits),
      one.reversals === 0 ? '–' : data(`${inCoins(one.reversedPar)} (${one.reversals})`),
    ]);
  const columns = (['day', 'credited', 'transfers', 'reversed'] as const).map((one) => words.say(`overview.${one}`));
  const numbers = table(words.say('overview.by_day'), columns, rows, [1, 2, 3]);
  const bars = days.map(([day, { creditedPar }]) => ({ label: day, size: creditedPar }));
  const counts = {
    sum: html`<bdi class="sum">${inCoins(all.creditedPar - all.reversedPar)}</bdi>`,
    count: all.credits,
  };
  const title = words.say('overview.chart', { from: dates[0] ?? '', to: dates.at(-1) ?? '' });
  return html`<p class="hint">${words.html(all.reversals === 0 ? 'overview.sum' : 'overview.sum_reversed', counts)}</p>
${barChart(words, { title, bars, text: inCoins, numbers })}
<ul>${shares.map(
    ({ network, currency, par }) =>
      html`<li>${words.html('general.on_network', { currency: `${signed(par)} ${currency}`, network: networkTitle(config, network) })}</li>`,
  )}</ul>`;
}

/** What became of the payments that were created in the shown days; nothing if there are none. */
function conversion({ at, words }: Visit<StoreAt>, { created, paid, unpaid }: SessionTotal, from: string): Html | null {
  if (created === 0) return null;
  const list = (status: string, count: number) =>
    html`<a href="/s/${at.storeId}/${at.mode}/payments?status=${status}&amp;from=${from}">${String(count)}</a>`;
  return html`<h3>${words.say('overview.created_then')}</h3>${figures([
    [words.say('overview.created'), String(created)],
    [words.say('overview.paid'), html`${list('paid', paid)} <small>${share(words, paid, created)}</small>`],
    [words.say('overview.unpaid'), String(unpaid)],
    [words.say('overview.open'), list('pending', created - paid - unpaid)],
  ])}`;
}

async function health(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Html> {
  const { database, config } = deps;
  const { at, nowMs, words } = visit;
  const known = new Map((await database.networks.list()).map((status) => [status.network as string, status]));
  const networks = config.networks
    .filter(({ mode }) => mode === at.mode)
    .map(({ key, title }) => {
      const status = known.get(key) ?? null;
      const why = whyUnfollowed(status, nowMs);
      if (why === null)
        return html`<li>${badge(words.say('overview.followed'), 'good')} ${words.html('overview.network_seen', { network: title })}</li>`;
      const isDown = status === null || status.state === 'halted' || isSilent(status, nowMs);
      return html`<li>${badge(words.say(isDown ? 'overview.not_followed' : `general.network_${status.state}`), isDown ? 'danger' : 'attention')} ${
        status === null || status.readThroughS === 0
          ? words.html('overview.network_never', { network: title })
          : words.html('overview.network_unseen', { network: title, time: time(status.readThroughS * 1000) })
      }</li>`;
    });
  const all = await storeEndpoints(database, at, ENDPOINTS_READ_MAX);
  const failing = await failingEndpoints(database, nowMs);
  const mayOpen = isAllowed(visit.visitor.person.memberships, { permission: 'webhooks:read', ...at });
  const endpoints = all.map(({ id, url, disabledAtMs, disabledReason }) => {
    const endpoint = mayOpen ? html`<a href="/s/${at.storeId}/${at.mode}/webhooks/${id}">${data(url)}</a>` : data(url);
    const sinceMs = failing.get(id);
    if (disabledAtMs !== null) {
      const since = { endpoint, time: time(disabledAtMs) };
      const said =
        disabledReason === null
          ? words.html('overview.disabled_since', since)
          : words.html('overview.disabled_because', { ...since, reason: disabledReason });
      return html`<li>${badge(words.say('overview.disabled'), 'attention')} ${said}</li>`;
    }
    if (sinceMs !== undefined)
      return html`<li>${badge(words.say('overview.failing'), 'danger')} ${words.html('overview.failing_since', { endpoint, time: time(sinceMs) })}</li>`;
    return html`<li>${badge(words.say('overview.enabled'), 'good')} ${endpoint}</li>`;
  });
  return html`<h3>${words.say('overview.networks')}</h3>
${networks.length === 0 ? html`<p>${words.say(`overview.no_network_${at.mode}`)}</p>` : html`<ul class="steps">${networks}</ul>`}
<h3>${words.say('frame.webhooks')}</h3>
${endpoints.length === 0 ? html`<p>${words.say('overview.no_endpoint')}</p>` : html`<ul class="steps">${endpoints}</ul>`}${await undelivered(deps, visit)}${await lowWallets(deps, visit)}`;
}

/** How many deliveries did not arrive, for who may look at them; nothing if all did. */
async function undelivered({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Html | null> {
  const { at, nowMs, visitor, words } = visit;
  if (!isAllowed(visitor.person.memberships, { permission: 'webhooks:read', ...at })) return null;
  const sinceMs = nowMs - FAILURE_DAYS * DAY_MS;
  const counts = await database.countUndelivered(at, sinceMs, DELIVERIES_COUNTED_MAX + 1);
  const lines = (['waiting', 'failed'] as const).flatMap((state) => {
    const count = counts[state];
    if (count === 0) return [];
    const number = count > DELIVERIES_COUNTED_MAX ? `${DELIVERIES_COUNTED_MAX}+` : count;
    const text = words.say(`overview.${state}_deliveries`, { number, days: FAILURE_DAYS });
    const mark = badge(words.say(`general.delivery_${state}`), state === 'failed' ? 'attention' : 'wait');
    return [html`<li>${mark} <a href="/s/${at.storeId}/${at.mode}/webhooks?state=${state}">${text}</a></li>`];
  });
  return lines.length === 0 ? null : html`<ul class="steps">${lines}</ul>`;
}

/** Wallets of the mode that need more, for who may see the operator's pages; nothing if none does. */
async function lowWallets({ database, config }: DashboardDeps, visit: Visit<StoreAt>): Promise<Html | null> {
  const { at, visitor, words } = visit;
  if (!isAllowed(visitor.person.memberships, { permission: 'installation:read' })) return null;
  const low = (await database.listBalances()).filter(
    (one) => one.low.length > 0 && one.isFormer !== true && one.network.startsWith(`${at.mode}:`),
  );
  if (low.length === 0) return null;
  return html`<h3>${words.say('frame.operator_wallets')}</h3><ul class="steps">${low.map(
    ({ network, role, low: assets }) => {
      const of = {
        wallet: html`<a href="/operator/wallets">${words.say(`overview.wallet_${role}`)}</a>`,
        network: networkTitle(config, network),
        coins: assets.map((asset) => coinOf(config.networks, network, asset).symbol).join(', '),
      };
      return html`<li>${badge(words.say('general.low'), 'attention')} ${words.html('overview.low_wallet', of)}</li>`;
    },
  )}</ul>`;
}
