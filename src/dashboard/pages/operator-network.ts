/**
 * One network, for the operator: how far it is read and why it stops, its wallets, and the ways out. What only the
 * database decides (rewind, skip, freeze, thaw) is done at once, also while no indexer runs; the rest is an operation.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { NetworkConfig } from '../../config/network.ts';
import { otherNodes } from '../../core/operation.ts';
import type { Database, NetworkStatus } from '../../database/database.ts';
import { whyUnfollowed } from '../../database/network-health.ts';
import { REWOUND_TRANSFERS_MAX } from '../../database/recovery.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import { changeFields, commonChange, type Plan, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { actOf } from '../deps.ts';
import { askForm, askPath, BECAUSE_CHARS_MAX, becauseField, readBlock } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { ago, badge, facts, faultMessage, time } from '../show.ts';
import { operationTable } from './operations.ts';

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
  { database }: DashboardDeps,
  visit: Visit<null>,
  network: NetworkConfig,
  fault: string | null,
): Promise<Reply> {
  const status = (await database.listNetworks()).find((one) => one.network === network.key) ?? null;
  const operations = await database.listOperations({ network: network.key, limit: OPERATIONS_SHOWN }, visit.nowMs);
  return {
    title: `Network ${network.key}`,
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}${await reading(database, visit, network, status)}
${await moneyOut(database, visit, network)}
<section aria-labelledby="operations"><h2 id="operations">Newest operations</h2>${operationTable(operations)}</section>
${recovery(visit, network, status)}
<p><a href="/operator/networks">All networks</a></p>`,
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
  const number = (value: number | null | undefined) => (value == null ? '–' : String(value));
  return html`<section class="card" aria-labelledby="reading"><h2 id="reading">Reading</h2>${facts([
    ['State', why ? badge(why.code.replaceAll('_', ' '), 'danger') : badge(status?.state ?? 'not started', 'good')],
    ['Node', html`<code>${new URL(url).host}</code>`],
    // The head is reported once a second, and the cursor with every block.
    [
      'Head of the node',
      number(status?.headNumber == null ? null : Math.max(status.headNumber, status.cursor?.number ?? 0)),
    ],
    ['Read up to', number(status?.cursor?.number)],
    ['Final up to', number(status?.floor)],
    ['Heard', status ? ago(words, status.nodeHeardAtMs, nowMs) : 'never'],
    ...gaps.map(({ from, to, because }) => ['Skipped', `${from} to ${to}: ${because}`] as const),
  ])}${why ? html`<p class="message attention">${prose(why.message)}</p>` : null}</section>`;
}

async function moneyOut(database: Database, visit: Visit<null>, network: NetworkConfig): Promise<Html> {
  const { key, family } = network;
  const freezes = (await database.listFreezes()).filter((one) => one.network === key || one.network === null);
  const engine = (await database.listEngines()).find((one) => one.network === key);
  const lanes = (await database.haltedLanes()).filter((one) => one.network === key);
  const balances = (await database.listBalances()).filter((one) => one.network === key);
  const own = freezes.find((one) => one.network === key);
  const ask = (button: string, wish: Parameters<typeof askForm>[2]) =>
    askForm(visit, key, wish, { button, isPlain: true });
  return html`<section class="card" aria-labelledby="money"><h2 id="money">Money out</h2>${facts([
    ['State', freezes.length > 0 ? badge('frozen', 'danger') : badge('pays', 'good')],
    ...freezes.map(
      (one) => ['Freeze', `${one.network ?? 'every network'}, by ${one.frozenBy}: ${one.reason}`] as const,
    ),
    ...(engine?.reason && freezes.length === 0 && engine.reason.code !== 'payouts_frozen'
      ? [['Engine', prose(engine.reason.message)] as const]
      : []),
    ...lanes.map(
      ({ payer, message }) =>
        ['Halted wallet', html`<code>${chains[family].address.format(payer)}</code> ${message}`] as const,
    ),
    ...balances.map(
      ({ role, isFormer, units, low, readAtMs }) =>
        [
          isFormer ? `Former ${role} wallet` : `${role === 'gas' ? 'Gas' : 'Refund'} wallet`,
          html`${Object.entries(units).map(([asset, amount]) => html`${coinText([network], key, asset as 'native', amount)}${low.includes(asset as 'native') ? html` ${badge('low', 'attention')}` : null}, `)}read ${ago(visit.words, readAtMs, visit.nowMs)}`,
        ] as const,
    ),
  ])}
<form method="post" action="${askPath(key)}">${changeFields(visit)}<input type="hidden" name="kind" value="sweep_plan">
<label>Amounts from <input name="min" inputmode="decimal" autocomplete="off" maxlength="16" placeholder="as in the settings"></label><button class="plain">Plan sweeps</button></form>
${lanes.length > 0 ? ask('Check what stopped the wallets', { kind: 'resume_wallets', isCheck: true, accepted: null }) : null}
${engine?.reason?.code === 'payouts_not_adopted' ? ask('Adopt what the signer has signed…', { kind: 'adopt' }) : null}
${own ? null : html`<form method="post" action="${pathOf(network)}/freeze">${changeFields(visit)}${becauseField}<button class="plain">Freeze ${key}…</button></form>`}
${own ? html`<form method="post" action="${pathOf(network)}/thaw">${changeFields(visit)}${becauseField}<button class="plain">End the freeze of ${key}…</button></form>` : null}
</section>`;
}

const block = (label: string, name: string): Html =>
  html`<label>${label} <input name="${name}" inputmode="numeric" autocomplete="off" maxlength="15" required></label>`;

/** Only nodes that the settings name: whoever could name any here could show payments that nobody made. */
function nodeField({ witnessUrl, fallbackUrl }: NetworkConfig): Html | null {
  const known = { witness: witnessUrl, fallback: fallbackUrl };
  const others = otherNodes.filter((one) => known[one] !== undefined);
  if (others.length === 0) return null;
  return html`<label>Node <select name="node"><option value="">the usual one</option>${others.map(
    (one) => html`<option value="${one}">${one}_url of the settings</option>`,
  )}</select></label>`;
}

function recovery(visit: Visit<null>, network: NetworkConfig, status: NetworkStatus | null): Html {
  const path = pathOf(network);
  const next = (status?.cursor?.number ?? -1) + 1;
  return html`<details class="card"><summary>Ways out when reading stops</summary>
<form method="post" action="${askPath(network.key)}" aria-labelledby="reread"><h3 id="reread">Read blocks again</h3>${changeFields(visit)}
<p class="hint">For a payment that was missed, or blocks that were skipped. It is only compared first.</p>
<input type="hidden" name="kind" value="reread"><input type="hidden" name="check" value="yes">
${block('First block', 'from')}${block('Last block', 'to')}${nodeField(network)}<button class="plain">Compare</button></form>
<form method="post" action="${path}/rewind" aria-labelledby="rewind"><h3 id="rewind">Rewind</h3>${changeFields(visit)}
<p class="hint">For a chain that replaced blocks which counted as final. They are taken out, and read again.</p>
${block('Newest block to keep', 'to')}${becauseField}<button class="plain">Go on</button></form>
<form method="post" action="${path}/skip" aria-labelledby="skip"><h3 id="skip">Skip blocks</h3>${changeFields(visit)}
<p class="hint">For a block that no node can serve: payments in it are not seen until it was read again. The next one is ${String(next)}.</p>
${block('First block', 'from')}${block('Last block', 'to')}${becauseField}<button class="plain">Go on</button></form>
</details>`;
}

type Steps = Readonly<{ back(fault: string): Promise<Reply>; reason: string }>;

/** Reads the reason of a form; null, with the page's answer, if there is none. */
const stepsOf = (deps: DashboardDeps, visit: Visit<null>, network: NetworkConfig): Steps => ({
  back: (fault) => page(deps, visit, network, fault),
  reason: (visit.form.because ?? '').trim().slice(0, BECAUSE_CHARS_MAX),
});

const NO_REASON = 'Say why, for the audit log.';

/** What every act of this page confirms, and where it leads. */
const confirmed = (
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
      ['Network', html`<code>${network.key}</code>`],
      ['Reason', reason],
    ])}${consequence}`,
    button,
    back: pathOf(network),
    needsSudo,
    isDangerous: true,
  },
});

const plans: Readonly<Record<Act, PlanOf>> = {
  async rewind(deps, visit, network) {
    const { back, reason } = stepsOf(deps, visit, network);
    const to = readBlock(visit.form.to);
    if (to === null || reason === '') return back('Name the newest block to keep, and say why.');
    const act = actOf(visit.visitor.person, 'networks rewind', deps.clock);
    const tried = await deps.database.rewindNetwork({ network: network.key, to, isDryRun: true, act });
    if (tried.kind !== 'done') return back(whyNotRewound(network, to, tried));
    return {
      ...confirmed(network, reason, {
        command: 'networks rewind',
        title: `Rewind to block ${to}?`,
        button: 'Rewind',
        consequence: html`<p>${tried.blocks} blocks are taken out, with ${tried.transfers} transfers to our addresses, ${tried.credited} of
them credited: those payments are reversed, and count again when their blocks are read again.</p>${
          tried.sessions.length > 0
            ? html`<p>Payments: ${tried.sessions.slice(0, SESSIONS_SHOWN).map((id) => html`<code>${id}</code> `)}${tried.sessions.length > SESSIONS_SHOWN ? 'and more' : null}</p>`
            : null
        }`,
        needsSudo: true,
      }),
      async act(database, own) {
        const done = await database.rewindNetwork({ network: network.key, to, isDryRun: false, act: own });
        if (done.kind !== 'done') return back(whyNotRewound(network, to, done));
        return { to: pathOf(network), said: `${done.blocks} blocks were taken out; they are read again.` };
      },
    };
  },
  async skip(deps, visit, network) {
    const { back, reason } = stepsOf(deps, visit, network);
    const [from, to] = [readBlock(visit.form.from), readBlock(visit.form.to)];
    if (from === null || to === null || to < from || reason === '') return back('Name the blocks, and say why.');
    const range = { network: network.key, from, to };
    const act = actOf(visit.visitor.person, 'networks skip', deps.clock);
    const tried = await deps.database.skipBlocks({ ...range, isDryRun: true, act });
    if (tried.kind !== 'done') return back(whyNotSkipped(network, from, to, tried));
    return {
      ...confirmed(network, reason, {
        command: 'networks skip',
        title: `Skip ${to - from + 1} blocks?`,
        button: 'Skip them',
        consequence: html`<p>Blocks ${String(from)} to ${String(to)} are not read: payments in them are not seen, until they were read again.
First try another node.</p>`,
        needsSudo: true,
      }),
      async act(database, own) {
        const done = await database.skipBlocks({ ...range, isDryRun: false, act: own });
        if (done.kind !== 'done') return back(whyNotSkipped(network, from, to, done));
        return { to: pathOf(network), said: 'They are skipped. Read them again once a node has them.' };
      },
    };
  },
  async freeze(deps, visit, network) {
    const { back, reason } = stepsOf(deps, visit, network);
    if (reason === '') return back(NO_REASON);
    return {
      ...confirmed(network, reason, {
        command: 'payouts freeze',
        title: `Freeze money out on ${network.key}?`,
        button: 'Freeze it',
        consequence: html`<p>Nothing is signed or sent on this network until the freeze is ended. What nodes have already is watched to its
end. The signer goes on for whoever has its socket.</p>`,
        needsSudo: false,
      }),
      async act(database, act) {
        const freeze = {
          network: network.key,
          code: 'payouts_frozen',
          reason,
          frozenBy: act.operator,
          sinceMs: act.atMs,
        };
        const isNew = await database.freezePayouts(freeze, act);
        return { to: pathOf(network), said: isNew ? 'Money out is frozen.' : 'It was frozen already.' };
      },
    };
  },
  async thaw(deps, visit, network) {
    const { back, reason } = stepsOf(deps, visit, network);
    const freeze = (await deps.database.listFreezes()).find((one) => one.network === network.key);
    if (!freeze) return back(`${network.key} has no freeze of its own.`);
    if (reason === '') return back(NO_REASON);
    return {
      ...confirmed(network, reason, {
        command: 'payouts thaw',
        title: `End the freeze of ${network.key}?`,
        button: 'End the freeze',
        consequence: html`${facts([
          ['Frozen by', freeze.frozenBy],
          ['Because', freeze.reason],
          ['Since', time(freeze.sinceMs)],
        ])}<p>Payouts that wait are signed and sent again.</p>`,
        needsSudo: true,
      }),
      async act(database, act) {
        const ended = await database.thawPayouts(network.key, act);
        return { to: pathOf(network), said: ended ? 'The freeze is ended.' : 'It was ended already.' };
      },
    };
  },
};

type NotRewound = Exclude<Awaited<ReturnType<Database['rewindNetwork']>>, { kind: 'done' }>;

function whyNotRewound({ key }: NetworkConfig, to: number, outcome: NotRewound): string {
  if (outcome.kind === 'never_read') return `${key} has not been read yet.`;
  if (outcome.kind === 'not_above')
    return `Block ${outcome.tip} is the newest that was read; there is nothing above ${to}.`;
  return `There are ${outcome.transfers} transfers above block ${to}, more than the ${REWOUND_TRANSFERS_MAX} of one rewind: name a higher block first.`;
}

type NotSkipped = Exclude<Awaited<ReturnType<Database['skipBlocks']>>, { kind: 'done' }>;

function whyNotSkipped({ key }: NetworkConfig, from: number, to: number, outcome: NotSkipped): string {
  if (outcome.kind === 'never_read') return `${key} has not been read yet.`;
  if (outcome.kind === 'read_already') return `Block ${from} was read already: the next one is ${outcome.tip + 1}.`;
  return `The node shows no block above ${outcome.head ?? 'none'}, so block ${to} may not be made yet.`;
}
