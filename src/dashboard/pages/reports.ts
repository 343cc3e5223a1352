/**
 * Reports of a store: what it received, refunded and paid in fees in some days, with the files of the same days.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { minorToPar } from '../../core/money.ts';
import { currencies } from '../../core/transfer.ts';
import type { CreditTotal } from '../../database/credit-totals.ts';
import type { FeeSum, RefundSum } from '../../database/reports.ts';
import { type Html, html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StartExport } from '../export.ts';
import { queryOfChosen } from '../list-filter.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames } from '../received.ts';
import { minorText } from '../refund-text.ts';
import { exportReport, type ReportFile, reportFiles } from '../report-export.ts';
import { daysOf, periodForm, type ReportPeriod, readPeriod } from '../report-period.ts';
import { coins, data, faultMessage, figures, networkTitle, share, table } from '../show.ts';

/** Sums of more days would take longer than a page may. */
const DAYS_MAX = 92;
/** Refunds that are added up for a page, and no more. */
const REFUNDS_MAX = 5_000;

const pathOf = ({ storeId, mode }: StoreAt): string => `/s/${storeId}/${mode}/reports`;

export const reportPages = (deps: DashboardDeps, startExport: StartExport): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/reports',
    needs: 'payments:export',
    answer: (visit) => reportPage(deps, visit),
  },
  ...reportFiles.map((file) => exportPage(deps, startExport, file)),
];

const exportPage = (deps: DashboardDeps, startExport: StartExport, file: ReportFile): StorePage => ({
  method: 'get',
  path: `/s/:store/:mode/reports/${file}.csv`,
  needs: 'payments:export',
  async answer(visit) {
    const { at, query, zone, nowMs, words } = visit;
    const period = readPeriod(query, zone, nowMs);
    if (period === null) return reportPage(deps, visit);
    const chosen = { from: period.from, to: period.to };
    return startExport(visit, {
      name: `${file}-${at.storeId}-${at.mode}`,
      command: `export ${file}`,
      target: at.storeId,
      chosen: { mode: at.mode, ...chosen },
      back: html`<a href="${pathOf(at)}${queryOfChosen(chosen)}">${words.say('reports.back')}</a>`,
      parts: exportReport(deps, file, at, period),
    });
  },
});

async function reportPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, query, zone, nowMs, words } = visit;
  const period = readPeriod(query, zone, nowMs);
  const title = words.say(at.mode === 'test' ? 'reports.test_title' : 'frame.reports');
  if (period === null) {
    const chosen = { from: query.get('from') ?? '', to: query.get('to') ?? '' };
    const content = html`${faultMessage(words.say('reports.reversed'))}${periodForm(words, pathOf(at), chosen, visit)}`;
    return { title, status: 400, content };
  }
  const { from, to, days } = period;
  const sums = days > DAYS_MAX ? null : await readSums(deps, at, period, zone);
  return {
    title,
    content: html`${periodForm(words, pathOf(at), { from, to }, visit)}
<p class="hint">${words.html('reports.days', { from, to, zone })}</p>
${sums ? sections(deps, visit, period, sums) : tooLong(visit, period)}`,
  };
}

/** The files hold any number of days. */
function tooLong(visit: Visit<StoreAt>, period: ReportPeriod): Html {
  const files = ['payments', 'refunds', ...reportFiles] as const;
  return html`<section class="card"><p class="message attention">${visit.words.html('reports.too_long', { days: DAYS_MAX, number: period.days })}</p>
<ul>${files.map((file) => html`<li>${csv(visit, period, file)}</li>`)}</ul></section>`;
}

type Sums = Awaited<ReturnType<typeof readSums>>;

async function readSums({ database }: DashboardDeps, at: StoreAt, period: ReportPeriod, zone: string) {
  const { dates, timesMs } = daysOf(period, zone);
  const [created] = await database.countSessions(at, [period.fromMs, period.toMs]);
  return {
    dates,
    created: created ?? { created: 0, paid: 0, unpaid: 0 },
    credits: await database.sumCredits(at, timesMs),
    made: await database.sumRefunds(at, period, REFUNDS_MAX),
    ended: await database.sumEndedRefunds(at, timesMs, REFUNDS_MAX),
  };
}

const csv = ({ at, words }: Visit<StoreAt>, { from, to }: ReportPeriod, file: ReportFile | 'payments' | 'refunds') => {
  const isList = file === 'payments' || file === 'refunds';
  const path = isList ? `/s/${at.storeId}/${at.mode}/${file}.csv` : `${pathOf(at)}/${file}.csv`;
  return html`<a href="${path}${queryOfChosen({ from, to })}">${words.say(`reports.csv_${file}`)}</a>`;
};

const card = (id: string, title: string, content: Html): Html =>
  html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`;

function sections(deps: DashboardDeps, visit: Visit<StoreAt>, period: ReportPeriod, sums: Sums): Html {
  const { words } = visit;
  const many = html`<p class="message attention">${words.html('reports.too_many', { number: REFUNDS_MAX })}</p>`;
  const paid = sums.ended?.periods.flat() ?? [];
  return html`${card('payments', words.say('frame.payments'), html`${payments(deps, visit, sums)}<p class="hint">${words.say('reports.payments_hint')}</p><p>${csv(visit, period, 'payments')}</p>`)}
${card('refunds', words.say('reports.refunds'), html`${sums.made ? refundsMade(deps, visit, sums.made) : many}<p>${csv(visit, period, 'refunds')}</p>`)}
${card('payouts', words.say('reports.payouts'), html`${sums.ended ? payouts(deps, visit, paid) : many}<p>${csv(visit, period, 'payouts')}</p>`)}
${card('fees', words.say('reports.fees'), html`${sums.ended ? fees(deps, visit, sums.ended.fees) : many}<p class="hint">${words.say('reports.fees_hint')}</p><p>${csv(visit, period, 'fees')}</p>`)}
${byDay(visit, sums)}`;
}

/** Adds up what has the same name, in the order of the first of each. */
function grouped<T>(all: readonly T[], nameOf: (one: T) => string, add: (sum: T, one: T) => T): readonly T[] {
  const sums = new Map<string, T>();
  for (const one of all) {
    const sum = sums.get(nameOf(one));
    sums.set(nameOf(one), sum === undefined ? one : add(sum, one));
  }
  return [...sums.values()];
}

const assetOf = ({ network, currency }: Pick<CreditTotal, 'network' | 'currency'>): string => `${network} ${currency}`;

const plus = (one: CreditTotal, other: CreditTotal): CreditTotal => ({
  ...one,
  credits: one.credits + other.credits,
  creditedPar: one.creditedPar + other.creditedPar,
  reversals: one.reversals + other.reversals,
  reversedPar: one.reversedPar + other.reversedPar,
});

/** Writes an amount, which reorgs may have taken below zero. */
const signed = (par: bigint): string => (par < 0n ? `-${coins(-par)}` : coins(par));

function payments({ config }: DashboardDeps, { words }: Visit<StoreAt>, { created: counts, credits }: Sums): Html {
  const { created, paid, unpaid } = counts;
  const part = created === 0 ? null : html` <small>${share(words, paid, created)}</small>`;
  const numbers = figures([
    [words.say('overview.created'), String(created)],
    [words.say('overview.paid'), html`${String(paid)}${part}`],
    [words.say('overview.unpaid'), String(unpaid)],
    [words.say('overview.open'), String(created - paid - unpaid)],
  ]);
  const assets = grouped(credits.flat(), assetOf, plus);
  if (assets.length === 0) return html`${numbers}<p>${words.say('reports.no_credits')}</p>`;
  const names = [
    'general.network',
    'overview.transfers',
    'overview.credited',
    'overview.reversed',
    'reports.left',
  ] as const;
  return html`${numbers}${table(
    words.say('frame.payments'),
    names.map((name) => words.say(name)),
    assets.map(({ network, currency, credits: transfers, creditedPar, reversedPar }) => [
      data(networkTitle(config, network)),
      String(transfers),
      data(`${coins(creditedPar)} ${currency}`),
      reversedPar === 0n ? '–' : data(`${coins(reversedPar)} ${currency}`),
      data(`${signed(creditedPar - reversedPar)} ${currency}`),
    ]),
    [1, 2, 3, 4],
    undefined,
    [0, 4],
  )}`;
}

function refundsMade({ config }: DashboardDeps, { words }: Visit<StoreAt>, sums: readonly RefundSum[]): Html {
  if (sums.length === 0) return html`<p>${words.say('reports.no_refunds')}</p>`;
  const names = ['general.network', 'general.state', 'reports.count', 'refunds.amount'] as const;
  return table(
    words.say('reports.refunds'),
    names.map((name) => words.say(name)),
    sums.map(({ network, currency, status, count, amountMinor }) => [
      data(networkTitle(config, network)),
      words.say(`refunds.status_${status}`),
      String(count),
      data(`${minorText(amountMinor)} ${currency}`),
    ]),
    [2, 3],
    undefined,
    [0, 3],
  );
}

const isPaid = ({ status }: RefundSum): boolean => status === 'completed';

function payouts({ config }: DashboardDeps, { words }: Visit<StoreAt>, ended: readonly RefundSum[]): Html {
  const paid = grouped(ended.filter(isPaid), assetOf, (sum, { count, amountMinor }) => ({
    ...sum,
    count: sum.count + count,
    amountMinor: sum.amountMinor + amountMinor,
  }));
  if (paid.length === 0) return html`<p>${words.say('reports.no_payouts')}</p>`;
  const names = ['general.network', 'reports.count', 'refunds.amount'] as const;
  return table(
    words.say('reports.payouts'),
    names.map((name) => words.say(name)),
    paid.map(({ network, currency, count, amountMinor }) => [
      data(networkTitle(config, network)),
      String(count),
      data(`${minorText(amountMinor)} ${currency}`),
    ]),
    [1, 2],
    undefined,
    [0, 2],
  );
}

function fees({ config }: DashboardDeps, { words }: Visit<StoreAt>, sums: readonly FeeSum[]): Html {
  if (sums.length === 0) return html`<p>${words.say('reports.no_fees')}</p>`;
  const names = ['general.network', 'reports.transactions', 'reports.fee'] as const;
  return table(
    words.say('reports.fees'),
    names.map((name) => words.say(name)),
    sums.map(({ network, count, units }) => [
      data(networkTitle(config, network)),
      String(count),
      data(coinText(config.networks, network, 'native', units)),
    ]),
    [1, 2],
    undefined,
    [0, 2],
  );
}

/** The days on which money came or went, newest first; nothing if there is none. */
function byDay({ words }: Visit<StoreAt>, { dates, credits, ended }: Sums): Html | null {
  const paid = ended?.periods.map((sums) => sums.filter(isPaid)) ?? [];
  const moved = [...credits.flat(), ...paid.flat()];
  const symbols = currencies.filter((one) => moved.some(({ currency }) => currency === one));
  const inCoins = (par: bigint): Html | string => (par === 0n ? '–' : data(`${coins(par)} ${coinNames(symbols)}`));
  const rows = dates.flatMap((date, at) => {
    const day = (credits[at] ?? []).reduce<CreditTotal | null>((sum, one) => (sum ? plus(sum, one) : one), null);
    const back = (paid[at] ?? []).reduce((sum, { amountMinor }) => sum + minorToPar(amountMinor), 0n);
    if (day === null && back === 0n) return [];
    const { credits: transfers = 0, creditedPar = 0n, reversedPar = 0n } = day ?? {};
    const paidBack = ended === null ? '?' : inCoins(back);
    return [[data(date), inCoins(creditedPar), String(transfers), inCoins(reversedPar), paidBack]];
  });
  if (rows.length === 0) return null;
  const names = [
    'overview.day',
    'overview.credited',
    'overview.transfers',
    'overview.reversed',
    'reports.payouts',
  ] as const;
  const columns = names.map((name) => words.say(name));
  const title = words.say('reports.by_day');
  return card('days', title, table(title, columns, rows.reverse(), [1, 2, 3, 4], 0, [0, 1]));
}
