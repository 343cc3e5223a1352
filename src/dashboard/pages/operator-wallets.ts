/**
 * The operator's page of money: what the wallets hold beside the books, what lies on deposit addresses, and the freeze
 * of every network.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { Asset } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { WalletBalance } from '../../database/money-out.ts';
import type { BookedWallet } from '../../database/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { askForm, BECAUSE_CHARS_MAX, becauseField } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, facts, faultMessage, table, time } from '../show.ts';

const PATH = '/operator/wallets';

export const operatorWalletPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  commonChange(deps, {
    path: `${PATH}/freeze`,
    needs: 'installation:manage',
    plan: (visit) => planFreeze(deps, visit),
  }),
  commonChange(deps, { path: `${PATH}/thaw`, needs: 'installation:manage', plan: (visit) => planThaw(deps, visit) }),
];

async function page(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { database } = deps;
  const balances = await database.listBalances();
  return {
    title: 'Wallets',
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<section aria-labelledby="held"><h2 id="held">Refund and gas wallets</h2>${
      balances.length === 0
        ? html`<p class="card">No wallet was read yet. Without a signer this installation only receives.</p>`
        : html`${balanceTable(deps, visit, balances)}${bookTable(deps, balances, await database.listWalletBooks())}`
    }</section>
<section aria-labelledby="unswept"><h2 id="unswept">On deposit addresses</h2>${await unsweptTable(deps, visit)}</section>
${await freezeCard(deps, visit)}`,
  };
}

const amount = ({ config }: DashboardDeps, network: NetworkKey, asset: Asset, units: bigint): string =>
  coinText(config.networks, network, asset, units);

const balanceTable = (deps: DashboardDeps, { nowMs, words }: Visit<null>, balances: readonly WalletBalance[]): Html =>
  table(
    'Wallets',
    ['Network', 'Wallet', 'Address', 'Holds', 'State', 'Read'],
    balances.map(({ network, role, key, isFormer, units, low, readAtMs }) => {
      const family = deps.config.networks.find((one) => one.key === network)?.family;
      return [
        html`<a href="/operator/networks/${network}">${network}</a>`,
        role,
        html`<code>${family ? chains[family].address.format(key) : key}</code>`,
        (Object.entries(units) as [Asset, bigint][])
          .map(([asset, value]) => amount(deps, network, asset, value))
          .join(', '),
        isFormer ? badge('former', 'wait') : low.length > 0 ? badge('low', 'attention') : badge('enough', 'good'),
        ago(words, readAtMs, nowMs),
      ];
    }),
  );

/** What the wallets of a network hold together, beside what the ledger expects. */
const bookTable = (deps: DashboardDeps, balances: readonly WalletBalance[], books: readonly BookedWallet[]): Html =>
  table(
    'Balances and books',
    ['Network', 'Coin', 'Held', 'By the books at least', 'State'],
    books.map(({ network, asset, units, shortSinceMs }) => {
      const own = balances.filter((one) => one.network === network);
      const held = own.reduce((sum, one) => sum + (one.units[asset] ?? 0n), 0n);
      return [
        html`<code>${network}</code>`,
        asset === 'native' ? 'native coin' : asset,
        amount(deps, network, asset, held),
        amount(deps, network, asset, units),
        shortSinceMs === null
          ? badge('agrees', 'good')
          : html`<span>${badge('less than expected', 'attention')} <span class="hint">since ${time(shortSinceMs)}</span></span>`,
      ];
    }),
  );

async function unsweptTable(deps: DashboardDeps, { nowMs, words }: Visit<null>): Promise<Html> {
  const levels = await deps.database.listUnswept();
  if (levels.length === 0)
    return html`<p class="card">Nothing that is final lies on deposit addresses, as far as it was read.</p>`;
  return html`${table(
    'On deposit addresses',
    ['Network', 'Addresses', 'To be swept', 'Being swept', 'Read'],
    levels.map(({ network, currency, owners, units, openUnits, readAtMs }) => [
      html`<a href="/operator/networks/${network}">${network}</a>`,
      String(owners),
      amount(deps, network, currency, units),
      amount(deps, network, currency, openUnits),
      ago(words, readAtMs, nowMs),
    ]),
  )}<p class="hint">The page of a network plans its sweeps. Where they go is in the signer’s policy, and is not changed here.</p>`;
}

async function freezeCard({ database, config }: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const freezes = await database.listFreezes();
  const all = freezes.find(({ network }) => network === null);
  const [first] = config.networks;
  return html`<section class="card" aria-labelledby="freeze"><h2 id="freeze">Freeze of every network</h2>${facts([
    ['State', all ? badge('frozen', 'danger') : badge('not frozen', 'good')],
    ...freezes.map((one) => [one.network ?? 'Every network', `by ${one.frozenBy}: ${one.reason}`] as const),
  ])}<form method="post" action="${PATH}/${all ? 'thaw' : 'freeze'}">${changeFields(visit)}${becauseField}<button class="plain">${
    all ? 'End the freeze…' : 'Freeze every network…'
  }</button></form>
${
  first
    ? html`<h3>The signer itself</h3><p class="hint">This stops whoever has its socket too. An approver has to end it.</p>${askForm(visit, first.key, { kind: 'freeze_signer' }, { button: 'Freeze the signer…', isPlain: true })}`
    : null
}</section>`;
}

const reasonOf = ({ form }: Visit<null>): string => (form.because ?? '').trim().slice(0, BECAUSE_CHARS_MAX);
const NO_REASON = 'Say why, for the audit log.';

async function planFreeze(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const reason = reasonOf(visit);
  if (reason === '') return page(deps, visit, NO_REASON);
  return {
    command: 'payouts freeze',
    target: 'every network',
    reason,
    review: {
      title: 'Freeze money out on every network?',
      consequence: html`${facts([['Reason', reason]])}<p>Nothing is signed or sent until the freeze is ended. What nodes have already is watched
to its end.</p>`,
      button: 'Freeze it',
      back: PATH,
      needsSudo: false,
      isDangerous: true,
    },
    async act(database, act) {
      const freeze = { network: null, code: 'payouts_frozen', reason, frozenBy: act.operator, sinceMs: act.atMs };
      const isNew = await database.freezePayouts(freeze, act);
      return { to: PATH, said: isNew ? 'Money out is frozen on every network.' : 'It was frozen already.' };
    },
  };
}

async function planThaw(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const freeze = (await deps.database.listFreezes()).find(({ network }) => network === null);
  const reason = reasonOf(visit);
  if (!freeze) return page(deps, visit, 'There is no freeze of every network.');
  if (reason === '') return page(deps, visit, NO_REASON);
  return {
    command: 'payouts thaw',
    target: 'every network',
    reason,
    review: {
      title: 'End the freeze of every network?',
      consequence: html`${facts([
        ['Frozen by', freeze.frozenBy],
        ['Because', freeze.reason],
        ['Since', time(freeze.sinceMs)],
        ['Reason', reason],
      ])}<p>Payouts that wait are signed and sent again, on networks without a freeze of their own.</p>`,
      button: 'End the freeze',
      back: PATH,
      needsSudo: true,
      isDangerous: true,
    },
    async act(database, act) {
      const ended = await database.thawPayouts(null, act);
      return { to: PATH, said: ended ? 'The freeze is ended.' : 'It was ended already.' };
    },
  };
}
