/**
 * The operator's page of money out: freezes, wallets, what lies on deposit addresses, and payouts.
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { Asset } from '../../core/ledger.ts';
import type { Payout } from '../../core/payout.ts';
import { delayOf } from '../../core/payout.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { unreadMinutes } from '../../core/wallet-books.ts';
import type { WalletBalance } from '../../database/payouts/wallets.ts';
import { type Html, html } from '../../lib/html.ts';
import { type Column, list, section } from '../../web/list.ts';
import { pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, pageOf, showList } from '../listing.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { ago, badge, data, short, shownOnChain, time } from '../show.ts';

import { freezeForms, freezeSection } from './freezes.ts';
import { amountOf, kinds, stateBadge } from './payout.ts';

export const MONEY_PATH = '/operator/money';
const STUCK_MAX = 20;

export const moneyOutPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: MONEY_PATH, needs: 'installation:read', answer: (visit) => page(deps, visit) }, freezeForms);

async function page(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const all = await showList(payoutList(deps), visit);
  const payouts = section('payouts', all.isFirst ? 'Payouts' : 'Older payouts', all.table, 'plain');
  if (!all.isFirst) return { title: 'Money out', content: payouts };
  const rows = await deps.database.payouts.list({ state: 'stuck', limit: STUCK_MAX });
  const stuck = list({ caption: 'Stuck payouts', columns: payoutColumns(deps), rows, empty: '' });
  return {
    title: 'Money out',
    content: html`${await freezeSection(deps, visit)}
${section('wallets', 'Refund and gas wallets', await wallets(deps, visit), 'plain')}
${section('unswept', 'On deposit addresses', await unswept(deps, visit), 'plain')}
${rows.length === 0 ? null : section('stuck', 'Stuck: they need you', stuck, 'plain')}${payouts}`,
  };
}

const payoutList = (deps: DashboardDeps): Listing<null, Payout> => ({
  path: MONEY_PATH,
  caption: () => 'Payouts',
  async read(_visit, _chosen, after, limit) {
    const last = await deps.database.payouts.find(after ?? '');
    const found = await deps.database.payouts.list({ ...(last && { before: last }), limit: limit + 1 });
    return pageOf(found, limit, ({ id }) => id);
  },
  columns: () => payoutColumns(deps),
  empty: () => 'Nothing was paid out yet. Refunds, returns and sweeps are listed here with their transactions.',
});

/** The columns of payouts, with what each waits for. */
const payoutColumns = (deps: DashboardDeps): readonly Column<Payout>[] => [
  ['Planned', ({ createdAtMs }) => time(createdAtMs)],
  [
    'Payout',
    ({ id, intent }) =>
      html`<a href="/operator/payouts/${id}">${short(id)}</a> <span class="hint">${kinds[intent.kind]}</span>`,
  ],
  ['Network', ({ network }) => data(network)],
  ['Amount', (one) => data(amountOf(deps, one)), 'number lead'],
  ['State', (one) => stateBadge(one), 'lead'],
  ['Waits for', (one) => html`<code>${delayOf(one)?.code ?? ''}</code>`],
];

const addressOf = ({ config }: DashboardDeps, network: NetworkKey, key: string): string => {
  const family = config.networks.find((one) => one.key === network)?.family;
  return family ? chains[family].address.format(key) : key;
};

const shownAddress = (deps: DashboardDeps, { words }: Visit<null>, network: NetworkKey, key: string): Html =>
  shownOnChain(
    { config: deps.config, words },
    { network, kind: 'address', text: addressOf(deps, network, key) },
    'whole',
  );

const amount = ({ config }: DashboardDeps, network: NetworkKey, asset: Asset, units: bigint): Html =>
  data(coinText(config.networks, network, asset, units));

function walletState({ readAtMs, low }: WalletBalance, nowMs: number): Html {
  if (unreadMinutes(readAtMs, nowMs) !== null) return badge('not read', 'danger');
  return low.length > 0 ? badge('low', 'attention') : badge('enough', 'good');
}

/** Balances of each wallet. An alarm says where that is less than the books expect. */
async function wallets(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { nowMs, words } = visit;
  const balances = await deps.database.wallets.balances();
  const holds = ({ network, units }: WalletBalance) =>
    (Object.entries(units) as [Asset, bigint][]).map(
      ([asset, value], at) => html`${at === 0 ? null : ', '}${amount(deps, network, asset, value)}`,
    );
  return list<WalletBalance>({
    caption: 'Wallets',
    columns: [
      ['Network', ({ network }) => data(network)],
      ['Wallet', ({ role }) => (role === 'gas' ? 'gas' : 'refunds')],
      ['Address', ({ network, key }) => shownAddress(deps, visit, network, key)],
      ['Holds', (one) => html`${holds(one)}`, 'number lead'],
      ['State', (one) => walletState(one, nowMs), 'lead'],
      ['Read', ({ readAtMs }) => ago(words, readAtMs, nowMs)],
    ],
    rows: balances,
    empty: 'No wallet was read yet. Without a signer this installation only receives.',
  });
}

async function unswept(deps: DashboardDeps, { nowMs, words }: Visit<null>): Promise<Html> {
  return html`${list({
    caption: 'On deposit addresses',
    columns: [
      ['Network', ({ network }) => data(network)],
      ['Addresses', ({ owners }) => String(owners), 'number'],
      ['To be swept', ({ network, currency, units }) => amount(deps, network, currency, units), 'number lead'],
      ['Being swept', ({ network, currency, openUnits }) => amount(deps, network, currency, openUnits), 'number'],
      ['Read', ({ readAtMs }) => ago(words, readAtMs, nowMs)],
    ],
    rows: await deps.database.sweeps.listUnswept(),
    empty: 'Nothing that is final lies on deposit addresses.',
  })}<p class="hint"><code>quayside sweep</code> shows what a sweep brings and costs, asks, and makes it.</p>`;
}
