/**
 * One network, for the operator: how far it is read and why it stops, its wallets, and the ways out. What only the
 * database decides (rewind, skip, freeze, thaw) is done at once, also while no indexer runs; the rest is an operation.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { NetworkConfig } from '../../config/network.ts';
import type { Asset } from '../../core/ledger.ts';
import { otherNodes } from '../../core/operation.ts';
import type { Database, NetworkStatus } from '../../database/database.ts';
import type { Freeze } from '../../database/freezes.ts';
import type { WalletBalance } from '../../database/money-out.ts';
import { staleSinceMs, whyUnfollowed } from '../../database/network-health.ts';
import { REWOUND_TRANSFERS_MAX } from '../../database/recovery.ts';
import { type Html, html } from '../../lib/html.ts';
import { changeFields, commonChange, type Plan, type Planned } from '../change.ts';
import { actOf, type DashboardDeps } from '../deps.ts';
import { lagChart } from '../lag-chart.ts';
import { askForm, askPath, BECAUSE_CHARS_MAX, becauseField, readBlock } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, data, english, facts, faultMessage } from '../show.ts';
import type { Words } from '../texts.ts';
import { freezeForms, planFreeze, planThaw, signerFrozen } from './freezes.ts';
import { operationTable } from './operations.ts';
import { figure, heardAgo, networkState } from './operator.ts';

const OPERATIONS_SHOWN = 5;
const SESSIONS_SHOWN = 20;

const pathOf = ({ key }: NetworkConfig): string => `/operator/networks/${key}`;

type Act = 'rewind' | 'skip' | 'freeze' | 'thaw';
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
  const status = (await database.listNetworks()).find((one) => one.network === network.key) ?? null;
  const operations = await database.listOperations({ network: network.key, limit: OPERATIONS_SHOWN }, visit.nowMs);
  return {
    title: words.say('operator-network.title', { network: network.key }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${await reading(database, visit, network, status)}
${await lagChart(deps, visit, network.key)}
${await moneyOut(deps, visit, network, whyUnfollowed(status, visit.nowMs) === null)}
<section aria-labelledby="operations"><h2 id="operations">${words.say('operator-network.operations')}</h2>${operationTable(words, operations)}</section>
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
  const gaps = status ? (await database.listGaps(key)).filter(({ closedAtMs }) => closedAtMs === null) : [];
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
${moneyForms(visit, network, {
  hasLanes: lanes.length > 0,
  isUnadopted: engine?.reason?.code === 'payouts_not_adopted',
})}
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
      html`${data(coinText([network], network.key, asset, amount))}${low.includes(asset) ? html` ${badge(words.say('operator-sources.low'), 'attention')}` : null}, `,
  );
  return html`${amounts}${words.html('operator-network.read_ago', { ago: ago(words, readAtMs, nowMs) })}`;
}

function moneyForms(
  visit: Visit<null>,
  network: NetworkConfig,
  { hasLanes, isUnadopted }: Readonly<Record<'hasLanes' | 'isUnadopted', boolean>>,
): Html {
  const { words } = visit;
  const { key } = network;
  const ask = (button: string, wish: Parameters<typeof askForm>[2]) =>
    askForm(visit, key, wish, { button, isPlain: true });
  return html`<form method="post" action="${askPath(key)}">${changeFields(visit)}<input type="hidden" name="kind" value="sweep_plan">
<label>${words.say('operator-network.amounts_from')} <input name="min" inputmode="decimal" autocomplete="off" maxlength="16" placeholder="${words.say('operator-network.as_settings')}"></label><button class="plain">${words.say('operation-form.plan_sweeps')}</button></form>
${hasLanes ? ask(words.say('operation-form.resume_check'), { kind: 'resume_wallets', isCheck: true, accepted: null }) : null}
${isUnadopted ? ask(`${words.say('operation-form.adopt')}…`, { kind: 'adopt' }) : null}`;
}

const block = (label: string, name: string): Html =>
  html`<label>${label} <input name="${name}" inputmode="numeric" autocomplete="off" maxlength="15" required></label>`;

/** Only nodes that the settings name: whoever could name any here could show payments that nobody made. */
function nodeField(words: Words, { witnessUrl, fallbackUrl }: NetworkConfig): Html | null {
  const known = { witness: witnessUrl, fallback: fallbackUrl };
  const others = otherNodes.filter((one) => known[one] !== undefined);
  if (others.length === 0) return null;
  return html`<label>${words.say('operator-network.node')} <select name="node"><option value="">${words.say('operator-network.usual_node')}</option>${others.map(
    (one) => html`<option value="${one}">${words.say('operator-network.other_node', { name: `${one}_url` })}</option>`,
  )}</select></label>`;
}

/** Offers only what fits the network's state: without a node that answers, nothing does. */
function recovery(visit: Visit<null>, network: NetworkConfig, status: NetworkStatus | null): Html {
  const { words, nowMs } = visit;
  if (!status || staleSinceMs(status, nowMs) !== null) {
    const command = html`<code>quayside node check ${network.key}</code>`;
    return html`<p class="card">${words.html('operator-network.no_way_out', { command })}</p>`;
  }
  const path = pathOf(network);
  const first = words.say('operator-network.first_block');
  const last = words.say('operator-network.last_block');
  const next = (status.cursor?.number ?? -1) + 1;
  const isStopped = status.state === 'fault' || status.state === 'halted';
  const rewind = html`<form method="post" action="${path}/rewind" aria-labelledby="rewind"><h3 id="rewind">${words.say('operator-network.rewind')}</h3>${changeFields(visit)}
<p class="hint">${words.say('operator-network.rewind_hint')}</p>
${block(words.say('operator-network.keep_block'), 'to')}${becauseField(words)}<button class="plain">${words.say('frame.go_on')}</button></form>`;
  const skip = html`<form method="post" action="${path}/skip" aria-labelledby="skip"><h3 id="skip">${words.say('operator-network.skip')}</h3>${changeFields(visit)}
<p class="hint">${words.say('operator-network.skip_hint', { next })}</p>
${block(first, 'from')}${block(last, 'to')}${becauseField(words)}<button class="plain">${words.say('frame.go_on')}</button></form>`;
  return html`<details class="card"><summary>${words.say('operator-network.ways_out')}</summary>
<form method="post" action="${askPath(network.key)}" aria-labelledby="reread"><h3 id="reread">${words.say('operation-form.reread')}</h3>${changeFields(visit)}
<p class="hint">${words.say('operator-network.reread_hint')}</p>
<input type="hidden" name="kind" value="reread"><input type="hidden" name="check" value="yes">
${block(first, 'from')}${block(last, 'to')}${nodeField(words, network)}<button class="plain">${words.say('operator-network.compare')}</button></form>
${status.state === 'halted' ? rewind : null}${isStopped ? skip : null}
</details>`;
}

type Steps = Readonly<{ back(fault: string): Promise<Reply>; reason: string }>;

/** Reads the reason of a form; null, with the page's answer, if there is none. */
const stepsOf = (deps: DashboardDeps, visit: Visit<null>, network: NetworkConfig): Steps => ({
  back: (fault) => page(deps, visit, network, fault),
  reason: (visit.form.because ?? '').trim().slice(0, BECAUSE_CHARS_MAX),
});

const scopeOf = (deps: DashboardDeps, visit: Visit<null>, network: NetworkConfig) => ({
  network: network.key,
  path: pathOf(network),
  back: stepsOf(deps, visit, network).back,
});

/** What rewinding and skipping confirm, and where they lead. */
const confirmed = (
  words: Words,
  network: NetworkConfig,
  reason: string,
  {
    command,
    title,
    button,
    consequence,
    needsSudo,
  }: Readonly<Record<'command' | 'title' | 'button', string>> & Readonly<{ consequence: Html; needsSudo: boolean }>,
): Omit<Plan, 'act'> => ({
  command,
  target: network.key,
  reason,
  review: {
    title,
    consequence: html`${facts([
      [words.say('general.network'), html`<code>${network.key}</code>`],
      [words.say('general.reason'), data(reason)],
    ])}${consequence}`,
    button,
    back: pathOf(network),
    needsSudo,
    isDangerous: true,
  },
});

const plans: Readonly<Record<Act, PlanOf>> = {
  async rewind(deps, visit, network) {
    const { words } = visit;
    const { back, reason } = stepsOf(deps, visit, network);
    const to = readBlock(visit.form.to);
    if (to === null || reason === '') return back(words.say('operator-network.rewind_missing'));
    const act = actOf(visit.visitor.person, 'networks rewind', deps.clock);
    const tried = await deps.database.rewindNetwork({ network: network.key, to, isDryRun: true, act });
    if (tried.kind !== 'done') return back(whyNotRewound(words, network, to, tried));
    return {
      ...confirmed(words, network, reason, {
        command: 'networks rewind',
        title: words.say('operator-network.rewind_title', { block: to }),
        button: words.say('operator-network.rewind'),
        consequence: html`<p>${words.html('operator-network.rewind_text', {
          blocks: tried.blocks,
          transfers: tried.transfers,
          credited: tried.credited,
        })}</p>${tried.sessions.length > 0 ? html`<p>${paymentsText(words, tried.sessions)}</p>` : null}`,
        needsSudo: true,
      }),
      async act(database, own) {
        const done = await database.rewindNetwork({ network: network.key, to, isDryRun: false, act: own });
        if (done.kind !== 'done') return back(whyNotRewound(words, network, to, done));
        return { to: pathOf(network), said: words.say('operator-network.rewound', { count: done.blocks }) };
      },
    };
  },
  async skip(deps, visit, network) {
    const { words } = visit;
    const { back, reason } = stepsOf(deps, visit, network);
    const [from, to] = [readBlock(visit.form.from), readBlock(visit.form.to)];
    if (from === null || to === null || to < from || reason === '')
      return back(words.say('operator-network.skip_missing'));
    const range = { network: network.key, from, to };
    const act = actOf(visit.visitor.person, 'networks skip', deps.clock);
    const tried = await deps.database.skipBlocks({ ...range, isDryRun: true, act });
    if (tried.kind !== 'done') return back(whyNotSkipped(words, network, from, to, tried));
    return {
      ...confirmed(words, network, reason, {
        command: 'networks skip',
        title: words.say('operator-network.skip_title', { count: to - from + 1 }),
        button: words.say('operator-network.skip_button'),
        consequence: html`<p>${words.html('operator-network.skip_text', { from, to })}</p>`,
        needsSudo: true,
      }),
      async act(database, own) {
        const done = await database.skipBlocks({ ...range, isDryRun: false, act: own });
        if (done.kind !== 'done') return back(whyNotSkipped(words, network, from, to, done));
        return { to: pathOf(network), said: words.say('operator-network.is_skipped') };
      },
    };
  },
  freeze: (deps, visit, network) => planFreeze(visit, scopeOf(deps, visit, network)),
  thaw: (deps, visit, network) => planThaw(deps, visit, scopeOf(deps, visit, network)),
};

type NotRewound = Exclude<Awaited<ReturnType<Database['rewindNetwork']>>, { kind: 'done' }>;

function whyNotRewound(words: Words, { key }: NetworkConfig, to: number, outcome: NotRewound): string {
  switch (outcome.kind) {
    case 'never_read':
      return words.say('operator-network.never_read', { network: key });
    case 'not_above':
      return words.say('operator-network.not_above', { tip: outcome.tip, to });
    default:
      return words.say('operator-network.too_many_transfers', {
        count: outcome.transfers,
        to,
        max: REWOUND_TRANSFERS_MAX,
      });
  }
}

type NotSkipped = Exclude<Awaited<ReturnType<Database['skipBlocks']>>, { kind: 'done' }>;

function whyNotSkipped(words: Words, { key }: NetworkConfig, from: number, to: number, outcome: NotSkipped): string {
  switch (outcome.kind) {
    case 'never_read':
      return words.say('operator-network.never_read', { network: key });
    case 'read_already':
      return words.say('operator-network.read_already', { from, next: outcome.tip + 1 });
    default:
      return words.say('operator-network.not_made', { head: outcome.head ?? '–', to });
  }
}

/** Names the payments that a rewind reverses. */
const paymentsText = (words: Words, sessions: readonly string[]): Html =>
  words.html(sessions.length > SESSIONS_SHOWN ? 'operator-network.payments_more' : 'operator-network.payments', {
    ids: html`${sessions.slice(0, SESSIONS_SHOWN).map((id) => html`<code>${id}</code> `)}`,
  });
