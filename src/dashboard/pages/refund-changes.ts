/**
 * What people do about refunds: make one for a payment, approve or refuse it, cancel it, and name another address. Each
 * goes through the same database command as the API or the operator's tool.
 */
import { createHash } from 'node:crypto';
import type { Act } from '../../acts/act.ts';
import { amountText, minorText, shownMinor } from '../../acts/refund-words.ts';
import { approveRefund, cancelText, redirectRefund, rejectRefund, waitsForApproval } from '../../acts/refunds.ts';
import { readRefundAmount, refundReasons } from '../../core/refund.ts';
import { type Currency, currencies } from '../../core/transfer.ts';
import type { NewRefund, Refund, RefundRoom } from '../../database/refunds/refund.ts';
import type { Session } from '../../database/session.ts';
import { type Html, html } from '../../lib/html.ts';
import { claimUrl } from '../../payments/destination.ts';
import { facts } from '../../web/list.ts';
import { planAct } from '../act-form.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { coinNames, confirmedText } from '../received.ts';
import { namedBy, readRefundPeople, refundBackground } from '../refund-people.ts';
import { leftText, refundBadge, refundsPath, refusalText, waitsForAddress, whatIsPaid } from '../refund-text.ts';
import { sentence } from '../sentence.ts';
import { copied, data, faultMessage, networkTitle, price } from '../show.ts';
import type { Words } from '../texts.ts';
import { findPayment } from './payment.ts';
import { paymentPath } from './payments.ts';
import { findRefund, refundPage } from './refunds.ts';

const ADDRESS_CHARS_MAX = 128;
const NOTE_CHARS_MAX = 500;
const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;

export const refundChanges = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/payments/:id/refund',
    needs: 'refunds:request',
    async answer(visit) {
      const session = await findPayment(deps, visit);
      return session && formPage(deps, visit, session, null);
    },
  },
  storeChange(deps, {
    path: '/s/:store/:mode/payments/:id/refund',
    needs: 'refunds:request',
    plan: (visit) => planRefund(deps, visit),
  }),
  ...(
    [
      ['approve', 'refunds:decide', planApproval],
      ['refuse', 'refunds:decide', planRefusal],
      ['cancel', 'refunds:request', planCancel],
      ['destination', 'refunds:decide', planDestination],
      ['link', 'payments:manage', planLink],
    ] as const
  ).map(([act, needs, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/refunds/:refund/${act}`,
      needs,
      async plan(visit) {
        const refund = await findRefund(deps, visit);
        return refund && planOf(deps, visit, refund);
      },
    }),
  ),
];

/** Says of which coins and on which network a refund is paid. */
const coinOption = (
  words: Words,
  config: DashboardDeps['config'],
  { currency, network }: RefundRoom['coins'][number],
  chosen: string | undefined,
): Html =>
  html`<option value="${currency}"${currency === chosen ? html` selected` : null}>${words.say('general.on_network', { currency, network: networkTitle(config, network) })}</option>`;

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
  return {
    title: words.say('refund-changes.title', { order: session.request.orderId }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section class="card" aria-labelledby="so-far"><h2 id="so-far">${words.say('refund-changes.so_far')}</h2>${facts([
      [words.say('refund-changes.price'), data(price(session))],
      [words.say('refund-changes.received'), data(confirmedText(session) ?? '–')],
      [words.say('refund-changes.earlier'), earlierText(words, earlier)],
      [words.say('refund-changes.left'), data(leftText(room) || '–')],
      [
        words.say('refund-changes.may_refund'),
        words.html('refund-changes.limits', {
          amount: `${shownMinor(BigInt(refundDailyMinor))} ${anyCoin}`,
          left: `${shownMinor(room.dayLeftMinor)} ${anyCoin}`,
          days: Math.floor(refundWindowS / DAY_S),
        }),
      ],
      [
        words.say('refund-changes.approval'),
        words.html('refund-changes.above', { amount: `${shownMinor(BigInt(refundAutoMinor))} ${anyCoin}` }),
      ],
    ])}</section>
<form method="post" action="${visit.path}" class="card" aria-labelledby="new"><h2 id="new">${words.say('refund-changes.new')}</h2>
${changeFields(visit)}
<label>${words.say('refund-changes.amount')} <input name="amount" dir="ltr" inputmode="decimal" autocomplete="off" placeholder="4.50" value="${form.amount ?? (chosen && chosen.leftMinor > 0n ? minorText(chosen.leftMinor) : '')}" required></label>
<label>${words.say('refund-changes.coin')} <select name="currency">${room.coins.map((one) => coinOption(words, config, one, form.currency))}</select></label>
<label>${words.html('refunds.address_on', { network: networks || '–' })} <input name="address" dir="ltr" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}"></label>
<p class="hint">${words.say('refund-changes.address_hint')}</p>
<label>${words.say('refunds.reason')} <select name="reason"><option value="">${words.say('refund-changes.not_said')}</option>${refundReasons.map(
      (one) =>
        html`<option value="${one}"${one === form.reason ? html` selected` : null}>${words.say(`refunds.reason_${one}`)}</option>`,
    )}</select></label>
<label>${words.say('refunds.note')} <input name="description" maxlength="${NOTE_CHARS_MAX}" value="${form.description ?? ''}"></label>
<p class="actions"><a class="button plain" href="${paymentPath(at, session)}">${words.say('change.cancel')}</a> <button>${words.say('refund-changes.go_on')}</button></p>
</form>`,
  };
}

/** Lists what was refunded before. */
function earlierText(words: Words, refunds: readonly Refund[]): Html | string {
  if (refunds.length === 0) return words.say('general.none');
  return html`${refunds.map((one) => html`${data(amountText(one))} ${refundBadge(words, one)} `)}`;
}

/** Reads the form as the API reads a body. @returns what is wrong with it */
function readForm(visit: Visit<StoreAt>, session: Session): NewRefund | string {
  const { at, form, visitor, nowMs, words } = visit;
  const amountMinor = readRefundAmount((form.amount ?? '').trim());
  if (typeof amountMinor === 'string') return words.say('refund-changes.bad_amount');
  const currency: Currency | undefined = currencies.find((one) => one === form.currency);
  if (!currency) return words.say('refund-changes.choose_coin');
  const [address, description] = [(form.address ?? '').trim(), (form.description ?? '').trim()];
  if (address.length > ADDRESS_CHARS_MAX) return words.say('refund-changes.address_long', { max: ADDRESS_CHARS_MAX });
  if (description.length > NOTE_CHARS_MAX) return words.say('refund-changes.note_long', { max: NOTE_CHARS_MAX });
  const reason = refundReasons.find((one) => one === form.reason) ?? null;
  const id = idOfForm(visitor, form.once, nowMs);
  const meaning = JSON.stringify([session.id, String(amountMinor), currency, address, description, reason]);
  const bodyHash = createHash('sha256').update(meaning).digest('hex');
  return {
    ...at,
    refundId: `dashboard-${id}`,
    sessionId: session.id,
    amountMinor,
    currency,
    reason,
    description: description || null,
    metadata: null,
    refundAddress: address || null,
    requestedBy: visitor.person.id,
    replay: { idempotencyKey: id, path: 'dashboard: create refund', bodyHash },
    nowMs,
  };
}

async function planRefund(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const { words } = visit;
  const asked = readForm(visit, session);
  if (typeof asked === 'string') return formPage(deps, visit, session, asked);
  const tried = await deps.database.refunds.create({ ...asked, isDryRun: true }, deps.checkDestination);
  const refused = async (outcome: Parameters<typeof refusalText>[3]) =>
    formPage(
      deps,
      visit,
      session,
      refusalText(deps, words, session, outcome, await deps.database.refunds.room(session.id, visit.nowMs)),
    );
  if (!('refund' in tried)) return refused(tried);
  const { refund } = tried;
  const { refundCancelWindowS } = await deps.database.stores.refundPolicy(visit.at.storeId);
  const isMade = (id: string): Reply => ({
    to: `${refundsPath(visit.at)}/${id}`,
    said: words.say('refund-changes.made_already'),
  });
  if (tried.kind === 'replayed') return isMade(refund.id);
  return {
    command: 'create refund',
    target: refund.id,
    review: {
      title: words.say('refund-changes.review', { amount: amountText(refund) }),
      consequence: html`${whatIsPaid(deps.config, words, refund)}
${refund.needsApproval ? html`<p>${words.say('refund-changes.needs_approval')}</p>` : null}<p>${sentence(words, cancelText(refundCancelWindowS, refund.needsApproval || !refund.destination))}</p>`,
      button: words.say('refund-changes.button', { amount: amountText(refund) }),
      back: `${paymentPath(visit.at, session)}/refund`,
      needsSudo: true,
    },
    async act(database) {
      const done = await database.refunds.create(asked, deps.checkDestination);
      if (!('refund' in done)) return refused(done);
      return done.kind === 'replayed'
        ? isMade(done.refund.id)
        : onward(visit.at, done.refund, madeText(words, done.refund));
    },
  };
}

/** Says what became of a refund that was just made: most often nothing is paid yet. */
function madeText(words: Words, refund: Refund): string {
  if (waitsForApproval(refund)) return words.say('refund-changes.made_waits_approval');
  return words.say(refund.destination ? 'refund-changes.made' : 'refund-changes.made_waits_address');
}

/** Says who asked for it, who named the address, and what the payment received and has left. */
async function background(deps: DashboardDeps, { words, nowMs }: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const people = await readRefundPeople(deps, words, refund);
  const shown = facts(await refundBackground(deps, words, refund, people, nowMs));
  return html`${shown}${refund.destination && html`<p>${namedBy(words, refund.destination, people.named)}</p>`}`;
}

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund) => Promise<Planned>;

const onward = (at: StoreAt, refund: Refund, said: string): Reply => ({ to: `${refundsPath(at)}/${refund.id}`, said });

/** A form on a refund's page, about what an owner decides. */
const planOn =
  <I, P extends object>(
    act: Act<I, P>,
    textsOf: (visit: Visit<StoreAt>) => Readonly<Record<string, string | undefined>>,
    showsBackground: boolean,
  ): PlanOf =>
  async (deps, visit, refund) =>
    planAct(deps, visit, act, {
      texts: { refund: refund.id, ...textsOf(visit) },
      back: `${refundsPath(visit.at)}/${refund.id}`,
      reason: visit.form.because?.trim() || null,
      refused: (fault) => refundPage(deps, visit, refund, fault),
      above: showsBackground ? await background(deps, visit, refund) : null,
    });

const planApproval = planOn(approveRefund, ({ form }) => ({ seen: form.seen ?? '' }), true);
const planRefusal = planOn(rejectRefund, () => ({}), true);
const planDestination = planOn(redirectRefund, ({ form }) => ({ address: form.address ?? '' }), false);

const planCancel: PlanOf = async (deps, visit, refund) => {
  const { at, form, visitor, nowMs, words } = visit;
  const { refundId } = refund;
  const replay = {
    idempotencyKey: idOfForm(visitor, form.once, nowMs),
    path: `dashboard: cancel ${refundId}`,
    bodyHash: '',
  };
  return {
    command: 'cancel refund',
    target: refund.id,
    // Seconds count.
    review: null,
    async act(database) {
      const { kind } = await database.refunds.cancel({ ...at, refundId, replay, nowMs });
      if (kind === 'done' || kind === 'replayed') return onward(at, refund, words.say('refund-changes.canceled'));
      const now = (await findRefund(deps, visit)) ?? refund;
      return refundPage(
        deps,
        visit,
        now,
        words.say(kind === 'in_doubt' ? 'refund-changes.cancel_in_doubt' : 'refund-changes.cancel_late'),
      );
    },
  };
};

/** Whoever has the link may name where the refund goes: who saw it is recorded, and that staff had seen it. */
const planLink: PlanOf = async (deps, visit, refund) => {
  const { at, words } = visit;
  const { id, claim } = refund;
  if (!claim || !waitsForAddress(refund)) return refundPage(deps, visit, refund, words.say('refund-changes.link_gone'));
  const title = words.say('refund-changes.link_title');
  const path = `${refundsPath(at)}/${id}`;
  return {
    command: 'show claim link',
    target: id,
    review: {
      title,
      consequence: html`<p class="message attention">${words.say('refund-changes.link_text')}</p>`,
      button: words.say('refund-changes.link_button'),
      back: path,
      needsSudo: true,
    },
    async act(database, act) {
      await database.refunds.recordLinkSeen(id, act);
      return {
        title,
        content: html`<section class="card">${copied(words.say('refunds.claim_link'), claimUrl(claim.token, deps.config))}
<p class="hint">${words.say('refund-changes.link_hint')}</p>
<p><a href="${path}">${words.say('refund-changes.link_back')}</a></p></section>`,
      };
    },
  };
};
