/**
 * Networks, for the operator: how far each is read, why one stops, and the commands that are ways out.
 */
import { coinText } from '../../chains/coin-text.ts';
import type { NetworkConfig } from '../../config/network.ts';
import type { Asset } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { type NetworkStatus, staleSinceMs, whyUnfollowed } from '../../database/network-health.ts';
import type { WalletBalance } from '../../database/payouts/wallets.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Visit } from '../page.ts';
import { ago, badge, data, english, type Tone } from '../show.ts';
import { signerFrozen } from './freezes.ts';

const PATH = '/operator/networks';

export const networkPages = (deps: DashboardDeps): readonly CommonPage[] => [
  {
    method: 'get',
    path: PATH,
    needs: 'installation:read',
    answer: async (visit) => ({
      title: 'Networks',
      content: await networksList(deps, visit),
    }),
  },
  {
    method: 'get',
    path: `${PATH}/:network`,
    needs: 'installation:read',
    async answer(visit) {
      const network = deps.config.networks.find(({ key }) => key === visit.params.network);
      if (!network) return null;
      const status = (await deps.database.networks.list()).find((one) => one.network === network.key) ?? null;
      return {
        title: `Network ${network.key}`,
        content: html`<p><a href="${PATH}">All networks</a></p>${await reading(deps, visit, network, status)}
${await moneyOut(deps, visit, network, status)}
${recovery(network, status, visit.nowMs)}`,
      };
    },
  },
];

const tones: Readonly<Record<NetworkStatus['state'], Tone>> = {
  following: 'good',
  starting: 'wait',
  behind: 'attention',
  fault: 'attention',
  halted: 'danger',
};

const stateBadge = ({ state }: Pick<NetworkStatus, 'state'>): Html => badge(state, tones[state]);

/** Says how long ago a network's node was last heard. */
export const heardAgo = (
  words: Visit<null>['words'],
  status: Pick<NetworkStatus, 'nodeHeardAtMs'> | null,
  nowMs: number,
): Html => (status && status.nodeHeardAtMs > 0 ? ago(words, status.nodeHeardAtMs, nowMs) : html`never`);

/** Shows a number that a network's node has said, and how old it is where that says nothing about now. */
function figure({ words, nowMs }: Visit<null>, value: number | null | undefined, status: NetworkStatus | null): Html {
  if (value == null) return html`–`;
  const sinceMs = status && staleSinceMs(status, nowMs);
  if (sinceMs === null) return data(value.toLocaleString('en'));
  const asOf = sinceMs === 0 ? 'not read' : html`as of ${ago(words, sinceMs, nowMs)}`;
  return html`${data(value.toLocaleString('en'))} ${badge(asOf, 'attention')}`;
}

/** How far each network is read, and what is wrong with it. */
export async function networksList({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { nowMs, words } = visit;
  const known = new Map((await database.networks.list()).map((status) => [status.network as string, status]));
  const behind = (status: NetworkStatus | null): string => {
    const [at, head] = [status?.cursor?.number ?? null, status?.headNumber ?? null];
    if (at === null || head === null || !status || staleSinceMs(status, nowMs) !== null) return '–';
    const count = Math.max(0, head - at);
    return count === 1 ? '1 block' : `${count} blocks`;
  };
  return list({
    caption: 'Networks',
    columns: [
      [
        'Network',
        ({ network }) => html`<a href="${PATH}/${network.key}">${network.title}</a> <code>${network.key}</code>`,
      ],
      [
        'State',
        ({ status, why }) =>
          !status || why?.code === 'indexer_silent' ? badge('silent', 'danger') : stateBadge(status),
        'lead',
      ],
      ['Read to', ({ status }) => figure(visit, status?.cursor?.number, status), 'number'],
      ['Behind', ({ status }) => behind(status), 'number'],
      ['Node heard', ({ status }) => heardAgo(words, status, nowMs)],
      ['Reason', ({ network, why }) => why && html`${english(why.message)}. <code>quayside show ${network.key}</code>`],
    ],
    rows: config.networks.map((network) => {
      const status = known.get(network.key) ?? null;
      return { network, status, why: whyUnfollowed(status, nowMs) };
    }),
    empty: 'No network is configured.',
  });
}

async function reading(
  { database }: DashboardDeps,
  visit: Visit<null>,
  { key, url }: NetworkConfig,
  status: NetworkStatus | null,
): Promise<Html> {
  const why = whyUnfollowed(status, visit.nowMs);
  const gaps = status ? (await database.networks.listGaps(key)).filter(({ closedAtMs }) => closedAtMs === null) : [];
  const number = (value: number | null | undefined) => figure(visit, value, status);
  // The head is reported once a second, and the cursor with every block.
  const head = status?.headNumber == null ? null : Math.max(status.headNumber, status.cursor?.number ?? 0);
  const state = why || !status ? badge(html`<code>${why?.code ?? ''}</code>`, 'danger') : stateBadge(status);
  return section(
    'reading',
    'Reading',
    html`${facts([
      ['State', state],
      ['Node', html`<code>${new URL(url).host}</code>`],
      ['Head of the node', number(head)],
      ['Read up to', number(status?.cursor?.number)],
      ['Final up to', number(status?.floor)],
      ['Node heard', heardAgo(visit.words, status, visit.nowMs)],
      ...gaps.map(({ from, to, because }) => ['Skipped', html`${from} to ${to}: ${because}`] as const),
    ])}${why ? html`<p class="message attention">${english(why.message)}</p>` : null}`,
  );
}

/** Whether the network pays, and what its wallets hold: nothing is paid out on one that is not read. */
async function moneyOut(
  { database }: DashboardDeps,
  { nowMs, words }: Visit<null>,
  network: NetworkConfig,
  status: NetworkStatus | null,
): Promise<Html> {
  const { key } = network;
  const freezes = (await database.holds.list()).filter((one) => one.network === key || one.network === null);
  const engine = (await database.engines.list()).find((one) => one.network === key);
  const balances = (await database.wallets.balances()).filter((one) => one.network === key);
  const signer = signerFrozen(engine ? [engine] : []);
  const isPaying = whyUnfollowed(status, nowMs) === null && !engine?.reason;
  const isFrozen = freezes.length > 0 || signer !== null;
  const state = isFrozen
    ? badge('frozen', 'danger')
    : isPaying
      ? badge('pays', 'good')
      : badge('does not pay now', 'attention');
  const holds = ({ units, low }: WalletBalance) =>
    (Object.entries(units) as [Asset, bigint][]).map(
      ([asset, amount]) =>
        html`${data(coinText([network], key, asset, amount))}${low.includes(asset) ? html` ${badge('low', 'attention')}` : null}, `,
    );
  return section(
    'money',
    'Money out',
    html`${signer}${facts([
      ['State', state],
      ...freezes.map(
        (one) =>
          [
            'Freeze',
            html`${data(one.network ?? 'every network')}, by ${data(one.frozenBy)}: ${data(one.reason)}`,
          ] as const,
      ),
      isFrozen || !engine?.reason ? null : ['Engine', english(engine.reason.message)],
      ...balances.map(
        (one) =>
          [
            `${one.isFormer ? 'Former ' : ''}${one.role} wallet`,
            html`${holds(one)}read ${ago(words, one.readAtMs, nowMs)}`,
          ] as const,
      ),
    ])}<p><a href="/operator/money">Wallets, freezes and payouts</a></p>`,
  );
}

/** Shows the commands that fit the network's state: without a node that answers, none does. */
function recovery({ key }: NetworkConfig, status: NetworkStatus | null, nowMs: number): Html {
  if (!status || staleSinceMs(status, nowMs) !== null) {
    return html`<p class="card">Its node does not answer: reading goes on by itself once it does. <code>quayside network check ${key}</code> says what it lacks.</p>`;
  }
  const { state, cursor } = status;
  const next = (cursor?.number ?? -1) + 1;
  const ways = [
    ['Compare blocks that were read with what the node serves now', `reread ${key} --from BLOCK --to BLOCK --check`],
    ...(state === 'halted'
      ? [['Take out final blocks that the chain has replaced', `rewind ${key} --to BLOCK --reason REASON`] as const]
      : []),
    ...(state === 'halted' || state === 'fault'
      ? [['Skip a block that no node can serve', `skip ${key} ${next} --reason REASON`] as const]
      : []),
  ] as const;
  return html`<details class="card"><summary>Ways out when reading stops</summary>${facts(
    ways.map(([what, command]) => [what, html`<code data-copy>quayside network ${command}</code>`]),
  )}</details>`;
}

/** Returns what stands beside a figure of a network whose node has stopped; null while it answers. */
export async function readStale(
  { database }: Pick<DashboardDeps, 'database'>,
  { nowMs, words }: Pick<Visit<unknown>, 'nowMs' | 'words'>,
): Promise<(network: NetworkKey) => Html | null> {
  const since = new Map((await database.networks.list()).map((one) => [one.network, staleSinceMs(one, nowMs)]));
  return (network) => {
    const sinceMs = since.get(network) ?? null;
    // A node that was never heard has no figures.
    if (sinceMs === null || sinceMs === 0) return null;
    return badge(html`as of ${ago(words, sinceMs, nowMs)}`, 'attention');
  };
}
