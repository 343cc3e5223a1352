/** Freezes of money out, of one network or of every network: who froze it, why, and how each ends. */
import { REASON_CHARS_MAX } from '../../acts/act.ts';
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import { isPaidBy } from '../../core/outgoing.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { PayoutEngine } from '../../database/payouts/engines.ts';
import { FROZEN_BY_OPERATOR, type Freeze, needsReconcile } from '../../database/payouts/holds.ts';
import type { OutgoingRecord } from '../../database/payouts/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { changeForm, hidden, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Reply, Visit } from '../page.ts';
import { badge, data, english, shownOnChain, time } from '../show.ts';

const PATH = '/operator/money';

/** Returns the page with what is wrong with the form. */
type Back = (fault: string) => Promise<Reply>;

/** Says that the signer itself is frozen, as the engines have last seen it, and what ends that; null if it is not. */
function signerFrozen(engines: readonly Pick<PayoutEngine, 'signerFreeze'>[]): Html | null {
  const freeze = engines.flatMap(({ signerFreeze }) => signerFreeze ?? []).at(0);
  if (!freeze) return null;
  return html`<p class="message attention">${badge('the signer is frozen', 'danger')} Since ${time(freeze.frozenAtMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}. It signs nothing on any network until an approver ends that: <code>quayside-signer thaw</code> prints what they are to sign.</p>`;
}

/** What is frozen, in words. */
const placeOf = ({ network }: Pick<Freeze, 'network'>): string => network ?? 'every network';

/** Transfers of a network that are shown. */
const SHOWN_MAX = 100;
/** Open refunds that they are compared with, of each state. */
const COMPARED_MAX = 1_000;

const reasonField = html`<label>Reason, for the audit log <input name="because" maxlength="${REASON_CHARS_MAX}" required></label>`;

/** Shows what is frozen, and the forms. */
export async function freezeSection(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database, config } = deps;
  const freezes = await database.holds.list();
  const engines = await database.engines.list();
  const signer = signerFrozen(engines);
  const waiting = engines.map(
    ({ network, reason }) =>
      reason && html`<p>${badge('does not pay now', 'attention')} ${data(network)}: ${english(reason.message)}</p>`,
  );
  const text = (freeze: Freeze) =>
    html`<p>${badge('frozen', 'danger')} ${data(placeOf(freeze))} since ${time(freeze.sinceMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}</p>`;
  const thawing = freezes
    .filter((one) => !needsReconcile(one))
    .map((freeze) => {
      const which = html`${hidden('network', freeze.network ?? '')}${hidden('cause', freeze.code)}`;
      const fields = html`${text(freeze)}${which}${reasonField}`;
      return changeForm(visit, `${PATH}/thaw`, `End the freeze of ${placeOf(freeze)}…`, { fields });
    });
  const own = freezes.filter(needsReconcile);
  const networks = config.networks.filter(({ key }) => own.some(({ network }) => network === key));
  const reconciling = await Promise.all(
    networks.map(async ({ key }) => {
      const causes = own.filter(({ network }) => network === key).map(text);
      return html`${causes}${await unexplainedList(deps, visit, key)}<p>Compare it with an explorer; then <code data-copy>quayside payout reconcile ${key} --reason REASON</code> settles what paid a refund, and ends the freeze.</p>`;
    }),
  );
  const options = config.networks.map(({ key }) => html`<option value="${key}">${key}</option>`);
  const fields = html`<label>Network <select name="network"><option value="">every network</option>${options}</select></label>
${reasonField}`;
  const freezing = html`<details><summary>Freeze money out</summary>${changeForm(visit, `${PATH}/freeze`, 'Freeze…', { fields })}
<p class="hint">The signer goes on for whoever has its socket. <code data-copy>quayside-signer freeze --reason REASON</code> stops that too.</p></details>`;
  const state = freezes.length > 0 || signer ? null : html`<p>${badge('not frozen', 'good')}</p>`;
  return section('freeze', 'Freeze', html`${signer}${state}${waiting}${reconciling}${thawing}${freezing}`);
}

const reasonOf = ({ form }: Visit<null>): string => (form.because ?? '').trim().slice(0, REASON_CHARS_MAX);

const NO_REASON = 'Say why: the reason is in the audit log.';

export function planFreeze({ config }: DashboardDeps, visit: Visit<null>, back: Back): Planned | Promise<Reply> {
  const reason = reasonOf(visit);
  const known = config.networks.find(({ key }) => key === visit.form.network);
  if (!known && visit.form.network !== '') return back('There is no such network.');
  if (reason === '') return back(NO_REASON);
  const network = known?.key ?? null;
  const place = placeOf({ network });
  return {
    command: 'payout freeze',
    target: place,
    reason,
    review: {
      title: `Freeze money out on ${place}?`,
      consequence: html`${facts([['Reason', data(reason)]])}<p>Nothing is signed or sent until the freeze is ended. What nodes have already is watched to its end.</p>`,
      button: 'Freeze it',
      back: PATH,
      needsSudo: false,
      isDangerous: true,
    },
    async act(database, act) {
      const freeze = { network, code: FROZEN_BY_OPERATOR, reason, frozenBy: act.operator, sinceMs: act.atMs };
      const isNew = await database.holds.freeze(freeze, act);
      return { to: PATH, said: isNew ? `Money out is frozen on ${place}.` : 'It was frozen already.' };
    },
  };
}

export async function planThaw(deps: DashboardDeps, visit: Visit<null>, back: Back): Promise<Planned> {
  const { form } = visit;
  const reason = reasonOf(visit);
  const isIt = (one: Freeze) => (one.network ?? '') === form.network && one.code === form.cause && !needsReconcile(one);
  const freeze = (await deps.database.holds.list()).find(isIt);
  if (!freeze) return back('That freeze is over.');
  if (reason === '') return back(NO_REASON);
  return {
    command: 'payout thaw',
    target: placeOf(freeze),
    reason,
    review: {
      title: `End the freeze of ${placeOf(freeze)}?`,
      consequence: html`${facts([
        ['Frozen by', data(freeze.frozenBy)],
        ['Because', data(freeze.reason)],
        ['Since', time(freeze.sinceMs)],
        ['Reason', data(reason)],
      ])}<p>Payouts that wait are signed and sent again, on networks without another freeze.</p>`,
      button: 'End the freeze',
      back: PATH,
      needsSudo: true,
      isDangerous: true,
    },
    async act(own, act) {
      const ended = await own.holds.thaw({ freezes: [freeze], transfers: [] }, act);
      return { to: PATH, said: ended.length > 0 ? 'The freeze is ended.' : 'It was ended already.' };
    },
  };
}

/** Shows what `payout reconcile` shows before it asks the nodes: what left the wallets, and which refund it may be. */
async function unexplainedList(
  { config, database }: DashboardDeps,
  { words }: Visit<null>,
  network: NetworkKey,
): Promise<Html | null> {
  const rows = await database.wallets.listForeign(network, SHOWN_MAX);
  const states = ['waiting', 'sent', 'stuck'] as const;
  const pages = states.map((state) => database.payouts.list({ network, state, limit: COMPARED_MAX }));
  const open = (await Promise.all(pages)).flat();
  const family = config.networks.find(({ key }) => key === network)?.family;
  const shown = (kind: 'tx' | 'address', text: string) => shownOnChain({ config, words }, { network, kind, text });
  const nonces = (await database.payouts.foreignNonces(network)).map(
    ({ payer, nextNonce, counted }) =>
      html`<p>${counted - nextNonce} transactions of ${shown('address', family ? chains[family].address.format(payer) : payer)} are not known here.</p>`,
  );
  const transfers = list<OutgoingRecord>({
    caption: 'Unexplained',
    columns: [
      ['Transaction', ({ tx }) => shown('tx', tx)],
      ['Seen', ({ seenAtMs }) => time(seenAtMs)],
      ['Amount', ({ currency, units }) => data(coinText(config.networks, network, currency, units)), 'number lead'],
      ['To', ({ to }) => shown('address', family ? chains[family].address.format(to) : to)],
      ['May be', (one) => data(open.find((payout) => isPaidBy(payout, one))?.id ?? 'not ours')],
    ],
    rows,
    empty: '',
  });
  return html`${rows.length === 0 ? null : transfers}${nonces}`;
}
