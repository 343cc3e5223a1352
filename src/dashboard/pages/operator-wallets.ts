/**
 * The operator's page of money: what the wallets hold beside the books, what lies on deposit addresses, and the freeze
 * of every network.
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { Asset } from '../../core/ledger.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { unreadMinutes } from '../../core/wallet-books.ts';
import type { WalletBalance } from '../../database/money-out.ts';
import type { BookedWallet } from '../../database/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { qrSvg } from '../../lib/qr.ts';
import { commonChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, copyCode, data, facts, faultMessage, table, time } from '../show.ts';
import { readStale } from '../stale.ts';
import type { Words } from '../texts.ts';
import { byBecause, type FreezeScope, freezeForms, planFreeze, planThaw, signerFrozen } from './freezes.ts';

const PATH = '/operator/wallets';

export const operatorWalletPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => page(deps, visit, null) },
  commonChange(deps, {
    path: `${PATH}/freeze`,
    needs: 'installation:manage',
    plan: (visit) => planFreeze(visit, scopeOf(deps, visit)),
  }),
  commonChange(deps, {
    path: `${PATH}/thaw`,
    needs: 'installation:manage',
    plan: (visit) => planThaw(deps, visit, scopeOf(deps, visit)),
  }),
];

const scopeOf = (deps: DashboardDeps, visit: Visit<null>): FreezeScope => ({
  network: null,
  path: PATH,
  back: (fault) => page(deps, visit, fault),
});

async function page(deps: DashboardDeps, visit: Visit<null>, fault: string | null): Promise<Reply> {
  const { database } = deps;
  const { words } = visit;
  const balances = await database.listBalances();
  return {
    title: words.say('frame.operator_wallets'),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${signerFrozen(words, await database.listEngines())}<section aria-labelledby="held"><h2 id="held">${words.say('operator-wallets.held')}</h2>${
      balances.length === 0
        ? html`<p class="card">${words.say('operator-wallets.none_read')}</p>`
        : html`${balanceTable(deps, visit, balances, await readStale(deps, visit))}${bookTable(deps, visit, balances, await database.listWalletBooks())}`
    }${gasCards(deps, words, balances)}</section>
${await treasuryCard(deps, words)}
<section aria-labelledby="unswept"><h2 id="unswept">${words.say('operator-wallets.unswept')}</h2>${await unsweptTable(deps, visit)}</section>
${await freezeCard(deps, visit)}`,
  };
}

const amountText = ({ config }: DashboardDeps, network: NetworkKey, asset: Asset, units: bigint): string =>
  coinText(config.networks, network, asset, units);

const amount = (...of: Parameters<typeof amountText>): Html => data(amountText(...of));

const balanceTable = (
  deps: DashboardDeps,
  { nowMs, words }: Visit<null>,
  balances: readonly WalletBalance[],
  stale: (network: NetworkKey) => Html | null,
): Html =>
  table(
    words.say('frame.operator_wallets'),
    [
      words.say('general.network'),
      words.say('operator-wallets.wallet'),
      words.say('general.address'),
      words.say('operator-wallets.holds'),
      words.say('general.state'),
      words.say('operator-wallets.read'),
    ],
    balances.map(({ network, role, key, isFormer, units, low, readAtMs }) => {
      return [
        html`<a href="/operator/networks/${network}">${data(network)}</a>`,
        words.say(`operator-wallets.role_${role}`),
        shownOnChain(
          { config: deps.config, words },
          { network, kind: 'address', text: addressOf(deps, network, key) },
          'whole',
        ),
        data(
          (Object.entries(units) as [Asset, bigint][])
            .map(([asset, value]) => amountText(deps, network, asset, value))
            .join(', '),
        ),
        unreadMinutes(readAtMs, nowMs) !== null
          ? badge(words.say('operator-wallets.not_read'), 'danger')
          : isFormer
            ? badge(words.say('operator-wallets.former'), 'wait')
            : low.length > 0
              ? badge(words.say('general.low'), 'attention')
              : badge(words.say('operator-sources.enough'), 'good'),
        stale(network) ?? ago(words, readAtMs, nowMs),
      ];
    }),
    [3],
    undefined,
    [3, 4],
  );

const addressOf = ({ config }: DashboardDeps, network: NetworkKey, key: string): string => {
  const family = config.networks.find((one) => one.key === network)?.family;
  return family ? chains[family].address.format(key) : key;
};

/** The addresses of the gas wallets that pay now, each with a code for a phone's wallet. */
const gasCards = (deps: DashboardDeps, words: Words, balances: readonly WalletBalance[]): readonly Html[] =>
  balances
    .filter(({ role, isFormer }) => role === 'gas' && !isFormer)
    .map(({ network, key }) => {
      const address = addressOf(deps, network, key);
      return html`<details class="card"><summary>${words.html('operator-wallets.top_up', { network })}</summary>${qrSvg(address, words.say('operator-wallets.top_up_code'))}
<p>${copyCode(address)}</p><p class="hint">${words.say('operator-wallets.top_up_hint')}</p></details>`;
    });

/** Where sweeps go, as the signer has said. */
async function treasuryCard(deps: DashboardDeps, words: Words): Promise<Html | null> {
  const known = await Promise.all(
    deps.config.networks.map(async ({ key: network }) => {
      const own = await deps.database.listOwnWallets(network);
      const newest = own.findLast(({ role }) => role === 'treasury');
      return newest ? [{ network, text: addressOf(deps, network, newest.key) }] : [];
    }),
  );
  const treasuries = known.flat();
  if (treasuries.length === 0) return null;
  return html`<section class="card" aria-labelledby="treasury"><h2 id="treasury">${words.say('operator-wallets.treasury')}</h2>${facts(
    treasuries.map(({ network, text }) => [
      html`<code>${network}</code>`,
      shownOnChain({ config: deps.config, words }, { network, kind: 'address', text }, 'whole'),
    ]),
  )}<p class="hint">${words.say('operator-wallets.treasury_hint')}</p></section>`;
}

/** What the wallets of a network hold together, beside what the ledger expects. */
const bookTable = (
  deps: DashboardDeps,
  { words }: Visit<null>,
  balances: readonly WalletBalance[],
  books: readonly BookedWallet[],
): Html =>
  html`<h3>${words.say('operator-wallets.books')}</h3>${table(
    words.say('operator-wallets.books'),
    [
      words.say('general.network'),
      words.say('operator-wallets.coin'),
      words.say('operator-wallets.held_amount'),
      words.say('operator-wallets.books_least'),
      words.say('general.state'),
    ],
    books.map(({ network, asset, units, shortSinceMs }) => {
      const own = balances.filter((one) => one.network === network);
      const held = own.reduce((sum, one) => sum + (one.units[asset] ?? 0n), 0n);
      return [
        html`<code>${network}</code>`,
        asset === 'native' ? words.say('operator-wallets.native') : data(asset),
        amount(deps, network, asset, held),
        amount(deps, network, asset, units),
        shortSinceMs === null
          ? badge(words.say('operator-wallets.agrees'), 'good')
          : html`<span>${badge(words.say('operator-wallets.short'), 'attention')} <span class="hint">${words.html('operator-wallets.since', { time: time(shortSinceMs) })}</span></span>`,
      ];
    }),
    [2, 3],
    undefined,
    [2, 4],
  )}`;

async function unsweptTable(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { nowMs, words } = visit;
  const stale = await readStale(deps, visit);
  const levels = await deps.database.listUnswept();
  if (levels.length === 0) return html`<p class="card">${words.say('operator-wallets.nothing_unswept')}</p>`;
  return html`${table(
    words.say('operator-wallets.unswept'),
    [
      words.say('general.network'),
      words.say('operator-wallets.addresses'),
      words.say('operator-wallets.to_sweep'),
      words.say('operator-wallets.sweeping'),
      words.say('operator-wallets.read'),
    ],
    levels.map(({ network, currency, owners, units, openUnits, readAtMs }) => [
      html`<a href="/operator/networks/${network}">${data(network)}</a>`,
      String(owners),
      amount(deps, network, currency, units),
      amount(deps, network, currency, openUnits),
      stale(network) ?? ago(words, readAtMs, nowMs),
    ]),
    [1, 2, 3],
  )}<p class="hint">${words.html('operator-wallets.sweep_hint')}</p>`;
}

async function freezeCard(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database } = deps;
  const { words } = visit;
  const freezes = await database.listFreezes();
  return html`<section class="card" aria-labelledby="freeze"><h2 id="freeze">${words.say('operator-wallets.freeze')}</h2>${facts(
    [
      [
        words.say('general.state'),
        freezes.some(({ network }) => network === null)
          ? badge(words.say('operator-wallets.frozen'), 'danger')
          : badge(words.say('operator-wallets.not_frozen'), 'good'),
      ],
      ...freezes.map(
        (one) =>
          [
            one.network === null ? words.say('operator-wallets.every') : data(one.network),
            byBecause(words, one),
          ] as const,
      ),
    ],
  )}${await freezeForms(deps, visit, { network: null, path: PATH }, freezes)}
<h3>${words.say('operator-wallets.signer')}</h3><p class="hint">${words.say('operator-wallets.signer_hint')}</p><p><code data-copy>quayside-signer freeze --reason REASON</code></p></section>`;
}
