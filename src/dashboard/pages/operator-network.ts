/**
 * One network, for the operator: how far it is read and why it stops, its wallets, the commands that are ways out, and
 * the freeze of its payouts.
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { NetworkConfig } from '../../config/network.ts';
import type { Asset } from '../../core/ledger.ts';
import type { Database, NetworkStatus } from '../../database/database.ts';
import type { Freeze } from '../../database/freezes.ts';
import type { WalletBalance } from '../../database/money-out.ts';
import { staleSinceMs, whyUnfollowed } from '../../database/network-health.ts';
import { type Html, html } from '../../lib/html.ts';
import { commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { lagChart } from '../lag-chart.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, data, english, facts, faultMessage } from '../show.ts';
import type { Words } from '../texts.ts';
import { freezeForms, planFreeze, planThaw, signerFrozen } from './freezes.ts';
import { figure, heardAgo, networkState } from './operator.ts';

const pathOf = ({ key }: NetworkConfig): string => `/operator/networks/${key}`;

type Act = 'freeze' | 'thaw';
type PlanOf = (deps: DashboardDeps, visit: Visit<null>, network: NetworkConfig) => Promise<Planned>;

export const operatorNetworkPages = (deps: DashboardDeps): readonly CommonPage[] => {
  const networkOf = ({ params }: Visit<null>) => deps.config.networks.find(({ key }) => key === params.network);
  return [
    {
      method: 'get',
      path: '/operator/networks/:network',
      needs: 'installation:read',
      async answer(visit) {
        const network = networkOf(visit);
        return network ? page(deps, visit, network, null) : null;
      },
    },
    ...(Object.entries(plans) as [Act, PlanOf][]).map(([act, planOf]) =>
      commonChange(deps, {
        path: `/operator/networks/:network/${act}`,
        needs: 'installation:manage',
        async plan(visit) {
          const network = networkOf(visit);
          return network ? planOf(deps, visit, network) : null;
        },
      }),
    ),
  ];
};

async function page(
  deps: DashboardDeps,
  visit: Visit<null>,
  network: NetworkConfig,
  fault: string | null,
): Promise<Reply> {
  const { database } = deps;
  const { words } = visit;
  const status = (await database.networks.list()).find((one) => one.network === network.key) ?? null;
  return {
    title: words.say('operator-network.title', { network: network.key }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${await reading(database, visit, network, status)}
${await lagChart(deps, visit, network.key)}
${await moneyOut(deps, visit, network, whyUnfollowed(status, visit.nowMs) === null)}
${recovery(visit, network, status)}
<p><a href="/operator/networks">${words.say('operator-network.all')}</a></p>`,
  };
}

async function reading(
  database: Database,
  { nowMs, words }: Visit<null>,
  { key, url }: NetworkConfig,
  status: NetworkStatus | null,
): Promise<Html> {
  const why = whyUnfollowed(status, nowMs);
  const gaps = status ? (await database.networks.listGaps(key)).filter(({ closedAtMs }) => closedAtMs === null) : [];
  const number = (value: number | null | undefined) => figure(words, value, status, nowMs);
  return html`<section class="card" aria-labelledby="reading"><h2 id="reading">${words.say('operator-network.reading')}</h2>${facts(
    [
      [
        words.say('general.state'),
        why || !status ? badge(html`<code>${why?.code ?? ''}</code>`, 'danger') : networkState(words, status),
      ],
      [words.say('operator-network.node'), html`<code>${new URL(url).host}</code>`],
      // The head is reported once a second, and the cursor with every block.
      [
        words.say('operator-network.head'),
        number(status?.headNumber == null ? null : Math.max(status.headNumber, status.cursor?.number ?? 0)),
      ],
      [words.say('operator-network.read_to'), number(status?.cursor?.number)],
      [words.say('operator-network.final_to'), number(status?.floor)],
      [words.say('operator.heard'), heardAgo(words, status, nowMs)],
      ...gaps.map(
        ({ from, to, because }) =>
          [
            words.say('operator-network.skipped'),
            words.html('operator-network.skipped_range', { from, to, reason: because }),
          ] as const,
      ),
    ],
  )}${why ? html`<p class="message attention">${english(why.message)}</p>` : null}</section>`;
}

/** @param isFollowed whether the network is read: nothing is paid out on one that is not */
async function moneyOut(
  deps: DashboardDeps,
  visit: Visit<null>,
  network: NetworkConfig,
  isFollowed: boolean,
): Promise<Html> {
  const { database } = deps;
  const { words } = visit;
  const { key, family } = network;
  const freezes = (await database.listFreezes()).filter((one) => one.network === key || one.network === null);
  const engine = (await database.listEngines()).find((one) => one.network === key);
  const lanes = (await database.haltedLanes()).filter((one) => one.network === key);
  const balances = (await database.listBalances()).filter((one) => one.network === key);
  const signer = signerFrozen(words, engine ? [engine] : []);
  return html`<section class="card" aria-labelledby="money"><h2 id="money">${words.say('operator-network.money_out')}</h2>${signer}${facts(
    [
      [
        words.say('general.state'),
        freezes.length > 0 || signer
          ? badge(words.say('operator-wallets.frozen'), 'danger')
          : isFollowed && !engine?.reason && lanes.length === 0
            ? badge(words.say('operator-network.pays'), 'good')
            : badge(words.say('operator-network.pays_not'), 'attention'),
      ],
      ...freezes.map((one) => [words.say('operator-network.freeze'), freezeText(words, one)] as const),
      ...(engine?.reason && freezes.length === 0 && engine.reason.code !== 'payouts_frozen'
        ? [[words.say('operator-network.engine'), english(engine.reason.message)] as const]
        : []),
      ...lanes.map(
        ({ payer, message }) =>
          [
            words.say('operator-network.halted'),
            html`<code>${chains[family].address.format(payer)}</code> ${english(message)}`,
          ] as const,
      ),
      ...balances.map((one) => [walletName(words, one), balanceText(visit, network, one)] as const),
    ],
  )}
${await freezeForms(deps, visit, { network: key, path: pathOf(network) }, freezes)}
</section>`;
}

const freezeText = (words: Words, { network, frozenBy, reason }: Freeze): Html =>
  words.html('operator-network.freeze_of', {
    network: network ?? html`${words.say('operator-wallets.every')}`,
    person: frozenBy,
    reason,
  });

const walletName = (words: Words, { role, isFormer }: WalletBalance): string =>
  isFormer ? words.say(`operator-network.former_${role}`) : words.say(`operator-network.wallet_${role}`);

function balanceText({ words, nowMs }: Visit<null>, network: NetworkConfig, balance: WalletBalance): Html {
  const { units, low, readAtMs } = balance;
  const amounts = (Object.entries(units) as [Asset, bigint][]).map(
    ([asset, amount]) =>
      html`${data(coinText([network], network.key, asset, amount))}${low.includes(asset) ? html` ${badge(words.say('general.low'), 'attention')}` : null}, `,
  );
  return html`${amounts}${words.html('operator-network.read_ago', { ago: ago(words, readAtMs, nowMs) })}`;
}

/** Shows the commands that fit the network's state: without a node that answers, none does. */
function recovery({ words, nowMs }: Visit<null>, { key }: NetworkConfig, status: NetworkStatus | null): Html {
  if (!status || staleSinceMs(status, nowMs) !== null) {
    const command = html`<code>quayside network check ${key}</code>`;
    return html`<p class="card">${words.html('operator-network.no_way_out', { command })}</p>`;
  }
  const next = (status.cursor?.number ?? -1) + 1;
  const isStopped = status.state === 'fault' || status.state === 'halted';
  const way = (title: string, hint: string, command: string) =>
    html`<h3>${title}</h3><p class="hint">${hint}</p><p><code data-copy>quayside network ${command}</code></p>`;
  const reread = way(
    words.say('operator-network.reread'),
    words.say('operator-network.reread_hint'),
    `reread ${key} --from BLOCK --to BLOCK --check`,
  );
  const rewind = way(
    words.say('operator-network.rewind'),
    words.say('operator-network.rewind_hint'),
    `rewind ${key} --to BLOCK --reason REASON`,
  );
  const skip = way(
    words.say('operator-network.skip'),
    words.say('operator-network.skip_hint', { next }),
    `skip ${key} ${next} --reason REASON`,
  );
  return html`<details class="card"><summary>${words.say('operator-network.ways_out')}</summary>${reread}${
    status.state === 'halted' ? rewind : null
  }${isStopped ? skip : null}</details>`;
}

const scopeOf = (deps: DashboardDeps, visit: Visit<null>, network: NetworkConfig) => ({
  network: network.key,
  path: pathOf(network),
  back: (fault: string) => page(deps, visit, network, fault),
});

const plans: Readonly<Record<Act, PlanOf>> = {
  freeze: (deps, visit, network) => planFreeze(visit, scopeOf(deps, visit, network)),
  thaw: (deps, visit, network) => planThaw(deps, visit, scopeOf(deps, visit, network)),
};
