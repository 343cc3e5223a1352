/**
 * Supplies of the installation, for the operator: deposit address pools, exchange rates and backups.
 * Settings are in files only: where money comes in is among them.
 */
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import type { DashboardDeps, PoolShown } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, data, english, time } from '../show.ts';

export const SYSTEM_PATH = '/operator/system';

export const systemPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: SYSTEM_PATH,
  needs: 'installation:read',
  answer: (visit) => page(deps, visit),
});

async function page(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  return {
    title: 'System',
    content: html`${section('proofs', 'Backups and proofs', await proofs(deps, visit), 'plain')}
${section('pools', 'Deposit address pools', await pools(deps), 'plain')}
${section('rates', 'Exchange rates', rates(deps, visit), 'plain')}`,
  };
}

const pools = async ({ readPools }: DashboardDeps): Promise<Html> =>
  html`${list<PoolShown>({
    caption: 'Deposit address pools',
    columns: [
      ['Pool', ({ family, mode }) => html`${data(family)}, ${mode}`],
      [
        'From',
        ({ source, imported }) =>
          html`${source === null ? 'nothing yet' : html`<code>${source}</code>`} ${imported ? 'imported list' : 'derived'}`,
      ],
      ['Free', ({ free }) => String(free), 'number lead'],
      ['Given out', ({ taken }) => String(taken), 'number'],
      [
        'State',
        ({ free, isLow }) =>
          free === 0 ? badge('empty', 'danger') : isLow ? badge('low', 'attention') : badge('enough', 'good'),
        'lead',
      ],
    ],
    rows: await readPools(),
    empty: 'No pool yet: no network is configured.',
  })}<p class="hint">Derived pools fill themselves. An imported one is filled with <code>quayside address-pool import</code>.</p>`;

const rates = ({ readRates }: DashboardDeps, { nowMs, words }: Visit<null>): Html =>
  list({
    caption: 'Exchange rates',
    columns: [
      ['Source', ({ source }) => data(source)],
      ['State', ({ fresh }) => (fresh ? badge('fresh', 'good') : badge('stale', 'attention')), 'lead'],
      ['Pairs', ({ pairs }) => String(pairs), 'number'],
      ['Answered', ({ answeredAtMs }) => (answeredAtMs === null ? 'never' : ago(words, answeredAtMs, nowMs))],
      ['Fault', ({ fault }) => english(fault ?? '')],
    ],
    rows: readRates(),
    empty: 'No source is configured: only USD, USDT and USDC can be asked for.',
  });

/** Returns when a backup was last proved, with what to do if that was never or failed. */
function lastProved({ readBackups }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const { proved, failure } = readBackups();
  const when = proved
    ? html`${time(proved.provedAtMs)}, ${ago(words, proved.provedAtMs, nowMs)} (made ${time(proved.madeAtMs)})`
    : html`${badge('never', 'attention')} <code>quayside backup</code>`;
  return failure === null ? when : html`${when}. ${badge('the last one failed', 'danger')} ${english(failure)}`;
}

async function proofs(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { words, nowMs } = visit;
  const compared = new Map((await deps.database.blocks.listComparisons()).map((one) => [one.network as string, one]));
  const { madeAtMs } = deps.readBackups();
  const made =
    madeAtMs === null
      ? html`${badge('never', 'attention')} <code data-copy>quayside backup</code>`
      : html`${time(madeAtMs)}, ${ago(words, madeAtMs, nowMs)}`;
  return html`<div class="card">${facts([
    ['Last backup', made],
    ['Restore drill', lastProved(deps, visit)],
  ])}<p class="hint">A backup is proved by restoring it into a scratch folder; that adds up its books, too.</p></div>
<h3>Final blocks compared with the database</h3>
${list({
  caption: 'Final blocks compared with the database',
  columns: [
    ['Network', ({ key }) => data(key)],
    [
      'State',
      ({ one }) =>
        one === undefined
          ? badge('none yet', 'wait')
          : one.differs
            ? html`${badge('differences', 'danger')} ${english(one.message ?? '')}`
            : badge('no difference', 'good'),
      'lead',
    ],
    ['Through block', ({ one }) => (one === undefined ? '–' : String(one.through)), 'number'],
    ['Compared', ({ one }) => (one === undefined ? '–' : time(one.comparedAtMs))],
  ],
  rows: deps.config.networks.map(({ key }) => ({ key, one: compared.get(key) })),
  empty: 'No network is configured.',
})}`;
}
