/** One payout, for the operator: its attempts, and the commands that end one that does not end by itself. */
import { coinText } from '../../chains/coin-text.ts';
import { isPayback } from '../../core/intent.ts';
import { assetOf, unitsOf } from '../../core/ledger.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../core/payout.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, short, shownOnChain, type Tone, time } from '../show.ts';

export const payoutPage = (deps: DashboardDeps): CommonPage => ({
  method: 'get',
  path: '/operator/payouts/:payout',
  needs: 'installation:read',
  async answer(visit) {
    const payout = await deps.database.payouts.find(visit.params.payout ?? '');
    return payout && page(deps, visit, payout);
  },
});

const tones: Readonly<Record<Payout['state'], Tone>> = {
  waiting: 'wait',
  sent: 'wait',
  succeeded: 'good',
  failed: 'danger',
  canceled: 'wait',
  stuck: 'danger',
};

export const kinds: Readonly<Record<Payout['intent']['kind'], string>> = {
  refund: 'refund',
  return: 'return of held money',
  sweep: 'sweep',
  gas: 'native coin for a sweep',
};

export const amountOf = ({ config }: DashboardDeps, { network, intent }: Payout): string =>
  coinText(config.networks, network, assetOf(intent), unitsOf(intent));

export const stateBadge = ({ state }: Payout): Html => badge(state, tones[state]);

async function page(deps: DashboardDeps, visit: Visit<null>, payout: Payout): Promise<Reply> {
  const { config, database } = deps;
  const attempts = await database.payouts.attempts(payout.id);
  const refund = isPayback(payout.intent) ? await database.refunds.findBy({ id: payout.id }) : null;
  const delay = delayOf(payout);
  const { id, network, intent, createdAtMs, feeUnits, settledAtMs, tx } = payout;
  const onChain = (text: string, how?: 'whole') =>
    shownOnChain({ config, words: visit.words }, { network, kind: 'tx', text }, how);
  const described = facts([
    ['Id', html`<code>${id}</code>`],
    ['Kind', kinds[intent.kind]],
    ['Network', data(network)],
    ['Planned', time(createdAtMs)],
    settledAtMs === null ? null : ['Ended', time(settledAtMs)],
    tx === null ? null : ['Transaction', onChain(tx, 'whole')],
    feeUnits === null ? null : ['Fee', data(coinText(config.networks, network, 'native', feeUnits))],
    refund && refund.approvals.length > 0
      ? ['Signed by approvers', html`${refund.approvals.map(({ approver }) => html`${short(approver)} `)}`]
      : null,
  ]);
  const signed = list<Attempt>({
    caption: 'Attempts',
    columns: [
      ['Attempt', (one) => attemptName(one)],
      ['Nonce', ({ nonce }) => (nonce === null ? '–' : String(nonce))],
      ['Transaction', (one) => (one.tx === null ? 'not signed' : onChain(one.tx)), 'lead'],
      ['Signed', ({ signedAtMs }) => (signedAtMs === null ? '–' : time(signedAtMs))],
      ['Sent', ({ sentAtMs }) => (sentAtMs === null ? '–' : time(sentAtMs))],
      ['Node’s answer', ({ answer }) => english(answer ?? '')],
    ],
    rows: attempts,
    empty: 'Nothing was signed yet.',
  });
  return {
    title: `Payout of ${amountOf(deps, payout)}`,
    content: html`<p><a href="/operator/money">Money out</a></p>
${section(
  'state',
  stateBadge(payout),
  html`${described}${delay ? html`<p class="message attention"><code>${delay.code}</code> ${english(delay.message)}</p>` : null}`,
)}
${section('attempts', 'Attempts', signed, 'plain')}
${waysOut(payout)}`,
  };
}

/** The commands that end a payout that does not end by itself. */
function waysOut({ id, state, intent, wait }: Payout): Html | null {
  if (isPayback(intent) && wait?.code === 'signer_refused_approval') {
    return html`<p class="card"><code data-copy>quayside show ${id} --request</code> writes the file that an approver signs.</p>`;
  }
  if (state !== 'stuck') return null;
  const commands = [
    ['--paid TRANSACTION', 'ends it as paid, if every node shows that.'],
    ['--never', 'ends it as never paid, if every node shows that.'],
    ['--retry', 'tries it again.'],
  ] as const;
  return section(
    'resolve',
    'Commands that end it',
    html`${commands.map(([how, effect]) => html`<p><code data-copy>quayside payout resolve ${id} ${how} --reason REASON</code><br><span class="hint">${effect}</span></p>`)}
<p class="hint">With <code>--dry-run</code> it is only checked.</p>`,
  );
}
