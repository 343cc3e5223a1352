/**
 * Freezes of money out, of one network or of every network: who froze it and why, a form for the end of each, and for
 * one more.
 */
import { REASON_CHARS_MAX } from '../../acts/act.ts';
import { coinText } from '../../chains/coin-text.ts';
import { chains } from '../../chains/index.ts';
import { FROZEN_BY_OPERATOR, type Freeze, OUTFLOW_FOREIGN } from '../../database/freezes.ts';
import type { PayoutEngine } from '../../database/money-out.ts';
import type { OutgoingRecord } from '../../database/outgoing.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { changeFields, type Planned } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { shownOnChain } from '../explorer.ts';
import type { Reply, Visit } from '../page.ts';
import { badge, data, time } from '../show.ts';

const PATH = '/operator/money';
/** Transfers that one confirmation shows and acknowledges. */
const ACKNOWLEDGED_MAX = 100;

/** Returns the page with what is wrong with the form. */
type Back = (fault: string) => Promise<Reply>;

/** Says that the signer itself is frozen, as the engines have last seen it, and what ends that; null if it is not. */
export function signerFrozen(engines: readonly Pick<PayoutEngine, 'signerFreeze'>[]): Html | null {
  const freeze = engines.flatMap(({ signerFreeze }) => signerFreeze ?? []).at(0);
  if (!freeze) return null;
  return html`<p class="message attention">${badge('the signer is frozen', 'danger')} Since ${time(freeze.frozenAtMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}. It signs nothing on any network until an approver ends that: <code>quayside-signer thaw</code> prints what they are to sign.</p>`;
}

/** What is frozen, in words. */
const placeOf = ({ network }: Pick<Freeze, 'network'>): string => network ?? 'every network';

/** Returns the transfers that the end of a freeze acknowledges. */
const foreignOf = async ({ database }: DashboardDeps, { network, code }: Freeze): Promise<readonly OutgoingRecord[]> =>
  network && code === OUTFLOW_FOREIGN ? database.listForeign(network, ACKNOWLEDGED_MAX) : [];

const reasonField = html`<label>Reason, for the audit log <input name="because" maxlength="${REASON_CHARS_MAX}" required></label>`;

/** Shows what is frozen, and the forms. */
export async function freezeSection(deps: DashboardDeps, visit: Visit<null>): Promise<Html> {
  const { database, config } = deps;
  const freezes = await database.listFreezes();
  const signer = signerFrozen(await database.listEngines());
  const frozen = await Promise.all(
    freezes.map(async (freeze) => {
      const through = (await foreignOf(deps, freeze)).at(-1)?.id;
      return html`<form method="post" action="${PATH}/thaw">${changeFields(visit)}
<p>${badge('frozen', 'danger')} ${data(placeOf(freeze))} since ${time(freeze.sinceMs)}, by ${data(freeze.frozenBy)}: ${data(freeze.reason)}</p>
<input type="hidden" name="network" value="${freeze.network ?? ''}"><input type="hidden" name="cause" value="${freeze.code}">${
        through === undefined ? null : html`<input type="hidden" name="through" value="${String(through)}">`
      }${reasonField}<button class="plain">End the freeze of ${placeOf(freeze)}…</button></form>`;
    }),
  );
  const options = config.networks.map(({ key }) => html`<option value="${key}">${key}</option>`);
  const freezing = html`<details><summary>Freeze money out</summary><form method="post" action="${PATH}/freeze">${changeFields(visit)}
<label>Network <select name="network"><option value="">every network</option>${options}</select></label>
${reasonField}<button class="plain">Freeze…</button></form>
<p class="hint">The signer goes on for whoever has its socket. <code data-copy>quayside-signer freeze --reason REASON</code> stops that too.</p></details>`;
  const state = freezes.length > 0 || signer ? null : html`<p>${badge('not frozen', 'good')}</p>`;
  return section('freeze', 'Freeze', html`${signer}${state}${frozen}${freezing}`);
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
      const isNew = await database.freezePayouts(freeze, act);
      return { to: PATH, said: isNew ? `Money out is frozen on ${place}.` : 'It was frozen already.' };
    },
  };
}

export async function planThaw(deps: DashboardDeps, visit: Visit<null>, back: Back): Promise<Planned> {
  const { form } = visit;
  const reason = reasonOf(visit);
  const isIt = (one: Freeze) => (one.network ?? '') === form.network && one.code === form.cause;
  const freeze = (await deps.database.listFreezes()).find(isIt);
  if (!freeze) return back('That freeze is over.');
  if (reason === '') return back(NO_REASON);
  // What came since the page was shown is not among them.
  const foreign = (await foreignOf(deps, freeze)).filter(({ id }) => id <= Number(form.through));
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
      ])}${foreign.length === 0 ? null : foreignList(deps, visit, foreign)}<p>Payouts that wait are signed and sent again, on networks without another freeze.</p>`,
      button: 'End the freeze',
      back: PATH,
      needsSudo: true,
      isDangerous: true,
    },
    async act(own, act) {
      const ended = await own.thawPayouts({ freezes: [freeze], transfers: foreign.map(({ id }) => id) }, act);
      if (ended.length > 0) return { to: PATH, said: 'The freeze is ended.' };
      const isLeft = (await own.listFreezes()).some(isIt);
      const more =
        'The network stays frozen: more has left the wallets than was shown. Look at it, and end the freeze again.';
      return { to: PATH, said: isLeft ? more : 'It was ended already.' };
    },
  };
}

/** Shows what the end of a freeze acknowledges, and what that means. */
const foreignList = ({ config }: DashboardDeps, { words }: Visit<null>, foreign: readonly OutgoingRecord[]): Html =>
  html`${list<OutgoingRecord>({
    caption: 'Transfers',
    columns: [
      ['Transaction', ({ network, tx }) => shownOnChain({ config, words }, { network, kind: 'tx', text: tx })],
      [
        'Amount',
        ({ network, currency, units }) => data(coinText(config.networks, network, currency, units)),
        'number lead',
      ],
      [
        'Address',
        ({ network, to }) => {
          const family = config.networks.find(({ key }) => key === network)?.family;
          const text = family ? chains[family].address.format(to) : to;
          return shownOnChain({ config, words }, { network, kind: 'address', text });
        },
      ],
    ],
    rows: foreign,
    empty: '',
  })}<p class="hint">These transfers are acknowledged: they settle no refund any more. If a refund was lost with a restored backup, have the merchant request it again first. Later, a refund of the same amount to the same address waits until its payout is resolved.</p>`;
