/**
 * What the installation draws on, and what proves it: deposit address pools, exchange rates, the backup that was proved
 * last, and the certificates that nothing was missed.
 * @module
 */
import { type Html, html, prose } from '../../lib/html.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, facts, table, time } from '../show.ts';

export const operatorSourcePages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: '/operator/sources',
    needs: 'installation:read',
    answer: async (visit): Promise<Reply> => ({
      title: 'Pools, rates and proofs',
      content: html`<section aria-labelledby="pools"><h2 id="pools">Deposit address pools</h2>${await poolTable(deps)}</section>
<section aria-labelledby="rates"><h2 id="rates">Exchange rates</h2>${rateTable(deps, visit)}</section>
<section aria-labelledby="proofs"><h2 id="proofs">Proofs</h2>${proofs(deps, visit)}</section>`,
    }),
  },
];

async function poolTable(deps: DashboardDeps): Promise<Html> {
  const pools = await deps.readPools();
  return html`${table(
    'Deposit address pools',
    ['Pool', 'From', 'Free', 'Given out', 'State'],
    pools.map(({ family, mode, imported, source, free, taken, isLow }) => [
      `${family}, ${mode} mode`,
      html`<span><code>${source ?? 'nothing yet'}</code> ${imported ? 'imported list' : 'derived'}</span>`,
      String(free),
      String(taken),
      free === 0 ? badge('empty', 'danger') : isLow ? badge('low', 'attention') : badge('enough', 'good'),
    ]),
  )}<p class="hint">Derived pools fill themselves. An imported one is filled with <code>quayside address-pool import</code>; where money
comes in is set in files only, and is not changed here.</p>`;
}

function rateTable({ readRates }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const sources = readRates();
  if (sources.length === 0)
    return html`<p class="card">No source is configured: only USD, USDT and USDC can be asked for.</p>`;
  return table(
    'Exchange rates',
    ['Source', 'State', 'Pairs', 'Answered', 'Fault'],
    sources.map(({ source, fresh, pairs, answeredAtMs, fault }) => [
      source,
      fresh ? badge('fresh', 'good') : badge('stale', 'attention'),
      String(pairs),
      answeredAtMs === null ? 'never' : ago(words, answeredAtMs, nowMs),
      fault ?? '',
    ]),
  );
}

/** Returns when a backup was last proved, with what to do if that was never or failed. */
export function lastProved({ readBackups }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const { proved, failure } = readBackups();
  const when = proved
    ? html`${time(proved.provedAtMs)}, ${ago(words, proved.provedAtMs, nowMs)} (made ${time(proved.madeAtMs)})`
    : html`${badge('never', 'attention')} <code>quayside backup --prove</code>`;
  return failure === null ? when : html`${when}. ${badge('the last one failed', 'danger')} ${prose(failure)}`;
}

function proofs(deps: DashboardDeps, visit: Visit<null>): Html {
  const certificates = deps.readCertificates();
  return html`<div class="card">${facts([['Backup last proved', lastProved(deps, visit)]])}</div>${table(
    'Certificates that nothing was missed',
    ['Network', 'State', 'Through block', 'Made'],
    certificates.map(({ network, through, madeAtMs, open, fault }) => [
      html`<a href="/operator/networks/${network}">${network}</a>`,
      fault !== null
        ? html`<span>${badge('unreadable', 'danger')} ${fault}</span>`
        : open.length > 0
          ? html`<span>${badge('differences', 'danger')} in ${open.join(', ')}: <code>quayside evidence verify</code></span>`
          : through === null
            ? badge('none yet', 'wait')
            : badge('no difference', 'good'),
      through === null ? '–' : String(through),
      madeAtMs === null ? '–' : time(madeAtMs),
    ]),
  )}`;
}
