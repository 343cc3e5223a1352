/**
 * Payouts, for the operator: refunds, returns, sweeps and gas with their attempts, and the ways to end one that does
 * not end by itself.
 */
import { REASON_CHARS_MAX } from '../../acts/act.ts';
import { coinText } from '../../chains/coin-text.ts';
import { isAllowed } from '../../core/access.ts';
import { isPayback } from '../../core/intent.ts';
import { assetOf, unitsOf } from '../../core/ledger.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../core/payout.ts';
import { isUnsigned } from '../../core/payout-exit.ts';
import { type Html, html } from '../../lib/html.ts';
import { becauseField } from '../because.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { approvalSection } from '../refund-signatures.ts';
import { badge, data, english, facts, moreLink, short, type Tone, table, time } from '../show.ts';
import { readStale } from '../stale.ts';
import type { TextKey, Words } from '../texts.ts';

const PATH = '/operator/payouts';
const ROWS_MAX = 50;
const STUCK_MAX = 20;
/** The failure reason that the shop sees of a refund that the operator rejects. */
const REJECTED = 'rejected_by_operator';

export const operatorPayoutPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: PATH, needs: 'installation:read', answer: (visit) => list(deps, visit) },
  {
    method: 'get',
    path: `${PATH}/:payout`,
    needs: 'installation:read',
    async answer(visit) {
      const payout = await deps.database.findPayout(visit.params.payout ?? '');
      return payout && onePage(deps, visit, payout);
    },
  },
  commonChange(deps, {
    path: `${PATH}/:payout/reject`,
    needs: 'installation:manage',
    async plan(visit) {
      const payout = await deps.database.findPayout(visit.params.payout ?? '');
      return payout && isPayback(payout.intent) ? planRejecting(deps, visit, payout) : null;
    },
  }),
];

const tones: Readonly<Record<Payout['state'], Tone>> = {
  waiting: 'wait',
  sent: 'wait',
  succeeded: 'good',
  failed: 'danger',
  canceled: 'wait',
  stuck: 'danger',
};

type Stale = Awaited<ReturnType<typeof readStale>>;

const amountOf = ({ config }: DashboardDeps, { network, intent }: Payout): string =>
  coinText(config.networks, network, assetOf(intent), unitsOf(intent));

const kindText = (words: Words, { intent }: Payout): string => words.say(`operator-payouts.kind_${intent.kind}`);

const stateBadge = (words: Words, { state }: Payout): Html =>
  badge(words.say(`operator-payouts.state_${state}`), tones[state]);

async function list(deps: DashboardDeps, visit: Visit<null>): Promise<Reply> {
  const { query, words } = visit;
  const { database } = deps;
  const stale = await readStale(deps, visit);
  const last = await database.findPayout(query.get('before') ?? '');
  const found = await database.listPayouts({ ...(last && { before: last }), limit: ROWS_MAX + 1 });
  const stuck = last ? [] : await database.listPayouts({ state: 'stuck', limit: STUCK_MAX });
  const shown = found.slice(0, ROWS_MAX);
  return {
    title: words.say('frame.operator_payouts'),
    content: html`${
      stuck.length > 0
        ? html`<section aria-labelledby="stuck"><h2 id="stuck">${words.say('operator-payouts.stuck')}</h2>${payoutTable(deps, words, 'operator-payouts.stuck_payouts', stuck, stale)}</section>`
        : null
    }<section aria-labelledby="newest"><h2 id="newest">${words.say(last ? 'general.older' : 'general.newest')}</h2>${
      shown.length === 0
        ? html`<p class="card">${words.say('operator-payouts.nothing')}</p>`
        : payoutTable(deps, words, 'frame.operator_payouts', shown, stale)
    }${found.length > ROWS_MAX ? moreLink(words, `${PATH}?before=${shown.at(-1)?.id}`) : null}</section>`,
  };
}

/** Marks the state of a payout that is not over while its node shows nothing. */
const staleState = ({ settledAtMs, network }: Payout, stale: Stale): Html | null =>
  settledAtMs === null ? stale(network) : null;

const payoutTable = (
  deps: DashboardDeps,
  words: Words,
  caption: TextKey,
  payouts: readonly Payout[],
  stale: Stale,
): Html =>
  table(
    words.say(caption),
    [
      words.say('operator-payouts.planned'),
      words.say('operator-payouts.payout'),
      words.say('general.network'),
      words.say('operator-payouts.amount'),
      words.say('general.state'),
      words.say('operator-payouts.waits_for'),
    ],
    payouts.map((payout) => [
      time(payout.createdAtMs),
      html`<span><a href="${PATH}/${payout.id}">${short(payout.id)}</a> ${kindText(words, payout)}</span>`,
      html`<code>${payout.network}</code>`,
      data(amountOf(deps, payout)),
      html`${stateBadge(words, payout)} ${staleState(payout, stale)}`,
      html`<code>${delayOf(payout)?.code ?? ''}</code>`,
    ]),
    [3],
    undefined,
    [3, 4],
  );

async function onePage(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Reply> {
  const { words } = visit;
  const attempts = await deps.database.listPayoutAttempts(payout.id);
  const delay = delayOf(payout);
  const { network, feeUnits, settledAtMs, state, tx } = payout;
  return {
    title: words.say('operator-payouts.title', { amount: amountOf(deps, payout) }),
    content: html`<p><a href="${PATH}">${words.say('operator-payouts.all')}</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${stateBadge(words, payout)} ${staleState(payout, await readStale(deps, visit))}</h2>${facts(
      [
        [words.say('operator-payouts.id'), html`<code>${payout.id}</code>`],
        [words.say('operator-payouts.kind'), kindText(words, payout)],
        [words.say('general.network'), html`<a href="/operator/networks/${network}">${data(network)}</a>`],
        [words.say('operator-payouts.planned'), time(payout.createdAtMs)],
        ...(settledAtMs === null ? [] : [[words.say('operator-payouts.ended'), time(settledAtMs)] as const]),
        ...(tx === null
          ? []
          : [
              [
                words.say('operator-payouts.transaction'),
                shownOnChain({ config: deps.config, words }, { network, kind: 'tx', text: tx }, 'whole'),
              ] as const,
            ]),
        ...(feeUnits === null
          ? []
          : [
              [
                words.say('operator-payouts.fee'),
                data(coinText(deps.config.networks, network, 'native', feeUnits)),
              ] as const,
            ]),
      ],
    )}${delay ? html`<p class="message attention"><code>${delay.code}</code> ${english(delay.message)}</p>` : null}</section>
<section aria-labelledby="attempts"><h2 id="attempts">${words.say('operator-payouts.attempts')}</h2>${
      attempts.length === 0
        ? html`<p class="card">${words.say('operator-payouts.not_signed_yet')}</p>`
        : attemptTable(deps, words, payout, attempts)
    }</section>
${await signatures(deps, visit, payout)}
${isRejectable(payout, attempts) ? rejectForm(visit, payout) : null}
${state === 'canceled' || (settledAtMs !== null && state === 'succeeded') ? null : resolveCommands(words, payout)}`,
  };
}

/** As `quayside refund reject`: nothing of its generation is signed, and all before has ended without effect. */
const isRejectable = ({ intent, state, generation }: Payout, attempts: readonly Attempt[]): boolean =>
  isPayback(intent) && isUnsigned(state, attempts.filter((one) => one.generation === generation).length);

/** Approvers' signatures, where the payout is a refund or return that the signer wants them for. */
async function signatures({ database }: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Html | null> {
  const refund = isPayback(payout.intent) ? await database.refunds.findBy({ id: payout.id }) : null;
  const needs = { permission: 'installation:manage' } as const;
  const mayDecide = isAllowed(visit.visitor.person.memberships, needs);
  return refund && approvalSection(visit, refund, payout, { path: `${PATH}/${payout.id}`, mayDecide });
}

const attemptTable = (
  { config }: DashboardDeps,
  words: Words,
  { network }: Payout,
  attempts: readonly Attempt[],
): Html =>
  table(
    words.say('operator-payouts.attempts'),
    [
      words.say('operator-payouts.attempt'),
      words.say('operator-payouts.number'),
      words.say('operator-payouts.transaction'),
      words.say('operator-payouts.signed'),
      words.say('operator-payouts.sent'),
      words.say('operator-payouts.node_answer'),
    ],
    attempts.map((one) => [
      attemptName(one),
      one.nonce === null ? '–' : String(one.nonce),
      one.tx === null
        ? words.say('operator-payouts.not_signed')
        : shownOnChain({ config, words }, { network, kind: 'tx', text: one.tx }),
      one.signedAtMs === null ? '–' : time(one.signedAtMs),
      one.sentAtMs === null ? '–' : time(one.sentAtMs),
      english(one.answer ?? ''),
    ]),
  );

const rejectForm = (visit: Visit<null>, { id }: Payout): Html =>
  html`<form method="post" action="${PATH}/${id}/reject" class="card" aria-labelledby="reject"><h2 id="reject">${visit.words.say('operator-payouts.reject_head')}</h2>${changeFields(visit)}
<p>${visit.words.say('operator-payouts.reject_hint')}</p>${becauseField(visit.words)}<button class="plain">${visit.words.say('operator-payouts.reject_head')}…</button></form>`;

const resolveCommands = (words: Words, { id, state }: Payout): Html =>
  html`<section class="card" aria-labelledby="resolve"><h2 id="resolve">${words.say('operator-payouts.resolve')}</h2>
${(state === 'stuck' ? ['--paid TRANSACTION', '--never', '--retry'] : ['--paid TRANSACTION', '--never']).map(
  (ending) => html`<p><code data-copy>quayside payout resolve ${id} ${ending} --reason REASON</code></p>`,
)}
<p class="hint">${words.html('operator-payouts.resolve_hint')}</p></section>`;

async function planRejecting(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Planned> {
  const { words } = visit;
  const path = `${PATH}/${payout.id}`;
  const because = (visit.form.because ?? '').trim();
  if (because === '' || because.length > REASON_CHARS_MAX) {
    return { to: path, said: words.say('operator-payouts.reject_reason', { count: REASON_CHARS_MAX }) };
  }
  return {
    command: 'refund reject',
    target: payout.id,
    reason: because,
    review: {
      title: words.say('operator-payouts.reject_title', {
        kind: kindText(words, payout),
        amount: amountOf(deps, payout),
      }),
      consequence: html`${facts([
        [words.say('operator-payouts.id'), html`<code>${payout.id}</code>`],
        [words.say('general.network'), html`<code>${payout.network}</code>`],
        [words.say('general.reason'), data(because)],
      ])}<p>${words.html('operator-payouts.reject_text', { code: html`<code>${REJECTED}</code>` })}</p>`,
      button: words.say('operator-payouts.reject_head'),
      back: path,
      needsSudo: false,
      isDangerous: true,
    },
    async act(database) {
      const isDone = await database.refunds.reject(payout.id, REJECTED, visit.nowMs);
      return {
        to: path,
        said: words.say(isDone ? 'operator-payouts.rejected' : 'operator-payouts.not_rejected'),
      };
    },
  };
}
