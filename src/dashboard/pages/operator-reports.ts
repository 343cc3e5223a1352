/**
 * The operator's report: what was swept to the treasury in some days, and what transactions of every kind cost.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { html } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { StartExport } from '../export.ts';
import { queryOfChosen } from '../list-filter.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { exportPayouts, type PayoutFile, payoutFiles } from '../report-export.ts';
import { periodForm, readPeriod } from '../report-period.ts';
import { data, faultMessage, table } from '../show.ts';

const PATH = '/operator/reports';
/** Payouts that are added up for a page, and no more. */
const PAYOUTS_MAX = 2_000;

export const operatorReportPages = (deps: DashboardDeps, startExport: StartExport): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => reportPage(deps, visit) },
  ...payoutFiles.map((file) => exportPage(deps, startExport, file)),
];

const exportPage = (deps: DashboardDeps, startExport: StartExport, file: PayoutFile): CommonPage => ({
  method: 'get',
  path: `${PATH}/${file}.csv`,
  needs: 'installation:read',
  async answer(visit) {
    const period = readPeriod(visit.query, visit.zone, visit.nowMs);
    if (period === null) return reportPage(deps, visit);
    const chosen = { from: period.from, to: period.to };
    return startExport(visit, {
      name: file,
      command: `export ${file}`,
      target: 'installation',
      chosen,
      back: html`<a href="${PATH}${queryOfChosen(chosen)}">${visit.words.say('reports.back')}</a>`,
      parts: exportPayouts(deps, file, period),
    });
  },
});

async function reportPage({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { query, zone, nowMs, words } = visit;
  const period = readPeriod(query, zone, nowMs);
  const title = words.say('frame.operator_reports');
  if (period === null) {
    const chosen = { from: query.get('from') ?? '', to: query.get('to') ?? '' };
    const content = html`${faultMessage(words.say('reports.reversed'))}${periodForm(words, PATH, chosen, visit)}`;
    return { title, status: 400, content };
  }
  const { from, to } = period;
  const sums = await database.sumEndedPayouts(period, PAYOUTS_MAX);
  const csv = (file: PayoutFile) =>
    html`<p><a href="${PATH}/${file}.csv${queryOfChosen({ from, to })}">${words.say(`reports.csv_${file}`)}</a></p>`;
  const many = html`<p class="message attention">${words.html('reports.too_many_payouts', { number: PAYOUTS_MAX })}</p>`;
  const sweeps = sums?.sweeps.map(({ network, currency, count, units }) => [
    html`<code>${network}</code>`,
    String(count),
    data(coinText(config.networks, network, currency, units)),
  ]);
  const fees = sums?.fees.map(({ network, kind, count, units }) => [
    html`<code>${network}</code>`,
    words.say(`operator-payouts.kind_${kind}`),
    String(count),
    data(coinText(config.networks, network, 'native', units)),
  ]);
  const sweepColumns = (['general.network', 'reports.count', 'refunds.amount'] as const).map((name) => words.say(name));
  const feeColumns = (['general.network', 'reports.kind', 'reports.transactions', 'reports.fee'] as const).map((name) =>
    words.say(name),
  );
  const sweepTable = (rows: NonNullable<typeof sweeps>) =>
    rows.length === 0
      ? html`<p>${words.say('reports.no_sweeps')}</p>`
      : table(words.say('reports.sweeps'), sweepColumns, rows, [1, 2], undefined, [0, 2]);
  const feeTable = (rows: NonNullable<typeof fees>) =>
    rows.length === 0
      ? html`<p>${words.say('reports.no_payout_fees')}</p>`
      : table(words.say('reports.payout_fees'), feeColumns, rows, [2, 3], undefined, [0, 3]);
  return {
    title,
    content: html`${periodForm(words, PATH, { from, to }, visit)}
<p class="hint">${words.html('reports.days', { from, to, zone })}</p>
<section class="card" aria-labelledby="sweeps"><h2 id="sweeps">${words.say('reports.sweeps')}</h2>${sweeps ? sweepTable(sweeps) : many}${csv('sweeps')}</section>
<section class="card" aria-labelledby="fees"><h2 id="fees">${words.say('reports.payout_fees')}</h2>${fees ? feeTable(fees) : many}<p class="hint">${words.say('reports.payout_fees_hint')}</p>${csv('fees')}</section>`,
  };
}
