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
import { askedOf, askForm, askRefusals, BECAUSE_CHARS_MAX, OPERATIONS_PATH, readWish } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, facts, moreLink, type Tone, table, time } from '../show.ts';

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
    title: 'Operations',
    content: html`${operationTable(shown)}${found.length > ROWS_MAX ? moreLink(words, `${OPERATIONS_PATH}?before=${shown.at(-1)?.id}`) : null}
<p class="hint">They are asked for on the pages of networks, wallets and payouts. Those of one network are done one after the other.</p>`,
  };
}

/** A list of operations, newest first. */
export const operationTable = (operations: readonly Operation[]): Html =>
  operations.length === 0
    ? html`<p class="card">Nothing was asked for yet.</p>`
    : table(
        'Operations',
        ['Asked', 'What', 'Network', 'By', 'State'],
        operations.map(({ id, askedAtMs, wish, network, askedBy, state, progress }) => [
          time(askedAtMs),
          html`<a href="${OPERATIONS_PATH}/${id}">${askedOf(wish).what}</a>`,
          html`<code>${network}</code>`,
          askedBy,
          html`<span>${badge(state, tones[state])}${state === 'running' && progress !== null ? html` <span class="hint">${progress}</span>` : null}</span>`,
        ]),
      );

function onePage(visit: Visit<null>, operation: Operation): Reply {
  const { id, network, wish, askedBy, because, askedAtMs, startedAtMs, endedAtMs, state, result } = operation;
  const isOpen = state === 'requested' || state === 'running';
  const isFollowed = isOpen && visit.query.get('follow') === 'yes';
  const path = `${OPERATIONS_PATH}/${id}`;
  return {
    title: askedOf(wish).what,
    content: html`${isFollowed ? html`<meta http-equiv="refresh" content="${String(REFRESH_S)}">` : null}
<section class="card" aria-labelledby="state"><h2 id="state">${badge(state, tones[state])}</h2>${facts([
      ['Network', html`<a href="/operator/networks/${network}">${network}</a>`],
      ['Asked for by', askedBy],
      ...(because === null ? [] : [['Reason', because] as const]),
      ...wishFacts(wish),
      ['Asked', time(askedAtMs)],
      ...(startedAtMs === null ? [] : [['Began', time(startedAtMs)] as const]),
      ...(endedAtMs === null ? [] : [['Ended', time(endedAtMs)] as const]),
    ])}<div role="status" class="answer">${stateText(operation)}</div>
${
  isOpen
    ? html`<p><a href="${path}">Look again</a> ${isFollowed ? html`The page looks by itself every ${String(REFRESH_S)} seconds; “Look again” ends that.` : html`<a href="${path}?follow=yes">Look every ${String(REFRESH_S)} seconds</a>`}</p>`
    : null
}</section>
${result?.table ? table('Result', result.table.columns, result.table.rows) : null}
${state === 'done' ? nextForm(visit, operation) : null}
<p><a href="${OPERATIONS_PATH}">All operations</a></p>`,
  };
}

function wishFacts(wish: Wish): readonly (readonly [string, Html | string])[] {
  switch (wish.kind) {
    case 'reread':
      return [
        ['Blocks', `${wish.from} to ${wish.to}`],
        ...(wish.node ? [['Node', html`<code>${wish.node}_url</code>`] as const] : []),
      ];
    case 'sweep_plan':
      return wish.min === undefined ? [] : [['From', wish.min]];
    case 'settle':
      return [
        ['Payout', html`<a href="/operator/payouts/${wish.payoutId}">${wish.payoutId}</a>`],
        ...(wish.paidBy === null ? [] : [['Paid by', html`<code>${wish.paidBy}</code>`] as const]),
        ...(wish.vouches ? [['Vouched for', badge('by the operator', 'attention')] as const] : []),
      ];
    case 'sweep_run':
      return [['Plan', html`<a href="${OPERATIONS_PATH}/${wish.planId}">as it was shown</a>`]];
    default:
      return [];
  }
}

function stateText({ state, network, progress, result }: Operation): Html | readonly Html[] {
  if (state === 'requested') return html`<p>The indexer of ${nameOf(network)} has not begun yet.</p>`;
  if (state === 'running') return html`<p>${progress ?? 'It has begun.'}</p>`;
  if (state === 'expired') {
    return html`<p>No indexer of ${nameOf(network)} came within ${String(WAIT_MS_MAX / 60_000)} minutes, so it was not done and will not
be. <code>quayside networks show ${network}</code> says how it does.</p>`;
  }
  return (result?.lines ?? []).map((line) => html`<p>${line}</p>`);
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
  return next && askForm(visit, network, next, { button: `${askedOf(next).button}…` });
}

async function planAsking(deps: DashboardDeps, visit: Visit<null>): Promise<Planned> {
  const { params, form, visitor, nowMs } = visit;
  const network = deps.config.networks.find(({ key }) => key === params.network)?.key;
  if (network === undefined) return null;
  const wish = readWish(form);
  if (typeof wish === 'string') return refused(network, wish);
  const { what, consequence, button, needsSudo, needsReason, isDangerous = false } = askedOf(wish);
  const reason = (form.because ?? '').trim();
  if (needsReason && (reason === '' || reason.length > BECAUSE_CHARS_MAX)) {
    return refused(network, `Say why, in at most ${BECAUSE_CHARS_MAX} characters.`);
  }
  return {
    command: `ask: ${wish.kind.replaceAll('_', ' ')}`,
    target: network,
    reason: needsReason ? reason : null,
    review:
      consequence === undefined
        ? null
        : {
            title: `${what}?`,
            consequence: html`${facts([
              ['Network', html`<code>${network}</code>`],
              ...wishFacts(wish),
              ...(needsReason ? [['Reason', reason] as const] : []),
            ])}<p>${consequence}</p>`,
            button,
            back: backOf(wish, network),
            needsSudo,
            isDangerous,
          },
    async act(database, act) {
      const id = `op_${idOfForm(visitor, form.once, nowMs)}`;
      const outcome = await database.askOperation({ id, network, wish }, act);
      if (outcome !== 'requested' && outcome !== 'already') return refused(network, askRefusals[outcome]);
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

const refused = (network: NetworkKey, why: string): Reply => ({
  title: 'Not asked for',
  status: 400,
  content: html`<p class="message fault" role="alert">${why}</p><p><a href="/operator/networks/${network}">Back to ${network}</a></p>`,
});
