/** One refund: what it waits for, who did what, and what can be decided about it now. */
import { refuse, say } from '../../acts/act.ts';
import { amountText } from '../../acts/refund-words.ts';
import { approveRefund, redirectRefund, rejectRefund, waitsForApproval } from '../../acts/refunds.ts';
import { delayOf } from '../../core/payout.ts';
import type { Refund } from '../../database/refunds/refund.ts';
import { type Html, html } from '../../lib/html.ts';
import { claimUrl } from '../../payments/destination.ts';
import { facts, section } from '../../web/list.ts';
import { browserAct, formOf, isSent, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { may, type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { refundBackground, refundState, waitsForAddress } from '../refund-text.ts';
import { countdown, data, english, explorerOf, grouped, networkTitle, reloads, shownOnChain, time } from '../show.ts';

const PATH = '/s/:store/:mode/refunds/:refund';

const refundField = { label: say('Refund id'), isArgument: true } as const;
const gone = refuse('not_found', say('There is no such payment in this store and mode.'));

const cancelRefund = browserAct({
  name: 'cancel refund',
  needs: 'refunds:request',
  fields: { refund: refundField },
  plan: async ({ deps, visit }) => (await findRefund(deps, visit)) ?? gone,
  target: ({ id }) => id,
  // Nothing is reviewed: seconds count.
  async run({ database, newId, nowMs, act }, { storeId, mode, refundId }) {
    const replay = { idempotencyKey: newId, path: `dashboard: cancel ${refundId}`, bodyHash: '' };
    const { kind } = await database.refunds.cancel({ storeId, mode, refundId, nowMs, replay, act });
    if (kind === 'done' || kind === 'replayed') return { said: say('The refund is canceled.'), json: {} };
    return refuse(
      'refused',
      say(
        kind === 'in_doubt'
          ? 'It cannot be canceled now: whether it was paid already is being checked. Try again in ten minutes; then ask the operator.'
          : 'It can no longer be canceled: its payment is in progress, or it has ended.',
      ),
    );
  },
});

/** The link's holder may name the refund's address, so each person who sees the link is recorded. */
const showLink = browserAct({
  name: 'show claim link',
  needs: 'payments:manage',
  asks: 'second factor',
  fields: { refund: refundField },
  async plan({ deps, visit }) {
    const refund = await findRefund(deps, visit);
    if (!refund) return gone;
    const { id, claim } = refund;
    if (!claim || !waitsForAddress(refund)) return refuse('refused', say('The refund waits for no address any more.'));
    return { id, url: claimUrl(claim.token, deps.config) };
  },
  review: ({ id }) => ({
    title: say('Link for the payer of this refund'),
    target: id,
    facts: [],
    notes: [
      say(
        'Whoever has this link can name the address that this refund goes to. Give it to the payer and nobody else. The audit log says who has seen it, and the refund says that somebody had.',
      ),
    ],
    button: say('Show the link'),
  }),
  async run({ database, act }, { id, url }) {
    await database.refunds.recordLinkSeen(id, act);
    return {
      made: say('Link for the payer of this refund'),
      said: say('Send it to the payer in private. It needs no password.'),
      facts: [[say('Link for the payer'), { code: url }]],
      json: {},
    };
  },
});

/** Facts for who decides: who asked, who named the address, what the payment received. */
async function above(deps: DashboardDeps, visit: Visit<StoreAt | null>): Promise<Html | null> {
  const refund = await findRefund(deps, visit);
  const background = refund && (await refundBackground(deps, visit, refund));
  return background && html`${facts(background.facts)}${background.named && html`<p>${background.named}</p>`}`;
}

const approving = formOf(approveRefund, { path: `${PATH}/approve`, inputs: ['seen'], above });
const refusing = formOf(rejectRefund, { path: `${PATH}/refuse`, above });
const canceling = formOf(cancelRefund, { path: `${PATH}/cancel` });
const redirecting = formOf(redirectRefund, { path: `${PATH}/destination`, inputs: ['address'] });
const linking = formOf(showLink, { path: `${PATH}/link` });

export const refundPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'payments:read', answer: (visit) => refundPage(deps, visit) }, [
    ...[approving, refusing, canceling, redirecting, linking],
  ]);

export const refundPath = (at: StoreAt, { id }: Pick<Refund, 'id'>): string => pathIn(at, `refunds/${id}`);

/** Returns the refund that the path names; null where the store has none by that id in this mode. */
async function findRefund({ database }: DashboardDeps, { at, params }: Visit<StoreAt | null>): Promise<Refund | null> {
  const refund = await database.refunds.findBy({ id: params.refund ?? '' });
  return refund && refund.storeId === at?.storeId && refund.mode === at.mode ? refund : null;
}

/** Renders one refund, with the forms for what can be done about it now. */
async function refundPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, words } = visit;
  const refund = await findRefund(deps, visit);
  if (!refund) return null;
  return {
    title: words.say('Refund of {amount}', { amount: amountText(refund) }),
    content: html`<p><a href="${pathIn(at, 'refunds')}">${words.say('All refunds')}</a></p>
${refund.status === 'processing' && !isSent(visit) ? reloads(refundPath(at, refund)) : null}<section class="card" aria-labelledby="state"><h2 id="state">${refundState(words, refund)}</h2>
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
  const timeOf = (title: string, ms: number | null) => (ms === null ? null : ([title, time(ms)] as const));
  return facts([
    [words.say('Refund id'), html`<code>${refund.refundId}</code>`],
    [words.say('Order'), html`<a href="${pathIn(at, `payments/${refund.sessionId}`)}">${data(refund.orderId)}</a>`],
    [words.say('Network'), data(networkTitle(config, network))],
    [
      words.say('To'),
      payee
        ? words.html('{address} ({source})', {
            address: html`${grouped(payee.text)}${explorerOf({ config, words }, payee)}`,
            source: background.named ?? '',
          })
        : words.say('no address yet'),
    ],
    ...background.facts,
    reason === null ? null : [words.say('Reason'), words.say(`refunds.reason_${reason}`)],
    description === null ? null : [words.say('Note'), data(description)],
    failureReason === null ? null : [words.say('Why it failed'), data(failureReason)],
    tx === null
      ? null
      : [words.say('Transaction'), shownOnChain({ config, words }, { network, kind: 'tx', text: tx }, 'whole')],
    receiptNumber === null ? null : [words.say('Receipt'), data(receiptNumber)],
    timeOf(words.say('Processing since'), refund.processingAtMs),
    timeOf(words.say('Canceled at'), refund.canceledAtMs),
    timeOf(words.say('Ended at'), refund.processedAtMs),
  ]);
}

/** Says what the refund waits for. */
async function waiting({ database }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { nowMs, words } = visit;
  const { id, status, claim } = refund;
  if (claim && waitsForAddress(refund)) {
    const showing = linking.show(visit, { button: words.say('Show the link') });
    return html`<p>${words.html('It waits until {time} for the payer’s address. The payer names it with a link of their own.', { time: time(claim.untilS * 1000) })}</p>${showing}`;
  }
  const above = waitsForApproval(refund)
    ? html`<p>${words.say('It needs an approval. With it, this payment, this address or its requester gets more in 24 hours than the store refunds without one.')}</p>`
    : null;
  if (status !== 'processing') return html`${above}`;
  const payout = await database.payouts.find(id);
  const delay = payout && delayOf(payout);
  const cancelUntilMs = await cancelEndMs(database, refund);
  const canceling = { time: time(cancelUntilMs), left: countdown(cancelUntilMs - nowMs) };
  const signing = html`<p class="message attention">${words.say('The signer pays this refund only with the signature of an approver, made on a machine of their own.')} <code data-copy>quayside show ${id} --request</code></p>`;
  return html`${above}${cancelUntilMs > nowMs ? html`<p data-while-counting>${words.html('It can be canceled until {time} ({left} left), unless it is signed first.', canceling)}</p>` : null}
${delay ? html`<p class="message attention">${english(delay.message)}</p>` : null}${delay?.code === 'signer_refused_approval' ? signing : null}`;
}

const cancelEndMs = async (database: DashboardDeps['database'], refund: Refund): Promise<number> =>
  (refund.processingAtMs ?? 0) + (await database.stores.refundPolicy(refund.storeId)).refundCancelWindowS * 1000;

/** The forms for what this visitor may do about the refund in its state. */
async function forms({ database, config }: DashboardDeps, visit: Visit<StoreAt>, refund: Refund): Promise<Html> {
  const { nowMs, words } = visit;
  const { status, heldKind, destination, network } = refund;
  const approve = destination
    ? approving.show(visit, { button: words.say('Approve'), given: { seen: destination.key }, look: 'main' })
    : html`<p>${words.say('Nothing can be approved yet: somebody has to name the address first. The approval then counts for that address alone.')}</p>`;
  const refusal = { button: words.say('Refuse'), reason: say('Why it is refused') };
  const deciding = html`${approve}${refusing.show(visit, refusal)}`;
  const isOpen = (status === 'pending' || status === 'processing') && heldKind === null;
  const isCancelable = isOpen && status === 'processing' && (await cancelEndMs(database, refund)) > nowMs;
  const cancel = isCancelable ? canceling.show(visit, { button: words.say('Cancel this refund') }) : null;
  const redirect = isOpen
    ? redirecting.show(visit, {
        button: words.say('Change the address'),
        above: html`<p>${words.html('Address on {network}', { network: networkTitle(config, network) })}</p>`,
      })
    : null;
  const mayDecide = may(visit, 'refunds:decide') && waitsForApproval(refund);
  const naming = words.say(destination ? 'Send it to another address' : 'Name the address yourself');
  return html`${mayDecide ? section('decide', words.say('Approve or refuse'), deciding) : null}
${cancel && html`<div class="card" data-while-counting>${cancel}</div>`}
${redirect && section('redirect', naming, redirect)}`;
}
