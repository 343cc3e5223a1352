/** One payout, for the operator: its attempts, and the commands that end one that does not end by itself. */
import { coinText } from '../../chains/coin-text.ts';
import { isPayback } from '../../core/intent.ts';
import { assetOf, unitsOf } from '../../core/ledger.ts';
import { type Attempt, attemptName, delayOf, type Payout } from '../../core/payout.ts';
import { isUnsigned } from '../../core/payout-exit.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import type { DashboardDeps } from '../deps.ts';
import type { CommonPage, Reply, Visit } from '../page.ts';
import { badge, data, english, short, shownOnChain, type Tone, time } from '../show.ts';
import { readStale } from './networks.ts';

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
  const stale = settledAtMs === null ? (await readStale(deps, visit))(network) : null;
  const onChain = (text: string, how?: 'whole') =>
    shownOnChain({ config, words: visit.words }, { network, kind: 'tx', text }, how);
  const described = facts([
    ['Id', html`<code>${id}</code>`],
    ['Kind', kinds[intent.kind]],
    ['Network', html`<a href="/operator/networks/${network}">${data(network)}</a>`],
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
  html`${stateBadge(payout)} ${stale}`,
  html`${described}${delay ? html`<p class="message attention"><code>${delay.code}</code> ${english(delay.message)}</p>` : null}`,
)}
${section('attempts', 'Attempts', signed, 'plain')}
${waysOut(payout, attempts)}`,
  };
}

/** The commands that fit the payout; none once it is over for good. */
function waysOut(
  { id, state, settledAtMs, intent, generation, wait }: Payout,
  attempts: readonly Attempt[],
): Html | null {
  if (state === 'canceled' || (state === 'succeeded' && settledAtMs !== null)) return null;
  // Nothing of its generation is signed, and all before has ended without effect.
  const isRejectable =
    isPayback(intent) && isUnsigned(state, attempts.filter((one) => one.generation === generation).length);
  const commands = [
    ...(isPayback(intent) && wait?.code === 'signer_refused_approval'
      ? [[`show ${id} --request`, 'writes the file that an approver signs.'] as const]
      : []),
    ...(isRejectable
      ? [[`refund reject ${id} --reason REASON`, 'fails it. Its amount can be refunded again.'] as const]
      : []),
    [`payout resolve ${id} --paid TRANSACTION --reason REASON`, 'ends it as paid, if every node shows that.'] as const,
    [`payout resolve ${id} --never --reason REASON`, 'ends it as never paid, if every node shows that.'] as const,
    ...(state === 'stuck' ? [[`payout resolve ${id} --retry --reason REASON`, 'tries it again.'] as const] : []),
  ];
  return section(
    'resolve',
    'Commands that end it',
    html`${commands.map(([command, effect]) => html`<p><code data-copy>quayside ${command}</code><br><span class="hint">${effect}</span></p>`)}
<p class="hint">With <code>--dry-run</code> it is only checked.</p>`,
  );
}
