/**
 * A store at a glance: what needs somebody, what came in, and whether payments would be seen and reported.
 * @module
 */
import { alarmKey } from '../../database/alarms.ts';
import { type CreditTotal, QUARTER_MS } from '../../database/credit-totals.ts';
import { isSilent, whyUnfollowed } from '../../database/network-health.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import { dateIn, datePlus, startOfDayMs } from '../../lib/zone.ts';
import { barChart } from '../chart.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StoreAt, StorePage, Visit } from '../page.ts';
import { waitsForApproval } from '../refund-text.ts';
import { setupList } from '../setup.ts';
import { badge, coins, table, time } from '../show.ts';

const DAYS_SHOWN = 30;
/** Held amounts and refunds are counted up to this many: the count costs the same in every shop. */
const COUNTED_MAX = 50;
const ALARMS_SHOWN = 10;

export const overviewPage = (deps: DashboardDeps): StorePage => ({
  method: 'get',
  path: '/s/:store/:mode/overview',
  needs: 'payments:read',
  async answer(visit) {
    const { at, nowMs, zone } = visit;
    const today = dateIn(zone, nowMs);
    const dates = Array.from({ length: DAYS_SHOWN }, (_, ago) => datePlus(today, ago - DAYS_SHOWN + 1));
    const totals = await deps.database.listCreditTotals(at, startOfDayMs(zone, dates[0] ?? today) ?? 0);
    return {
      title: at.mode === 'test' ? 'Test overview' : 'Overview',
      content: html`${await needs(deps, visit)}
${await setupList(deps, visit)}
<section class="card" aria-labelledby="money"><h2 id="money">What came in: the last ${DAYS_SHOWN} days</h2>${money(visit, totals, dates)}</section>
<section class="card" aria-labelledby="health"><h2 id="health">Health</h2>${await health(deps, visit)}</section>`,
    };
  },
});

const counted = (count: number, one: string, more: string): string =>
  `${count > COUNTED_MAX ? `more than ${COUNTED_MAX}` : count} ${count === 1 ? one : more}`;

async function needs({ database }: DashboardDeps, { at }: Visit<StoreAt>): Promise<Html> {
  const base = `/s/${at.storeId}/${at.mode}`;
  const limit = COUNTED_MAX + 1;
  const held = (await database.listHeldMoney({ ...at, state: 'open', limit })).length;
  const pending = await database.listRefunds({ ...at, status: 'pending', limit });
  const waiting = pending.filter(waitsForApproval).length;
  const alarms = await database.listStoreAlarms(at, ALARMS_SHOWN);
  const lines = [
    ...(held > 0
      ? [html`<a href="${base}/held">${counted(held, 'held amount waits', 'held amounts wait')}</a> for a decision`]
      : []),
    ...(waiting > 0
      ? [
          html`<a href="${base}/refunds?status=pending">${counted(waiting, 'refund waits', 'refunds wait')}</a> for approval`,
        ]
      : []),
    ...alarms.map(
      ({ atMs, message, sessionId }) =>
        html`${time(atMs)} ${prose(message)} <a href="${base}/payments/${sessionId}">The payment</a>`,
    ),
  ];
  return html`<section class="card" aria-labelledby="needs"><h2 id="needs">What needs you</h2>
${
  lines.length === 0
    ? html`<p>${badge('nothing', 'good')}</p>`
    : html`<ul class="steps">${lines.map((line) => html`<li>${badge('waits', 'attention')} ${line}</li>`)}</ul>`
}</section>`;
}

type Day = { credits: number; creditedPar: bigint; reversals: number; reversedPar: bigint };

/** Adds up what all networks and coins had, day by day; days without money are zero. */
function daysOf(totals: readonly CreditTotal[], dates: readonly string[], zone: string): ReadonlyMap<string, Day> {
  const days = new Map(
    dates.map((date): [string, Day] => [date, { credits: 0, creditedPar: 0n, reversals: 0, reversedPar: 0n }]),
  );
  let [quarterBefore, date] = [-1, ''];
  for (const { quarter, credits, creditedPar, reversals, reversedPar } of totals) {
    if (quarter !== quarterBefore) date = dateIn(zone, quarter * QUARTER_MS);
    quarterBefore = quarter;
    const sum = days.get(date);
    // A clock that was ahead may have booked a day that is yet to come.
    if (!sum) continue;
    sum.credits += credits;
    sum.creditedPar += creditedPar;
    sum.reversals += reversals;
    sum.reversedPar += reversedPar;
  }
  return days;
}

/** Sums over the shown days by network and coin, the greatest first. */
function byAsset(totals: readonly CreditTotal[]): readonly (readonly [string, bigint])[] {
  const sums = new Map<string, bigint>();
  for (const { network, currency, creditedPar, reversedPar } of totals) {
    const name = `${currency} on ${network.slice(network.indexOf(':') + 1)}`;
    sums.set(name, (sums.get(name) ?? 0n) + creditedPar - reversedPar);
  }
  return [...sums].sort(([, one], [, other]) => (one < other ? 1 : -1));
}

const signed = (par: bigint): string => (par < 0n ? `-${coins(-par)}` : coins(par));

function money({ at, zone }: Visit<StoreAt>, totals: readonly CreditTotal[], dates: readonly string[]): Html {
  if (totals.length === 0) {
    const call =
      at.mode === 'test'
        ? html`<code>npm run demo</code> plays a payment through in the sandbox.`
        : html`Try one in <a href="/s/${at.storeId}/test/overview">test mode</a> first.`;
    return html`<p>No payment was credited in these days. ${call}</p>`;
  }
  const days = [...daysOf(totals, dates, zone)];
  const sum = days.reduce((all, [, { creditedPar, reversedPar }]) => all + creditedPar - reversedPar, 0n);
  const credits = days.reduce((all, [, day]) => all + day.credits, 0);
  const reversed = days.reduce((all, [, { reversals }]) => all + reversals, 0);
  const rows = days
    .filter(([, { credits: some, reversals }]) => some + reversals > 0)
    .reverse()
    .map(([day, one]) => [
      day,
      coins(one.creditedPar),
      String(one.credits),
      one.reversals === 0 ? '–' : `${coins(one.reversedPar)} (${one.reversals})`,
    ]);
  const numbers = table('Credited by day', ['Day', 'Credited', 'Transfers', 'Taken back by reorgs'], rows);
  const bars = days.map(([day, { creditedPar }]) => ({ label: day, size: creditedPar }));
  const shares = byAsset(totals).map(([name, par]) => html`<li>${signed(par)} ${name}</li>`);
  return html`<p class="sum">${signed(sum)} <span class="hint">in ${credits} ${credits === 1 ? 'transfer' : 'transfers'}, coins at their face value${reversed === 0 ? '' : '; less what reorgs took back'}</span></p>
${barChart(`Credited by day, ${dates[0]} to ${dates.at(-1)}`, bars, coins, numbers)}
<ul>${shares}</ul>`;
}

async function health({ database, config }: DashboardDeps, { at, nowMs }: Visit<StoreAt>): Promise<Html> {
  const known = new Map((await database.listNetworks()).map((status) => [status.network as string, status]));
  const networks = config.networks
    .filter(({ mode }) => mode === at.mode)
    .map(({ key, title }) => {
      const status = known.get(key) ?? null;
      const why = whyUnfollowed(status, nowMs);
      if (why === null) return html`<li>${badge('followed', 'good')} ${title}: payments are seen.</li>`;
      const isDown = status === null || status.state === 'halted' || isSilent(status, nowMs);
      return html`<li>${badge(isDown ? 'not followed' : status.state, isDown ? 'danger' : 'attention')} ${title}: ${prose(why.message)}. What is paid now is seen once it is followed again.</li>`;
    });
  const all = await database.listEndpoints(at.storeId);
  const alarms = new Map((await database.listOpenAlarms()).map((alarm) => [alarm.key, alarm]));
  const endpoints = all
    .filter(({ mode, perSession }) => mode === at.mode && !perSession)
    .map(({ id, url, disabledAtMs, disabledReason }) => {
      const link = html`<a href="/s/${at.storeId}/${at.mode}/webhooks/${id}">${url}</a>`;
      const alarm = alarms.get(alarmKey('endpoint', id));
      if (disabledAtMs !== null) {
        return html`<li>${badge('disabled', 'attention')} ${link} since ${time(disabledAtMs)}${disabledReason === null ? '' : `: ${disabledReason}`}. Its events wait.</li>`;
      }
      if (alarm) return html`<li>${badge('failing', 'danger')} ${link}: ${prose(alarm.message)}</li>`;
      return html`<li>${badge('enabled', 'good')} ${link}</li>`;
    });
  return html`<h3>Networks</h3>
${networks.length === 0 ? html`<p>There is no ${at.mode} network: nothing can be paid in this mode.</p>` : html`<ul class="steps">${networks}</ul>`}
<h3>Webhooks</h3>
${endpoints.length === 0 ? html`<p>There is no endpoint: your shop is told nothing, and has to ask.</p>` : html`<ul class="steps">${endpoints}</ul>`}`;
}
