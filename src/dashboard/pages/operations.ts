/**
 * Operations: what operators asked the networks' indexers to do, how far it is, and what came of it.
 * @module
 */
import { type OperationState, WAIT_MS_MAX, type Wish } from '../../core/operation.ts';
import { type NetworkKey, nameOf } from '../../core/transfer.ts';
import type { Operation } from '../../database/operations.ts';
import { type Html, html } from '../../lib/html.ts';
import { commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import { askedOf, askForm, askRefusal, BECAUSE_CHARS_MAX, OPERATIONS_PATH, readWish } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, facts, moreLink, type Tone, table, time } from '../show.ts';
import type { Words } from '../texts.ts';

const ROWS_MAX = 50;
const REFRESH_S = 3;

export const operationPages = (deps: DashboardDeps): readonly CommonPage[] => [
  { method: 'get', path: OPERATIONS_PATH, needs: 'installation:read', answer: (visit) => list(deps, visit) },
  {
    method: 'get',
    path: `${OPERATIONS_PATH}/:operation`,
    needs: 'installation:read',
    async answer(visit) {
      const found = await deps.database.findOperation(visit.params.operation ?? '', visit.nowMs);
      return found && onePage(visit, found);
    },
  },
  commonChange(deps, {
    path: '/operator/networks/:network/ask',
    needs: 'installation:manage',
    plan: (visit) => planAsking(deps, visit),
  }),
];

const tones: Readonly<Record<OperationState, Tone>> = {
  requested: 'wait',
  running: 'wait',
  done: 'good',
  failed: 'danger',
  expired: 'attention',
};

async function list({ database }: DashboardDeps, { query, nowMs, words }: Visit<null>): Promise<Reply> {
  const before = query.get('before');
  const found = await database.listOperations({ ...(before && { before }), limit: ROWS_MAX + 1 }, nowMs);
  const shown = found.slice(0, ROWS_MAX);
  return {
    title: words.say('frame.operator_operations'),
    content: html`${operationTable(words, shown)}${found.length > ROWS_MAX ? moreLink(words, `${OPERATIONS_PATH}?before=${shown.at(-1)?.id}`) : null}
<p class="hint">${words.say('operations.hint')}</p>`,
  };
}

const stateBadge = (words: Words, state: OperationState): Html =>
  badge(words.say(`operations.state_${state}`), tones[state]);

/** A list of operations, newest first. */
export const operationTable = (words: Words, operations: readonly Operation[]): Html =>
  operations.length === 0
    ? html`<p class="card">${words.say('operations.none')}</p>`
    : table(
        words.say('frame.operator_operations'),
        [
          words.say('operations.asked'),
          words.say('operations.what'),
          words.say('general.network'),
          words.say('operations.by'),
          words.say('general.state'),
        ],
        operations.map(({ id, askedAtMs, wish, network, askedBy, state, progress }) => [
          time(askedAtMs),
          html`<a href="${OPERATIONS_PATH}/${id}">${askedOf(words, wish).what}</a>`,
          html`<code>${network}</code>`,
          data(askedBy),
          html`<span>${stateBadge(words, state)}${state === 'running' && progress !== null ? html` <span class="hint">${data(progress)}</span>` : null}</span>`,
        ]),
      );

function onePage(visit: Visit<null>, operation: Operation): Reply {
  const { words } = visit;
  const { id, network, wish, askedBy, because, askedAtMs, startedAtMs, endedAtMs, state, result } = operation;
  const isOpen = state === 'requested' || state === 'running';
  const isFollowed = isOpen && visit.query.get('follow') === 'yes';
  const path = `${OPERATIONS_PATH}/${id}`;
  const followed = isFollowed
    ? words.html('operations.follows', { seconds: REFRESH_S, stop: html`${words.say('operations.stop')}` })
    : html`<a href="${path}?follow=yes">${words.say('operations.follow', { seconds: REFRESH_S })}</a>`;
  return {
    title: askedOf(words, wish).what,
    content: html`${isFollowed ? html`<meta http-equiv="refresh" content="${String(REFRESH_S)}">` : null}
<section class="card" aria-labelledby="state"><h2 id="state">${stateBadge(words, state)}</h2>${facts([
      [words.say('general.network'), html`<a href="/operator/networks/${network}">${data(network)}</a>`],
      [words.say('operations.by'), data(askedBy)],
      ...(because === null ? [] : [[words.say('general.reason'), data(because)] as const]),
      ...wishFacts(words, wish),
      [words.say('operations.asked'), time(askedAtMs)],
      ...(startedAtMs === null ? [] : [[words.say('operations.began'), time(startedAtMs)] as const]),
      ...(endedAtMs === null ? [] : [[words.say('operations.ended'), time(endedAtMs)] as const]),
    ])}<div role="status" class="answer">${stateText(words, operation)}</div>
${isOpen ? html`<p><a href="${path}">${words.say('operations.look')}</a> ${followed}</p>` : null}</section>
${result?.table ? html`<div lang="en" dir="ltr">${table(words.say('operations.result'), result.table.columns, result.table.rows)}</div>` : null}
${state === 'done' ? nextForm(visit, operation) : null}
<p><a href="${OPERATIONS_PATH}">${words.say('operations.all')}</a></p>`,
  };
}

function wishFacts(words: Words, wish: Wish): readonly (readonly [string, Html | string])[] {
  switch (wish.kind) {
    case 'reread':
      return [
        [words.say('operations.blocks'), words.html('operations.range', { from: wish.from, to: wish.to })],
        ...(wish.node ? [[words.say('operations.node'), html`<code>${wish.node}_url</code>`] as const] : []),
      ];
    case 'sweep_plan':
      return wish.min === undefined ? [] : [[words.say('operations.from'), data(wish.min)]];
    case 'settle':
      return [
        [words.say('operations.payout'), html`<a href="/operator/payouts/${wish.payoutId}">${data(wish.payoutId)}</a>`],
        ...(wish.paidBy === null
          ? []
          : [[words.say('operations.paid_by'), html`<code>${wish.paidBy}</code>`] as const]),
        ...(wish.vouches
          ? [[words.say('operations.vouched'), badge(words.say('operations.vouched_by'), 'attention')] as const]
          : []),
      ];
    case 'sweep_run':
      return [
        [
          words.say('operations.plan'),
          html`<a href="${OPERATIONS_PATH}/${wish.planId}">${words.say('operations.as_shown')}</a>`,
        ],
      ];
    default:
      return [];
  }
}

/** What the indexer writes stays English. */
function stateText(words: Words, { state, network, progress, result }: Operation): Html | readonly Html[] {
  if (state === 'requested') return html`<p>${words.html('operations.is_requested', { network: nameOf(network) })}</p>`;
  if (state === 'running') {
    return html`<p>${progress === null ? words.say('operations.is_running') : english(progress)}</p>`;
  }
  if (state === 'expired') {
    return html`<p>${words.html('operations.is_expired', {
      network: nameOf(network),
      minutes: WAIT_MS_MAX / 60_000,
      command: html`<code>quayside networks show ${network}</code>`,
    })}</p>`;
  }
  return (result?.lines ?? []).map((line) => html`<p>${english(line)}</p>`);
}

/** What was only looked at can be done. */
function nextForm(visit: Visit<null>, { id, network, wish, result }: Operation): Html | null {
  const next: Wish | null =
    wish.kind === 'sweep_plan'
      ? result?.plan
        ? { kind: 'sweep_run', planId: id }
        : null
      : 'isCheck' in wish && wish.isCheck
        ? { ...wish, isCheck: false, ...(wish.kind === 'resume_wallets' && { accepted: result?.digest ?? null }) }
        : null;
  return next && askForm(visit, network, next, { button: `${askedOf(visit.words, next).button}…` });
}

async function planAsking(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { params, form, visitor, nowMs, words } = visit;
  const network = deps.config.networks.find(({ key }) => key === params.network)?.key;
  if (network === undefined) return null;
  const wish = readWish(words, form);
  if (typeof wish === 'string') return refused(words, network, wish);
  const { what, consequence, button, needsSudo, needsReason, isDangerous = false } = askedOf(words, wish);
  const reason = (form.because ?? '').trim();
  if (needsReason && (reason === '' || reason.length > BECAUSE_CHARS_MAX)) {
    return refused(words, network, words.say('operation-form.say_why', { count: BECAUSE_CHARS_MAX }));
  }
  return {
    command: `ask: ${wish.kind.replaceAll('_', ' ')}`,
    target: network,
    reason: needsReason ? reason : null,
    review:
      consequence === undefined
        ? null
        : {
            title: words.say('operations.title', { what }),
            consequence: html`${facts([
              [words.say('general.network'), html`<code>${network}</code>`],
              ...wishFacts(words, wish),
              ...(needsReason ? [[words.say('general.reason'), data(reason)] as const] : []),
            ])}<p>${consequence}</p>`,
            button,
            back: backOf(wish, network),
            needsSudo,
            isDangerous,
          },
    async act(database, act) {
      const id = `op_${idOfForm(visitor, form.once, nowMs)}`;
      const outcome = await database.askOperation({ id, network, wish }, act);
      if (outcome !== 'requested' && outcome !== 'already') return refused(words, network, askRefusal(words, outcome));
      return { to: `${OPERATIONS_PATH}/${id}?follow=yes` };
    },
  };
}

const backOf = (wish: Wish, network: NetworkKey): string =>
  wish.kind === 'settle'
    ? `/operator/payouts/${wish.payoutId}`
    : wish.kind === 'sweep_run'
      ? `${OPERATIONS_PATH}/${wish.planId}`
      : `/operator/networks/${network}`;

const refused = (words: Words, network: NetworkKey, why: string): Reply => ({
  title: words.say('operations.refused'),
  status: 400,
  content: html`<p class="message fault" role="alert">${why}</p><p><a href="/operator/networks/${network}">${words.html('operations.back', { network })}</a></p>`,
});
