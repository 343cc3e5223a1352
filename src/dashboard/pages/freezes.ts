/**
 * Freezes of money out, of one network or of every network: who froze it and why, a form for each, and for one more.
 */
import { REASON_CHARS_MAX } from '../../acts/act.ts';
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import { FROZEN_BY_OPERATOR, type Freeze, OUTFLOW_FOREIGN } from '../../database/freezes.ts';
import type { PayoutEngine } from '../../database/money-out.ts';
import type { OutgoingRecord } from '../../database/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { becauseField } from '../because.ts';
import { changeFields, type Plan, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import type { Reply, Visit } from '../page.ts';
import { badge, data, facts, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

/** What is frozen (null: every network), and on which page. */
export type FreezeScope = Readonly<{
  network: NetworkKey | null;
  path: string;
  /** Returns the page with what is wrong with the form. */
  back(fault: string): Promise<Reply>;
}>;

/** Says that the signer itself is frozen, as the engines have last seen it, and what ends that; null if it is not. */
export function signerFrozen(words: Words, engines: readonly Pick<PayoutEngine, 'signerFreeze'>[]): Html | null {
  const freeze = engines.flatMap(({ signerFreeze }) => signerFreeze ?? []).at(0);
  if (!freeze) return null;
  const since = { person: freeze.frozenBy, reason: freeze.reason, time: time(freeze.frozenAtMs) };
  return html`<p class="message attention">${badge(words.say('operator-wallets.signer_frozen'), 'danger')} ${words.html('operator-wallets.signer_since', since)} ${words.html('operator-wallets.signer_way_out')}</p>`;
}

/** Transfers that one confirmation shows and acknowledges. */
const ACKNOWLEDGED_MAX = 100;

/** Returns the transfers that the end of a freeze acknowledges. */
const foreignOf = async ({ database }: DashboardDeps, { network, code }: Freeze): Promise<readonly OutgoingRecord[]> =>
  network && code === OUTFLOW_FOREIGN ? database.listForeign(network, ACKNOWLEDGED_MAX) : [];

/** Shows what the end of a freeze acknowledges, and what that means. */
function foreignTable(deps: DashboardDeps, { words }: Visit<null>, foreign: readonly OutgoingRecord[]): Html | null {
  if (foreign.length === 0) return null;
  const { config } = deps;
  const rows = foreign.map(({ network, tx, to, currency, units }) => {
    const family = config.networks.find(({ key }) => key === network)?.family;
    const address = family ? chains[family].address.format(to) : to;
    return [
      shownOnChain({ config, words }, { network, kind: 'tx', text: tx }),
      data(coinText(config.networks, network, currency, units)),
      shownOnChain({ config, words }, { network, kind: 'address', text: address }),
    ];
  });
  const heads = ['operator-payouts.transaction', 'operator-payouts.amount', 'general.address'] as const;
  return html`${table(
    words.say('operator-payouts.transaction'),
    heads.map((key) => words.say(key)),
    rows,
  )}<p class="hint">${words.html('operator-network.acknowledges')}</p>`;
}

/** The forms that end what is frozen, one for each freeze, and the one that freezes it unless an operator has. */
export async function freezeForms(
  deps: DashboardDeps,
  visit: Visit<null>,
  { network, path }: Omit<FreezeScope, 'back'>,
  freezes: readonly Freeze[],
): Promise<Html> {
  const { words } = visit;
  const own = await Promise.all(
    freezes
      .filter((one) => one.network === network)
      .map(async (freeze) => ({ freeze, through: (await foreignOf(deps, freeze)).at(-1)?.id })),
  );
  const form = (act: 'freeze' | 'thaw', content: Html | null, button: string) =>
    html`<form method="post" action="${path}/${act}">${changeFields(visit)}${content}${becauseField(words)}<button class="plain">${button}…</button></form>`;
  const [freeze, thaw] =
    network === null
      ? [words.say('operator-wallets.freeze_all'), words.say('operator-wallets.end_freeze')]
      : [words.say('operator-network.freeze_one', { network }), words.say('operator-network.thaw_one', { network })];
  return html`${own.map(({ freeze: one, through }) =>
    form(
      'thaw',
      html`<input type="hidden" name="cause" value="${one.code}">${
        through === undefined ? null : html`<input type="hidden" name="through" value="${String(through)}">`
      }${own.length > 1 ? html`<p>${byBecause(words, one)}</p>` : null}`,
      thaw,
    ),
  )}${own.some(({ freeze: { code } }) => code === FROZEN_BY_OPERATOR) ? null : form('freeze', null, freeze)}`;
}

/** Who froze it, and why. */
export const byBecause = (words: Words, { frozenBy, reason }: Freeze): Html =>
  words.html('operator-wallets.by_because', { person: frozenBy, reason });

const reasonOf = ({ form }: Visit<null>): string => (form.because ?? '').trim().slice(0, REASON_CHARS_MAX);

/** What is confirmed for both. */
const confirmed = (
  { words }: Visit<null>,
  { network, path }: FreezeScope,
  reason: string,
  { consequence, ...review }: Pick<NonNullable<Plan['review']>, 'title' | 'consequence' | 'button' | 'needsSudo'>,
): Pick<Plan, 'target' | 'reason' | 'review'> => ({
  target: network ?? 'every network',
  reason,
  review: {
    ...review,
    consequence: html`${facts([
      [
        words.say('general.network'),
        network === null ? words.say('operator-wallets.every') : html`<code>${network}</code>`,
      ],
      [words.say('general.reason'), data(reason)],
    ])}${consequence}`,
    back: path,
    isDangerous: true,
  },
});

export async function planFreeze(visit: Visit<null>, scope: FreezeScope): Promise<Planned> {
  const { words } = visit;
  const { network, path } = scope;
  const reason = reasonOf(visit);
  if (reason === '') return scope.back(words.say('change.no_reason'));
  const [title, text] =
    network === null
      ? [words.say('operator-wallets.freeze_title'), words.say('operator-wallets.freeze_text')]
      : [words.say('operator-network.freeze_title', { network }), words.say('operator-network.freeze_text')];
  const button = words.say('operator-wallets.freeze_button');
  return {
    command: 'payout freeze',
    ...confirmed(visit, scope, reason, { title, button, consequence: html`<p>${text}</p>`, needsSudo: false }),
    async act(database, act) {
      const freeze = { network, code: FROZEN_BY_OPERATOR, reason, frozenBy: act.operator, sinceMs: act.atMs };
      if (!(await database.freezePayouts(freeze, act)))
        return { to: path, said: words.say('operator-wallets.frozen_already') };
      return { to: path, said: words.say(network ? 'operator-network.is_frozen' : 'operator-wallets.all_frozen') };
    },
  };
}

export async function planThaw(deps: DashboardDeps, visit: Visit<null>, scope: FreezeScope): Promise<Planned> {
  const { words, form } = visit;
  const { network, path } = scope;
  const reason = reasonOf(visit);
  const isIt = (one: Freeze) => one.network === network && one.code === form.cause;
  const freeze = (await deps.database.listFreezes()).find(isIt);
  if (!freeze) {
    return scope.back(
      network ? words.say('operator-network.no_freeze', { network }) : words.say('operator-wallets.no_freeze'),
    );
  }
  if (reason === '') return scope.back(words.say('change.no_reason'));
  const [title, text] =
    network === null
      ? [words.say('operator-wallets.thaw_title'), words.say('operator-wallets.thaw_text')]
      : [words.say('operator-network.thaw_title', { network }), words.say('operator-network.thaw_text')];
  // What came since the page was shown is not among them.
  const foreign = (await foreignOf(deps, freeze)).filter(({ id }) => id <= Number(form.through));
  const cause = facts([
    [words.say('operator-wallets.frozen_by'), data(freeze.frozenBy)],
    [words.say('operator-wallets.because'), data(freeze.reason)],
    [words.say('operator-wallets.frozen_since'), time(freeze.sinceMs)],
  ]);
  const button = words.say('operator-wallets.end_freeze');
  return {
    command: 'payout thaw',
    ...confirmed(visit, scope, reason, {
      title,
      button,
      consequence: html`${cause}${foreignTable(deps, visit, foreign)}<p>${text}</p>`,
      needsSudo: true,
    }),
    async act(own, act) {
      const ended = await own.thawPayouts({ freezes: [freeze], transfers: foreign.map(({ id }) => id) }, act);
      if (ended.length > 0) return { to: path, said: words.say('operator-wallets.thawed') };
      const isLeft = (await own.listFreezes()).some(isIt);
      return { to: path, said: words.say(isLeft ? 'operator-network.more_left' : 'operator-wallets.thawed_already') };
    },
  };
}
