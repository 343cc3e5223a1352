/** A refund of a payment is made: the form, with what is left and what the store may refund, and its review. */
import { createHash } from 'node:crypto';
import { addressFault, amountText, minorText, shownMinor, storeSuspended } from '../../acts/refund-words.ts';
import { cancelText, waitsForApproval } from '../../acts/refunds.ts';
import { readRefundAmount, refundReasons } from '../../core/refund.ts';
import { currencies } from '../../core/transfer.ts';
import type { CreateRefundOutcome, NewRefund, Refund, RefundRoom } from '../../database/refunds/refund.ts';
import type { Session } from '../../database/session.ts';
import { html } from '../../lib/html.ts';
import { facts, section } from '../../web/list.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { replayOf } from '../once.ts';
import { pathIn, type Reply, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { coinNames, confirmedText } from '../received.ts';
import { leftText, refundBadge, whatIsPaid } from '../refund-text.ts';
import { sentence, sentenceText } from '../sentence.ts';
import { data, faultMessage, networkTitle, price } from '../show.ts';
import { findPayment } from './payment.ts';
import { refundPath } from './refund.ts';

const ADDRESS_CHARS_MAX = 128;
const NOTE_CHARS_MAX = 500;
const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;
const PATH = '/s/:store/:mode/payments/:id/refund';

export const newRefundPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: PATH,
    needs: 'refunds:request',
    async answer(visit) {
      const session = await findPayment(deps, visit);
      return session && formPage(deps, visit, session, null);
    },
  },
  storeChange(deps, {
    path: PATH,
    needs: 'refunds:request',
    async plan(visit) {
      const session = await findPayment(deps, visit);
      return session && planRefund(deps, visit, session);
    },
  }),
];

async function formPage(
  { database, config }: DashboardDeps,
  visit: Visit<StoreAt>,
  session: Session,
  fault: string | null,
): Promise<Reply> {
  const { at, form, nowMs, words } = visit;
  const earlier = await database.refunds.list({ sessionId: session.id, limit: REFUNDS_SHOWN });
  const room = (await database.refunds.room(session.id, nowMs)) ?? { coins: [], dayLeftMinor: 0n };
  const chosen = room.coins.find(({ currency }) => currency === form.currency) ?? room.coins[0];
  const anyCoin = coinNames(room.coins.length > 0 ? room.coins.map(({ currency }) => currency) : currencies);
  const networks = [...new Set(room.coins.map(({ network }) => networkTitle(config, network)))].join(' / ');
  const { refundDailyMinor, refundWindowS, refundAutoMinor } = await database.stores.refundPolicy(at.storeId);
  const inCoins = (minor: bigint) => `${shownMinor(minor)} ${anyCoin}`;
  const option = (value: string, text: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen ? html` selected` : null}>${text}</option>`;
  const left = chosen && chosen.leftMinor > 0n ? minorText(chosen.leftMinor) : '';
  const limits = { amount: inCoins(BigInt(refundDailyMinor)), left: inCoins(room.dayLeftMinor) };
  return {
    title: words.say('refund-changes.title', { order: session.request.orderId }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
${section(
  'so-far',
  words.say('refund-changes.so_far'),
  facts([
    [words.say('refund-changes.price'), data(price(session))],
    [words.say('refund-changes.received'), data(confirmedText(session) ?? '–')],
    [
      words.say('refund-changes.earlier'),
      earlier.length === 0
        ? words.say('general.none')
        : html`${earlier.map((one) => html`${data(amountText(one))} ${refundBadge(words, one)} `)}`,
    ],
    [words.say('refund-changes.left'), data(leftText(room) || '–')],
    [
      words.say('refund-changes.may_refund'),
      words.html('refund-changes.limits', { ...limits, days: Math.floor(refundWindowS / DAY_S) }),
    ],
    [
      words.say('refund-changes.approval'),
      words.html('refund-changes.above', { amount: inCoins(BigInt(refundAutoMinor)) }),
    ],
  ]),
)}
<form method="post" action="${visit.path}" class="card" aria-labelledby="new"><h2 id="new">${words.say('refund-changes.new')}</h2>
${changeFields(visit)}
<label>${words.say('refund-changes.amount')} <input name="amount" dir="ltr" inputmode="decimal" autocomplete="off" placeholder="4.50" value="${form.amount ?? left}" required></label>
<label>${words.say('refund-changes.coin')} <select name="currency">${room.coins.map(({ currency, network }) =>
      option(
        currency,
        words.say('general.on_network', { currency, network: networkTitle(config, network) }),
        currency === form.currency,
      ),
    )}</select></label>
<label>${words.html('refunds.address_on', { network: networks || '–' })} <input name="address" dir="ltr" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}"></label>
<p class="hint">${words.say('refund-changes.address_hint')}</p>
<label>${words.say('refunds.reason')} <select name="reason">${option('', words.say('refund-changes.not_said'), false)}${refundReasons.map(
      (one) => option(one, words.say(`refunds.reason_${one}`), one === form.reason),
    )}</select></label>
<label>${words.say('refunds.note')} <input name="description" maxlength="${NOTE_CHARS_MAX}" value="${form.description ?? ''}"></label>
<p class="actions"><a class="button plain" href="${pathIn(at, `payments/${session.id}`)}">${words.say('change.cancel')}</a> <button>${words.say('refund-changes.go_on')}</button></p>
</form>`,
  };
}

/** Reads the form as the API reads a body. @returns what is wrong with it */
function readForm(visit: Visit<StoreAt>, session: Session): NewRefund | string {
  const { at, form, visitor, nowMs, words } = visit;
  const amountMinor = readRefundAmount((form.amount ?? '').trim());
  if (typeof amountMinor === 'string') return words.say('refund-changes.bad_amount');
  const currency = currencies.find((one) => one === form.currency);
  if (!currency) return words.say('refund-changes.choose_coin');
  const [address, description] = [(form.address ?? '').trim(), (form.description ?? '').trim()];
  if (address.length > ADDRESS_CHARS_MAX) return words.say('refund-changes.address_long', { max: ADDRESS_CHARS_MAX });
  if (description.length > NOTE_CHARS_MAX) return words.say('refund-changes.note_long', { max: NOTE_CHARS_MAX });
  const reason = refundReasons.find((one) => one === form.reason) ?? null;
  const meaning = JSON.stringify([session.id, String(amountMinor), currency, address, description, reason]);
  const replay = replayOf(visit, 'create refund', createHash('sha256').update(meaning).digest('hex'));
  return {
    ...{ ...at, sessionId: session.id, amountMinor, currency, reason, metadata: null, replay, nowMs },
    refundId: `dashboard-${replay.idempotencyKey}`,
    description: description || null,
    refundAddress: address || null,
    requestedBy: visitor.person.id,
  };
}

type Made = Extract<CreateRefundOutcome, Readonly<{ refund: Refund }>>;

async function planRefund(deps: DashboardDeps, visit: Visit<StoreAt>, session: Session): Promise<Planned> {
  const { at, nowMs, words } = visit;
  const { database } = deps;
  const asked = readForm(visit, session);
  if (typeof asked === 'string') return formPage(deps, visit, session, asked);
  const refused = async (outcome: Exclude<CreateRefundOutcome, Made>) => {
    const room = await database.refunds.room(session.id, nowMs);
    return formPage(deps, visit, session, refusalText(deps, visit, session, outcome, room));
  };
  const isMade = ({ kind, refund }: Made): Reply => ({
    to: refundPath(at, refund),
    said: words.say(kind === 'replayed' ? 'refund-changes.made_already' : madeText(refund)),
  });
  const tried = await database.refunds.create({ ...asked, isDryRun: true }, deps.checkDestination);
  if (!('refund' in tried)) return refused(tried);
  if (tried.kind === 'replayed') return isMade(tried);
  const { refund } = tried;
  const { refundCancelWindowS } = await database.stores.refundPolicy(at.storeId);
  const canceling = cancelText(refundCancelWindowS, refund.needsApproval || !refund.destination);
  return {
    command: 'create refund',
    target: refund.id,
    review: {
      title: words.say('refund-changes.review', { amount: amountText(refund) }),
      consequence: html`${whatIsPaid(deps.config, words, refund)}
${refund.needsApproval ? html`<p>${words.say('refund-changes.needs_approval')}</p>` : null}<p>${sentence(words, canceling)}</p>`,
      button: words.say('refund-changes.button', { amount: amountText(refund) }),
      back: visit.path,
      needsSudo: true,
    },
    async act(own) {
      const done = await own.refunds.create(asked, deps.checkDestination);
      return 'refund' in done ? isMade(done) : refused(done);
    },
  };
}

/** Says what became of a refund that was just made: most often nothing is paid yet. */
function madeText(refund: Refund) {
  if (waitsForApproval(refund)) return 'refund-changes.made_waits_approval';
  return refund.destination ? 'refund-changes.made' : 'refund-changes.made_waits_address';
}

/** Says why a refund was not made. */
function refusalText(
  { config }: DashboardDeps,
  { words }: Visit<StoreAt>,
  { payments }: Session,
  outcome: Exclude<CreateRefundOutcome, Made>,
  room: RefundRoom | null,
): string {
  switch (outcome.kind) {
    case 'refused':
      return words.say(`refunds.refused_${outcome.why}`, {
        left: room ? leftText(room) : '–',
        today: room ? shownMinor(room.dayLeftMinor) : '–',
      });
    case 'bad_destination':
      return sentenceText(words, addressFault(config.networks, payments[0]?.networkKey ?? 'test:', outcome.why));
    case 'store_suspended':
      return sentenceText(words, storeSuspended.because);
    case 'not_adopted':
      return words.say('refunds.not_adopted');
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return words.say('refunds.form_reused');
    default:
      return words.say('refunds.no_payment');
  }
}
