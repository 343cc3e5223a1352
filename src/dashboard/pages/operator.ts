/**
 * The installation at a glance, for the operator: what needs somebody, networks and backups. Settings are in files
 * only: where money comes in is among them.
 */

import { adviceOn } from '../../acts/networks.ts';
import { openGaps } from '../../core/gap.ts';
import { isInformed } from '../../database/alarms.ts';
import type { BlockComparison } from '../../database/blocks.ts';
import { type NetworkRow, unseenSinceMs, whyUnfollowed } from '../../database/networks.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { ago, badge, data, english, type Tone, time } from '../../web/show.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { alarmColumns } from './alarms.ts';

export const operatorPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: '/operator',
  needs: 'installation:read',
  answer: async (visit) => ({
    title: 'Installation',
    content: html`${section('needs', 'What needs you', await needs(deps, visit))}
${section('networks', 'Networks', await networksList(deps, visit), 'plain')}
${section('backups', 'Backups', backups(deps, visit))}`,
  }),
});

async function needs(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database } = deps;
  const open = await database.alarms.listOpen();
  const stores = await database.stores.list();
  const toApprove = stores.filter(({ status }) => status === 'pending').length;
  const lines = [
    ...(toApprove > 0
      ? [html`${badge(`${toApprove} to approve`, 'attention')} <a href="/operator/stores">Stores that wait for you</a>`]
      : []),
    ...(await unseenNetworks(deps, visit.nowMs)).map(({ key, title, sinceMs }) => {
      const read = sinceMs === 0 ? 'was never read' : html`is read up to ${time(sinceMs)}`;
      return html`${badge('not read', 'danger')} <a href="#networks">${title}</a> ${read}. <code>quayside network check ${key}</code> says what is wrong.`;
    }),
    ...(await missingGuards(deps)),
  ];
  const alarms =
    open.length > 0 ? list({ caption: 'Alarms', columns: alarmColumns(visit), rows: open, empty: '' }) : null;
  const quiet = lines.length === 0 && !alarms ? html`<p>${badge('no open alarm', 'good')}</p>` : null;
  return html`<ul class="steps">${lines.map((line) => html`<li>${line}</li>`)}</ul>${alarms}${quiet}`;
}

/** Precautions that are missing, and how to take them. */
async function missingGuards({ database, readBackups }: DashboardDeps): Promise<readonly Html[]> {
  const isTold = (await database.alarms.listTargets()).some(isInformed);
  const backup = html`${badge('no backup was proved', 'attention')} <code>quayside backup</code> makes one and restores it on trial. <a href="#backups">Backups</a>`;
  const notice = html`${badge('nobody is informed about alarms', 'attention')} <a href="/operator/alarms#targets">Add somebody</a>, and type the code that arrives.`;
  return [...(readBackups().proved === null ? [backup] : []), ...(isTold ? [] : [notice])];
}

const tones: Readonly<Record<NetworkRow['state'], Tone>> = {
  following: 'good',
  starting: 'wait',
  behind: 'attention',
  fault: 'attention',
  halted: 'danger',
};

const figure = (value: number | null | undefined): Html => (value == null ? html`–` : data(value.toLocaleString('en')));

/** Returns the networks that show no payments now, and since when; 0: never. */
export async function unseenNetworks({ database, config }: DashboardDeps, nowMs: number) {
  const known = new Map((await database.networks.list()).map((status) => [status.key as string, status]));
  return config.networks.flatMap(({ key, title, mode }) => {
    const status = known.get(key);
    const sinceMs = status ? unseenSinceMs(status, nowMs) : 0;
    return sinceMs === null ? [] : [{ key, title, mode, sinceMs }];
  });
}

/** Lists how far each network is read, and what is wrong with it. */
async function networksList({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { nowMs, words } = visit;
  const known = new Map((await database.networks.list()).map((status) => [status.key as string, status]));
  const compared = new Map((await database.blocks.listComparisons()).map((one) => [one.network as string, one]));
  const rows = config.networks.map(async (network) => {
    const status = known.get(network.key) ?? null;
    const comparison = compared.get(network.key);
    return { network, status, gaps: openGaps(status?.gaps ?? []), comparison, why: whyUnfollowed(status, nowMs) };
  });
  return list({
    caption: 'Networks',
    columns: [
      [
        'Network',
        ({ network }) => html`${network.title} <code>${network.key}</code><small>${new URL(network.url).host}</small>`,
        'lead',
      ],
      [
        'State',
        ({ status, why }) =>
          !status || why?.code === 'indexer_silent'
            ? badge('silent', 'danger')
            : badge(status.state, tones[status.state]),
        'lead',
      ],
      // The head is reported once a second, and the cursor with every block.
      [
        'Head of the node',
        ({ status }) => figure(status?.headNumber && Math.max(status.headNumber, status.tipNumber ?? 0)),
        'number',
      ],
      ['Read to', ({ status }) => figure(status?.tipNumber), 'number'],
      ['Final to', ({ status }) => figure(status?.floor), 'number'],
      [
        'Node heard',
        ({ status }) => (status && status.nodeHeardAtMs > 0 ? ago(words, status.nodeHeardAtMs, nowMs) : html`never`),
      ],
      [
        'Final blocks read again',
        ({ comparison }) => (comparison ? comparisonText(comparison) : badge('none yet', 'wait')),
      ],
      [
        'Reason',
        ({ network, status, why, gaps }) =>
          why === null && gaps.length === 0
            ? '–'
            : html`${why && html`${english(`${why.message}. ${adviceOn(network.key, status) ?? `\`quayside show ${network.key}\` says what to do`}`)}.`}${gaps.map(({ from, to, because }) => html`<p class="hint">Skipped ${from} to ${to}: ${because}</p>`)}`,
      ],
    ],
    rows: await Promise.all(rows),
    empty: 'No network is configured.',
  });
}

/** Says whether final blocks, read again in the last night, differ from the database. The alarm says where. */
const comparisonText = ({ differences, through, comparedAtMs }: BlockComparison): Html =>
  html`${differences > 0 ? badge('differences', 'danger') : badge('no difference', 'good')} <span class="hint">through ${data(through)}, ${time(comparedAtMs)}</span>`;

/** Shows when the newest backup was made and proved, with what to do if there is none, or the last one failed. */
function backups({ readBackups }: DashboardDeps, { nowMs, words }: Visit<null>): Html {
  const { proved, failure } = readBackups();
  const when = proved
    ? html`${time(proved.madeAtMs)}, ${ago(words, proved.madeAtMs, nowMs)} (proved ${time(proved.provedAtMs)})`
    : html`${badge('never', 'attention')} <code data-copy>quayside backup</code>`;
  const failed = failure && html`. ${badge('the last one failed', 'danger')} ${english(failure)}`;
  return html`${facts([
    ['Last backup', html`${when}${failed}`],
  ])}<p class="hint">A backup is proved by restoring it into a scratch folder; that adds up its books, too.</p>`;
}
