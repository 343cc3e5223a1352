/** One refund: what it waits for, who did what, and what can be decided about it now. */
import type { Act } from '../../acts/act.ts';
import { amountText } from '../../acts/refund-words.ts';
import { approveRefund, redirectRefund, rejectRefund, waitsForApproval } from '../../acts/refunds.ts';
import { delayOf } from '../../core/payout.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import { type Html, html } from '../../lib/html.ts';
import { claimUrl } from '../../payments/destination.ts';
import { facts } from '../../web/list.ts';
import { planAct } from '../act-form.ts';
import { changeForm, hidden, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { replayOf } from '../once.ts';
import { may, pathIn, type Reply, type StoreAt, type StorePage, type Visit } from '../page.ts';
import { refundBackground, refundState, waitsForAddress } from '../refund-text.ts';
import {
  copied,
  countdown,
  data,
  english,
  explorerOf,
  faultMessage,
  grouped,
  networkTitle,
  reloads,
  shownOnChain,
  time,
} from '../show.ts';

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund) => Promise<Planned>;

export const refundPages = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/refunds/:refund',
    needs: 'payments:read',
    async answer(visit) {
      const refund = await findRefund(deps, visit);
      return refund && refundPage(deps, visit, refund, null);
    },
  },
  ...(
    [
      ['approve', 'refunds:decide', planOn(approveRefund, ({ form }) => ({ seen: form.seen ?? '' }), true)],
      ['refuse', 'refunds:decide', planOn(rejectRefund, () => ({}), true)],
      ['cancel', 'refunds:request', planCancel],
      ['destination', 'refunds:decide', planOn(redirectRefund, ({ form }) => ({ address: form.address ?? '' }), false)],
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

export const refundPath = (at: StoreAt, { id }: Pick<Refund, 'id'>): string => pathIn(at, `refunds/${id}`);

/** Returns the refund that the path names; null where the store has none by that id in this mode. */
async function findRefund({ database }: DashboardDeps, { at, params }: Visit<StoreAt>): Promise<Refund | null> {
  const refund = await database.refunds.findBy({ id: params.refund ?? '' });
  return refund && refund.storeId === at.storeId && refund.mode === at.mode ? refund : null;
}

/** Renders one refund, with the forms for what can be done about it now. */
async function refundPage(
  deps: DashboardDeps,
  visit: Visit<StoreAt>,
  refund: Refund,
  fault: Html | string | null,
): Promise<Reply> {
  const { at, words } = visit;
  return {
    title: words.say('refunds.title', { amount: amountText(refund) }),
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}<p><a href="${pathIn(at, 'refunds')}">${words.say('refunds.all')}</a></p>
${refund.status === 'processing' && fault === null ? reloads(refundPath(at, refund)) : null}<section class="card" aria-labelledby="state"><h2 id="state">${refundState(words, refund)}</h2>
${await waiting(deps, visit, refund)}${await described(deps, visit, refund)}</section>
${await forms(deps, visit, refund)}`,
  };
}

async function described(deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, words } = visit;
  const { config } = deps;
  const { network, destination, reason, description, failureReason, tx, receiptNumber } = refund;
  const background = await refundBackground(deps, visit, refund);
  const payee = destination && ({ network, kind: 'address', text: destination.address } as const);
  const timeOf = (name: 'processing' | 'canceled' | 'ended', ms: number | null) =>
    ms === null ? null : ([words.say(`refunds.${name}`), time(ms)] as const);
  return facts([
    [words.say('refunds.id'), html`<code>${refund.refundId}</code>`],
    [
      words.say('refunds.order'),
      html`<a href="${pathIn(at, `payments/${refund.sessionId}`)}">${data(refund.orderId)}</a>`,
    ],
    [words.say('refunds.network'), data(networkTitle(config, network))],
    [
      words.say('refunds.to'),
      payee
        ? words.html('refunds.to_address', {
            address: html`${grouped(payee.text)}${explorerOf({ config, words }, payee)}`,
            source: background.named ?? '',
          })
        : words.say('refunds.no_address'),
    ],
    ...background.facts,
    reason === null ? null : [words.say('refunds.reason'), words.say(`refunds.reason_${reason}`)],
    description === null ? null : [words.say('refunds.note'), data(description)],
    failureReason === null ? null : [words.say('refunds.failure'), data(failureReason)],
    tx === null
      ? null
      : [words.say('refunds.transaction'), shownOnChain({ config, words }, { network, kind: 'tx', text: tx }, 'whole')],
    receiptNumber === null ? null : [words.say('refunds.receipt'), data(receiptNumber)],
    timeOf('processing', refund.processingAtMs),
    timeOf('canceled', refund.canceledAtMs),
    timeOf('ended', refund.processedAtMs),
  ]);
}

/** Says what the refund waits for. */
async function waiting({ database }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, nowMs, words } = visit;
  const { id, status, claim } = refund;
  if (claim && waitsForAddress(refund)) {
    const showing = changeForm(visit, `${refundPath(at, refund)}/link`, words.say('refund-changes.link_button'));
    return html`<p>${words.html('refunds.waits_for_address', { time: time(claim.untilS * 1000) })}</p>${may(visit, 'payments:manage') ? showing : null}`;
  }
  const above = waitsForApproval(refund) ? html`<p>${words.say('refunds.above_limit')}</p>` : null;
  if (status !== 'processing') return html`${above}`;
  const payout = await database.payouts.find(id);
  const delay = payout && delayOf(payout);
  const cancelUntilMs = await cancelEndMs(database, refund);
  const canceling = { time: time(cancelUntilMs), left: countdown(cancelUntilMs - nowMs) };
  const signing = html`<p class="message attention">${words.say('refund-approvals.why')} <code data-copy>quayside show ${id} --request</code></p>`;
  return html`${above}${cancelUntilMs > nowMs ? html`<p data-while-counting>${words.html('refunds.cancel_until', canceling)}</p>` : null}
${delay ? html`<p class="message attention">${english(delay.message)}</p>` : null}${delay?.code === 'signer_refused_approval' ? signing : null}`;
}

const cancelEndMs = async (database: DashboardDeps['database'], refund: Refund): Promise<number> =>
  (refund.processingAtMs ?? 0) + (await database.stores.refundPolicy(refund.storeId)).refundCancelWindowS * 1000;

/** The forms for what this visitor may do about the refund in its state. */
async function forms({ database, config }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { at, nowMs, words } = visit;
  const { status, heldKind, destination, network } = refund;
  const to = (act: string) => `${refundPath(at, refund)}/${act}`;
  const seen = hidden('seen', destination?.key ?? '');
  const approving = destination
    ? changeForm(visit, to('approve'), words.say('refunds.approve'), { fields: seen, isMain: true })
    : html`<p>${words.say('refunds.address_first')}</p>`;
  const because = html`<label>${words.say('refunds.why_refused')} <input name="because" maxlength="200" required></label>`;
  const deciding = html`<section class="card" aria-labelledby="decide"><h2 id="decide">${words.say('refunds.decide')}</h2>${approving}
${changeForm(visit, to('refuse'), words.say('refunds.refuse'), { fields: because })}</section>`;
  const canceling = changeForm(visit, to('cancel'), words.say('refunds.cancel'), {
    attributes: html` class="card" data-while-counting`,
  });
  const redirecting = changeForm(visit, to('destination'), words.say('refunds.change_address'), {
    attributes: html` class="card" aria-labelledby="redirect"`,
    fields: html`<h2 id="redirect">${words.say(destination ? 'refunds.redirect' : 'refunds.name_address')}</h2>
<label>${words.html('refunds.address_on', { network: networkTitle(config, network) })} <input name="address" maxlength="128" dir="ltr" autocomplete="off" spellcheck="false" required></label>
<p class="hint">${words.say('refunds.redirect_hint')}</p>`,
  });
  const isOpen = (status === 'pending' || status === 'processing') && heldKind === null;
  const isCancelable = isOpen && status === 'processing' && (await cancelEndMs(database, refund)) > nowMs;
  return html`${waitsForApproval(refund) && may(visit, 'refunds:decide') ? deciding : null}
${isCancelable && may(visit, 'refunds:request') ? canceling : null}
${isOpen && may(visit, 'refunds:decide') ? redirecting : null}`;
}

/** Plans an act about what an owner decides. @param isJudged whether its review says what an approver has to know */
function planOn<I, P extends object>(
  act: Act<I, P>,
  textsOf: (visit: Visit<StoreAt>) => Readonly<Record<string, string | undefined>>,
  isJudged: boolean,
): PlanOf {
  return async (deps, visit, refund) => {
    const background = isJudged ? await refundBackground(deps, visit, refund) : null;
    return planAct(deps, visit, act, {
      texts: { refund: refund.id, ...textsOf(visit) },
      back: refundPath(visit.at, refund),
      reason: visit.form.because?.trim() || null,
      refused: (fault) => refundPage(deps, visit, refund, fault),
      above: background && html`${facts(background.facts)}${background.named && html`<p>${background.named}</p>`}`,
    });
  };
}

async function planCancel(deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Planned> {
  const { at, nowMs, words } = visit;
  const { id, refundId } = refund;
  return {
    command: 'cancel refund',
    target: id,
    // Seconds count.
    review: null,
    async act(database) {
      const { kind } = await database.refunds.cancel({
        ...{ ...at, refundId, nowMs },
        replay: replayOf(visit, `cancel ${refundId}`),
      });
      if (kind === 'done' || kind === 'replayed') {
        return { to: refundPath(at, refund), said: words.say('refund-changes.canceled') };
      }
      const fault = words.say(kind === 'in_doubt' ? 'refund-changes.cancel_in_doubt' : 'refund-changes.cancel_late');
      return refundPage(deps, visit, (await findRefund(deps, visit)) ?? refund, fault);
    },
  };
}

/** The link's holder may name the refund's address, so each person who sees the link is recorded. */
async function planLink(deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Planned> {
  const { at, words } = visit;
  const { id, claim } = refund;
  if (!claim || !waitsForAddress(refund)) return refundPage(deps, visit, refund, words.say('refund-changes.link_gone'));
  const title = words.say('refund-changes.link_title');
  const path = refundPath(at, refund);
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
}
