/**
 * Payouts, for the operator: refunds, returns, sweeps and gas with their attempts, and the ways to end one that does
 * not end by itself.
 * @module
 */
import { coinText } from '../../chains/coin-text.ts';
import { isPayback } from '../../core/intent.ts';
import { assetOf, unitsOf } from '../../core/ledger.ts';
import { delayOf, type Payout } from '../../core/payout.ts';
import { type Html, html, prose } from '../../lib/html.ts';
import { changeFields, commonChange, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { askPath, BECAUSE_CHARS_MAX, becauseField } from '../operation-form.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, facts, moreLink, short, type Tone, table, time } from '../show.ts';

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
    path: `${PATH}/:payout/resume`,
    needs: 'installation:manage',
    async plan(visit) {
      const payout = await deps.database.findPayout(visit.params.payout ?? '');
      return payout && planResuming(deps, visit, payout);
    },
  }),
  commonChange(deps, {
    path: `${PATH}/:payout/reject`,
    needs: 'installation:manage',
    async plan(visit) {
      const payout = await deps.database.findPayout(visit.params.payout ?? '');
      return payout && isPayback(payout.intent) ? planRejecting(deps, visit, payout) : null;
    },
  }),
];

const kinds: Readonly<Record<Payout['intent']['kind'], string>> = {
  refund: 'refund',
  return: 'return of held money',
  sweep: 'sweep',
  gas: 'native coin for a sweep',
  move: 'move to the wallet that pays now',
};

const tones: Readonly<Record<Payout['state'], Tone>> = {
  waiting: 'wait',
  sent: 'wait',
  succeeded: 'good',
  failed: 'danger',
  canceled: 'wait',
  stuck: 'danger',
};

const amountOf = ({ config }: DashboardDeps, { network, intent }: Payout): string =>
  coinText(config.networks, network, assetOf(intent), unitsOf(intent));

async function list(deps: DashboardDeps, { query, words }: Visit<null>): Promise<Reply> {
  const { database } = deps;
  const last = await database.findPayout(query.get('before') ?? '');
  const found = await database.listPayouts({ ...(last && { before: last }), limit: ROWS_MAX + 1 });
  const stuck = last ? [] : await database.listPayouts({ state: 'stuck', limit: STUCK_MAX });
  const shown = found.slice(0, ROWS_MAX);
  return {
    title: 'Payouts',
    content: html`${
      stuck.length > 0
        ? html`<section aria-labelledby="stuck"><h2 id="stuck">Stuck: they need you</h2>${payoutTable(deps, 'Stuck payouts', stuck)}</section>`
        : null
    }<section aria-labelledby="newest"><h2 id="newest">${last ? 'Older' : 'Newest'}</h2>${
      shown.length === 0 ? html`<p class="card">Nothing was paid out yet.</p>` : payoutTable(deps, 'Payouts', shown)
    }${found.length > ROWS_MAX ? moreLink(words, `${PATH}?before=${shown.at(-1)?.id}`) : null}</section>`,
  };
}

const payoutTable = (deps: DashboardDeps, caption: string, payouts: readonly Payout[]): Html =>
  table(
    caption,
    ['Planned', 'Payout', 'Network', 'Amount', 'State', 'Waits for'],
    payouts.map((payout) => [
      time(payout.createdAtMs),
      html`<span><a href="${PATH}/${payout.id}">${short(payout.id)}</a> ${kinds[payout.intent.kind]}</span>`,
      html`<code>${payout.network}</code>`,
      amountOf(deps, payout),
      badge(payout.state, tones[payout.state]),
      delayOf(payout)?.code ?? '',
    ]),
  );

async function onePage(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Reply> {
  const attempts = await deps.database.listPayoutAttempts(payout.id);
  const delay = delayOf(payout);
  const { network, feeUnits, settledAtMs, state, tx } = payout;
  return {
    title: `Payout of ${amountOf(deps, payout)}`,
    content: html`<p><a href="${PATH}">All payouts</a></p>
<section class="card" aria-labelledby="state"><h2 id="state">${badge(state, tones[state])}</h2>${facts([
      ['Id', html`<code>${payout.id}</code>`],
      ['Kind', kinds[payout.intent.kind]],
      ['Network', html`<a href="/operator/networks/${network}">${network}</a>`],
      ['Planned', time(payout.createdAtMs)],
      ...(settledAtMs === null ? [] : [['Ended', time(settledAtMs)] as const]),
      ...(tx === null ? [] : [['Transaction', html`<code>${tx}</code>`] as const]),
      ...(feeUnits === null ? [] : [['Fee', coinText(deps.config.networks, network, 'native', feeUnits)] as const]),
    ])}${delay ? html`<p class="message attention"><code>${delay.code}</code> ${prose(delay.message)}</p>` : null}</section>
<section aria-labelledby="attempts"><h2 id="attempts">Attempts</h2>${
      attempts.length === 0
        ? html`<p class="card">Nothing was signed yet.</p>`
        : table(
            'Attempts',
            ['Attempt', 'Number', 'Transaction', 'Signed', 'Sent', 'Node’s answer'],
            attempts.map((one) => [
              `${one.generation}.${one.attempt}`,
              one.nonce === null ? '–' : String(one.nonce),
              one.tx === null ? 'not signed' : short(one.tx),
              one.signedAtMs === null ? '–' : time(one.signedAtMs),
              one.sentAtMs === null ? '–' : time(one.sentAtMs),
              one.answer ?? '',
            ]),
          )
    }</section>
${state === 'stuck' ? resumeForm(visit, payout) : null}
${state === 'waiting' && isPayback(payout.intent) && attempts.length === 0 ? rejectForm(visit, payout) : null}
${state === 'canceled' || (settledAtMs !== null && state === 'succeeded') ? null : settleForms(visit, payout)}`,
  };
}

const resumeForm = (visit: Visit<null>, { id }: Payout): Html =>
  html`<form method="post" action="${PATH}/${id}/resume" class="card" aria-labelledby="resume"><h2 id="resume">Look at it again</h2>${changeFields(visit)}
<p>What made it stick is over: the engine goes on with the attempts that it has.</p><button class="plain">Resume…</button></form>`;

const rejectForm = (visit: Visit<null>, { id }: Payout): Html =>
  html`<form method="post" action="${PATH}/${id}/reject" class="card" aria-labelledby="reject"><h2 id="reject">Reject it</h2>${changeFields(visit)}
<p>Nothing was signed yet: it can fail, and its amount can be refunded again.</p>${becauseField}<button class="plain">Reject…</button></form>`;

const settleForms = (visit: Visit<null>, { id, network }: Payout): Html =>
  html`<form method="post" action="${askPath(network)}" class="card" aria-labelledby="settle"><h2 id="settle">End it as the chain shows</h2>${changeFields(visit)}
<input type="hidden" name="kind" value="settle"><input type="hidden" name="payout" value="${id}"><input type="hidden" name="check" value="yes">
<label>What happened <select name="how"><option value="paid">this transaction paid it</option><option value="never">nothing paid it: it fails</option><option value="again">nothing paid it: pay it once more</option></select></label>
<label>Transaction, if one paid it <input name="paid" maxlength="200" autocomplete="off" spellcheck="false"></label>
<label class="check"><input type="checkbox" name="vouch" value="yes"> I vouch for it: an attempt of this payout paid it, although its record on the chain does not show that</label>
<p class="hint">Every node is asked; only what all of them show counts. It is checked first, and nothing is changed by that.</p>
<button class="plain">Check</button></form>`;

async function planResuming(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Planned> {
  const path = `${PATH}/${payout.id}`;
  if (payout.state !== 'stuck') return { to: path, said: 'It is not stuck any more.' };
  return {
    command: 'payouts resume',
    target: payout.id,
    review: {
      title: `Resume the payout of ${amountOf(deps, payout)}?`,
      consequence: html`${facts([
        ['Id', html`<code>${payout.id}</code>`],
        ['Network', html`<code>${payout.network}</code>`],
        ['Stuck because', delayOf(payout)?.message ?? 'not known'],
      ])}<p>Its attempts are looked at again, and replaced only if none of them can still be paid.</p>`,
      button: 'Resume it',
      back: path,
      needsSudo: true,
    },
    async act(database) {
      const done = await database.resumePayout(payout.id, visit.nowMs);
      return { to: path, said: done ? 'It is looked at again.' : 'It is not stuck any more.' };
    },
  };
}

async function planRejecting(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Planned> {
  const path = `${PATH}/${payout.id}`;
  const because = (visit.form.because ?? '').trim();
  if (because === '' || because.length > BECAUSE_CHARS_MAX) {
    return { to: path, said: `Nothing was rejected. Say why, in at most ${BECAUSE_CHARS_MAX} characters.` };
  }
  return {
    command: 'refunds reject',
    target: payout.id,
    reason: because,
    review: {
      title: `Reject the ${kinds[payout.intent.kind]} of ${amountOf(deps, payout)}?`,
      consequence: html`${facts([
        ['Id', html`<code>${payout.id}</code>`],
        ['Network', html`<code>${payout.network}</code>`],
        ['Reason', because],
      ])}<p>It fails, unless it is signed by then, and the shop is told so: <code>${REJECTED}</code>. Its amount can be refunded again.</p>`,
      button: 'Reject it',
      back: path,
      needsSudo: false,
      isDangerous: true,
    },
    async act(database) {
      const isDone = await database.rejectRefund(payout.id, REJECTED, visit.nowMs);
      return {
        to: path,
        said: isDone ? 'It is rejected.' : 'It was not rejected: it has ended, or is signed already.',
      };
    },
  };
}
