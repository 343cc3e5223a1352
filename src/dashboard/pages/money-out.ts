/**
 * The operator's page of money out: freezes of one network or of every network and how each ends, wallets, what lies on
 * deposit addresses, and payouts.
 */
import { say } from '../../acts/act.ts';
import { EVERYWHERE, freezeMoneyOut, placeOf, thawMoneyOut } from '../../acts/money-out.ts';
import { coinOf } from '../../chains/coin-text.ts';
import { isPaidBy, isPayback } from '../../core/intent.ts';
import { type Asset, assetOf, unitsOf } from '../../core/ledger.ts';
import { shownUnits } from '../../core/money.ts';
import { delayOf, type Payout } from '../../core/payout.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { unreadMinutes } from '../../core/wallet-books.ts';
import { type Freeze, needsReconcile } from '../../database/payouts/holds.ts';
import type { OutgoingRecord, WalletBalance } from '../../database/payouts/wallets.ts';
import { type Html, html } from '../../lib/html.ts';
import { createAddressFormat } from '../../payments/destination.ts';
import { pageOf } from '../../web/filters.ts';
import { type Column, list, section } from '../../web/list.ts';
import { ago, badge, data, english, type Tone, time } from '../../web/show.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { type Listing, showList } from '../listing.ts';
import type { Page, Reply, Visit } from '../page.ts';
import { shownOnChain } from '../show.ts';

const MONEY_PATH = '/operator/money';

export const moneyOutPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: MONEY_PATH, needs: 'installation:read', answer: (visit) => page(deps, visit) }, [
    ...[freezing, thawing],
  ]);

async function page(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { form, table, isFirst, isLimited } = await showList(payoutList(deps), visit);
  const payouts = section('payouts', 'Payouts', html`${form}${table}`, 'plain');
  if (!isFirst || isLimited) return { title: 'Money out', content: payouts };
  return {
    title: 'Money out',
    content: html`${await freezeSection(deps, visit)}
${section('wallets', 'Refund and gas wallets', await wallets(deps, visit), 'plain')}
${section('unswept', 'On deposit addresses', await unswept(deps, visit), 'plain')}
${payouts}`,
  };
}

const payoutList = (deps: DashboardDeps): Listing<null, Payout> => ({
  path: MONEY_PATH,
  caption: () => 'Payouts',
  fields: () => [{ name: 'state', label: 'State', choices: states.map((one) => [one, one]) }],
  async read(_visit, chosen, after, limit) {
    const last = await deps.database.payouts.find(after ?? '');
    const state = states.find((one) => one === chosen.state);
    const found = await deps.database.payouts.list({
      ...(state && { state }),
      ...(last && { before: last }),
      limit: limit + 1,
    });
    return pageOf(found, limit, ({ id }) => id);
  },
  columns: (visit) => payoutColumns(deps, visit),
  empty: () => 'Nothing was paid out yet. Refunds, returns and sweeps are listed here with their transactions.',
});

const tones: Readonly<Record<Payout['state'], Tone>> = {
  waiting: 'wait',
  sent: 'wait',
  succeeded: 'good',
  failed: 'danger',
  canceled: 'wait',
  stuck: 'danger',
};
const states = Object.keys(tones) as readonly Payout['state'][];

const kinds: Readonly<Record<Payout['intent']['kind'], string>> = {
  refund: 'refund',
  return: 'return of held money',
  sweep: 'sweep',
  gas: 'native coin for a sweep',
};

/** The columns of payouts, with what each waits for. `quayside show` has the attempts of one. */
const payoutColumns = (deps: DashboardDeps, { words }: Visit<null>): readonly Column<Payout>[] => [
  ['Planned', ({ createdAtMs }) => time(createdAtMs)],
  ['Payout', ({ id, intent }) => html`<code class="long">${id}</code> <span class="hint">${kinds[intent.kind]}</span>`],
  ['Network', ({ network }) => data(network)],
  ['Amount', ({ network, intent }) => amount(deps, network, assetOf(intent), unitsOf(intent)), 'number lead'],
  ['State', ({ state }) => badge(state, tones[state]), 'lead'],
  [
    'Transaction',
    ({ network, tx: text }) =>
      text === null ? '–' : shownOnChain({ config: deps.config, words }, { network, kind: 'tx', text }),
  ],
  ['Waits for', waitingOf],
];

/** Says what a payout waits for, with the command that ends one that does not end by itself. */
function waitingOf(payout: Payout): Html | null {
  const { id, intent, wait, state } = payout;
  const delay = delayOf(payout);
  const needsApprover = isPayback(intent) && wait?.code === 'signer_refused_approval';
  const show = html`<p><code data-copy>quayside show ${id} --request</code> writes the file that an approver signs.</p>`;
  const ends = html`<p><code data-copy>quayside payout resolve ${id} --reason REASON</code> with <code>--paid TRANSACTION</code> or <code>--never</code>, if every node shows that, or with <code>--retry</code>.</p>`;
  return (
    delay &&
    html`<code>${delay.code}</code> ${english(delay.message)}${needsApprover ? show : null}${state === 'stuck' ? ends : null}`
  );
}

function shownAddress({ config }: Configured, { words }: Visit<null>, network: NetworkKey, key: string): Html {
  const text = createAddressFormat(config)(network, key);
  return shownOnChain({ config, words }, { network, kind: 'address', text }, 'whole');
}

type Configured = Pick<DashboardDeps, 'config'>;

function amount({ config }: Configured, network: NetworkKey, asset: Asset, units: bigint): Html {
  const { symbol, decimals } = coinOf(config.networks, network, asset);
  return data(`${shownUnits(units, decimals)} ${symbol}`);
}

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
    empty: deps.config.signer
      ? 'Nothing that is final lies on deposit addresses.'
      : 'Without a signer nothing is swept: what is received stays on its deposit addresses.',
  })}<p class="hint"><code>quayside sweep &lt;network&gt;</code> shows what a sweep brings and costs, asks, and has the server make it.</p>`;
}

/** Transfers of a network that are shown. */
const SHOWN_MAX = 100;
/** Open refunds that they are compared with, of each state. */
const COMPARED_MAX = 1_000;

const reason = say('Reason, for the audit log');
const freezing = formOf(freezeMoneyOut, { path: `${MONEY_PATH}/freeze`, inputs: ['network'] });
const thawing = formOf(thawMoneyOut, { path: `${MONEY_PATH}/thaw`, inputs: ['network'] });

/** Shows what is frozen, and the forms. */
async function freezeSection(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database, config } = deps;
  const freezes = await database.holds.list();
  const waiting = (await database.engines.list()).map(
    ({ network, reason }) =>
      reason && html`<p>${badge('does not pay now', 'attention')} ${data(network)}: ${english(reason.message)}</p>`,
  );
  const text = (freeze: Freeze) =>
    html`<p>${badge('frozen', 'danger')} ${data(placeOf(freeze))} since ${time(freeze.sinceMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}</p>`;
  const own = freezes.filter(needsReconcile);
  const byPeople = freezes.filter((one) => !own.includes(one));
  const thaws = [...new Set(byPeople.map(({ network }) => network))].map((network) => {
    const here = byPeople.filter((one) => one.network === network);
    return thawing.show(visit, {
      button: `End the freeze of ${placeOf({ network })}…`,
      above: html`${here.map(text)}`,
      reason,
      given: { network: network ?? EVERYWHERE },
    });
  });
  const networks = config.networks.filter(({ key }) => own.some(({ network }) => network === key));
  const reconciling = await Promise.all(
    networks.map(async ({ key }) => {
      const causes = own.filter(({ network }) => network === key).map(text);
      return html`${causes}${await unexplainedList(deps, visit, key)}<p>Compare it with an explorer; then <code data-copy>quayside payout reconcile ${key} --reason REASON</code> settles what paid a refund, and ends the freeze.</p>`;
    }),
  );
  const networkNames = config.networks.map(({ key }) => [key, null] as const);
  const freeze = freezing.show(visit, {
    button: 'Freeze…',
    opens: 'Freeze money out',
    reason,
    offers: { network: Object.fromEntries([[EVERYWHERE, say('every network')], ...networkNames]) },
    below: html`<p class="hint">The signer goes on for every process that has its socket. <code data-copy>quayside payout freeze --reason REASON</code> stops that too.</p>`,
  });
  const state = freezes.length > 0 ? null : html`<p>${badge('not frozen', 'good')} in this installation</p>`;
  return section('freeze', 'Freeze', html`${state}${waiting}${reconciling}${thaws}${freeze}`);
}

/** Shows what `payout reconcile` shows before it asks the nodes: what left the wallets, and which refund it may be. */
async function unexplainedList(deps: DashboardDeps, visit: Visit<null>, network: NetworkKey): Promise<Html> {
  const { config, database } = deps;
  const rows = await database.wallets.listForeign(network, SHOWN_MAX);
  if (rows.length === 0) return html``;
  const states = ['waiting', 'sent', 'stuck'] as const;
  const pages = states.map((state) => database.payouts.list({ network, state, limit: COMPARED_MAX }));
  const open = (await Promise.all(pages)).flat();
  const shown = (key: string) => shownAddress(deps, visit, network, key);
  return list<OutgoingRecord>({
    caption: 'Unexplained',
    columns: [
      ['Transaction', ({ tx: text }) => shownOnChain({ config, words: visit.words }, { network, kind: 'tx', text })],
      ['Seen', ({ seenAtMs }) => time(seenAtMs)],
      ['Amount', ({ currency, units }) => amount(deps, network, currency, units), 'number lead'],
      ['To', ({ toKey }) => shown(toKey)],
      ['May be', (one) => data(open.find((payout) => isPaidBy(payout, one))?.id ?? 'not ours')],
    ],
    rows,
    empty: '',
  });
}
