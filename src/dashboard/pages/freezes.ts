/** Freezes of money out, of one network or of every network: who froze it, why, and how each ends. */
import { say } from '../../acts/act.ts';
import { EVERYWHERE, freezeMoneyOut, placeOf, thawMoneyOut } from '../../acts/money-out.ts';
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import { isPaidBy } from '../../core/intent.ts';
import type { NetworkKey } from '../../core/transfer.ts';
import type { PayoutEngine } from '../../database/payouts/engines.ts';
import { type Freeze, needsReconcile } from '../../database/payouts/holds.ts';
import type { OutgoingRecord } from '../../database/payouts/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { list, section } from '../../web/list.ts';
import { formOf } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Visit } from '../page.ts';
import { badge, data, english, shownOnChain, time } from '../show.ts';

const PATH = '/operator/money';

/** Says that the signer itself is frozen, as the engines have last seen it, and what ends that; null if it is not. */
function signerFrozen(engines: readonly Pick<PayoutEngine, 'signerFreeze'>[]): Html | null {
  const freeze = engines.flatMap(({ signerFreeze }) => signerFreeze ?? []).at(0);
  if (!freeze) return null;
  return html`<p class="message attention">${badge('the signer is frozen', 'danger')} Since ${time(freeze.frozenAtMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}. It signs nothing on any network until an approver ends that: <code>quayside-signer thaw</code> prints what they are to sign.</p>`;
}

/** Transfers of a network that are shown. */
const SHOWN_MAX = 100;
/** Open refunds that they are compared with, of each state. */
const COMPARED_MAX = 1_000;

const reason = say('Reason, for the audit log');
const freezing = formOf(freezeMoneyOut, { path: `${PATH}/freeze`, inputs: ['network'] });
const thawing = formOf(thawMoneyOut, { path: `${PATH}/thaw`, inputs: ['network', 'cause'] });

/** Forms of the page of money out. */
export const freezeForms = [freezing, thawing];

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
  const thaws = freezes
    .filter((one) => !needsReconcile(one))
    .map((freeze) =>
      thawing.show(visit, {
        ...{ button: `End the freeze of ${placeOf(freeze)}…`, above: text(freeze), reason },
        given: { network: freeze.network ?? EVERYWHERE, cause: freeze.code },
      }),
    );
  const own = freezes.filter(needsReconcile);
  const networks = config.networks.filter(({ key }) => own.some(({ network }) => network === key));
  const reconciling = await Promise.all(
    networks.map(async ({ key }) => {
      const causes = own.filter(({ network }) => network === key).map(text);
      return html`${causes}${await unexplainedList(deps, visit, key)}<p>Compare it with an explorer; then <code data-copy>quayside payout reconcile ${key} --reason REASON</code> settles what paid a refund, and ends the freeze.</p>`;
    }),
  );
  const networkNames = config.networks.map(({ key }) => [key, null] as const);
  const freeze = freezing.show(visit, {
    ...{ button: 'Freeze…', opens: 'Freeze money out', reason },
    offers: { network: Object.fromEntries([[EVERYWHERE, say('every network')], ...networkNames]) },
    below: html`<p class="hint">The signer goes on for whoever has its socket. <code data-copy>quayside-signer freeze --reason REASON</code> stops that too.</p>`,
  });
  const state = freezes.length > 0 || signer ? null : html`<p>${badge('not frozen', 'good')}</p>`;
  return section('freeze', 'Freeze', html`${signer}${state}${waiting}${reconciling}${thaws}${freeze}`);
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
    ({ payer, nextNonce, countedNonce }) =>
      html`<p>${(countedNonce ?? nextNonce) - nextNonce} transactions of ${shown('address', family ? chains[family].address.format(payer) : payer)} are not known here.</p>`,
  );
  const transfers = list<OutgoingRecord>({
    caption: 'Unexplained',
    columns: [
      ['Transaction', ({ tx }) => shown('tx', tx)],
      ['Seen', ({ seenAtMs }) => time(seenAtMs)],
      ['Amount', ({ currency, units }) => data(coinText(config.networks, network, currency, units)), 'number lead'],
      ['To', ({ toKey }) => shown('address', family ? chains[family].address.format(toKey) : toKey)],
      ['May be', (one) => data(open.find((payout) => isPaidBy(payout, one))?.id ?? 'not ours')],
    ],
    rows,
    empty: '',
  });
  return html`${rows.length === 0 ? null : transfers}${nonces}`;
}
