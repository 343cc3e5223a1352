/**
 * What people do about refunds: make one for a payment, approve or refuse it, cancel it, and name another address. Each
 * goes through the same database command as the API or the operator's tool.
 * @module
 */
import { createHash } from 'node:crypto';
import { readRefundAmount, refundReasons } from '../../core/refund.ts';
import { type Currency, currencies } from '../../core/transfer.ts';
import type { Session } from '../../database/database.ts';
import type { NewRefund, Refund } from '../../database/refunds.ts';
import { type Html, html } from '../../lib/html.ts';
import { parseSessionId } from '../../lib/session-id.ts';
import { destinationFaults } from '../../payments/destination.ts';
import { changeFields, type Planned, storeChange } from '../change.ts';
import type { DashboardDeps } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import {
  amountText,
  minorText,
  networkText,
  reasonTexts,
  refundsPath,
  refusalText,
  waitsForApproval,
} from '../refund-text.ts';
import { coins, facts, faultMessage, grouped, price } from '../show.ts';
import { findRefund, refundPage } from './refunds.ts';

const ADDRESS_CHARS_MAX = 128;
const NOTE_CHARS_MAX = 500;
const BECAUSE_CHARS_MAX = 200;
const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;

export const refundChanges = (deps: DashboardDeps): readonly StorePage[] => [
  {
    method: 'get',
    path: '/s/:store/:mode/payments/:id/refund',
    needs: 'refunds:request',
    async answer(visit) {
      const session = await findSession(deps, visit);
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

async function findSession({ database }: DashboardDeps, { at, params }: Visit<StoreAt>): Promise<Session | null> {
  const id = parseSessionId(params.id ?? '');
  const session = id === null ? null : await database.findSession(id);
  return session && session.storeId === at.storeId && session.mode === at.mode ? session : null;
}

const paymentPath = ({ storeId, mode }: StoreAt, { id }: Session): string => `/s/${storeId}/${mode}/payments/${id}`;

async function formPage(
  { database }: DashboardDeps,
  visit: Visit<StoreAt>,
  session: Session,
  fault: string | null,
): Promise<Reply> {
  const { at, form } = visit;
  const earlier = await database.listRefunds({ sessionId: session.id, limit: REFUNDS_SHOWN });
  const { refundDailyMinor, refundWindowS, refundAutoMinor } = await database.refundPolicy(at.storeId);
  const received = currencies.filter((one) => session.payments.some(({ currency }) => currency === one));
  const options = (received.length > 0 ? received : currencies).map(
    (one) => html`<option${one === form.currency ? html` selected` : null}>${one}</option>`,
  );
  return {
    title: `Refund order ${session.request.orderId}`,
    status: fault === null ? 200 : 400,
    content: html`${faultMessage(fault)}
<section class="card" aria-labelledby="so-far"><h2 id="so-far">So far</h2>${facts([
      ['Price', price(session)],
      ['Received', `${coins(session.standing.confirmedPar)} ${received.join(', ')}`],
      ['Earlier refunds', earlier.map((one) => `${amountText(one)} (${one.status})`).join(', ') || 'none'],
      [
        'The store may refund',
        `${minorText(BigInt(refundDailyMinor))} a day, ${Math.floor(refundWindowS / DAY_S)} days after a payment`,
      ],
      ['Approval is needed', `above ${minorText(BigInt(refundAutoMinor))}`],
    ])}</section>
<form method="post" action="${visit.path}" class="card" aria-labelledby="new"><h2 id="new">New refund</h2>
${changeFields(visit)}
<label>Amount <input name="amount" inputmode="decimal" autocomplete="off" placeholder="4.50" value="${form.amount ?? ''}" required></label>
<label>Coin <select name="currency">${options}</select></label>
<label>Address <input name="address" maxlength="${ADDRESS_CHARS_MAX}" autocomplete="off" spellcheck="false" value="${form.address ?? ''}"></label>
<p class="hint">Empty: the address that the payer left; if there is none, you get a link that asks the payer. Ask for an
address at which the payer can receive: the one that a payment came from may belong to an exchange.</p>
<label>Reason <select name="reason"><option value="">not said</option>${refundReasons.map(
      (one) => html`<option value="${one}"${one === form.reason ? html` selected` : null}>${reasonTexts[one]}</option>`,
    )}</select></label>
<label>Note <input name="description" maxlength="${NOTE_CHARS_MAX}" value="${form.description ?? ''}"></label>
<p class="actions"><a class="button plain" href="${paymentPath(at, session)}">Cancel</a> <button>Go on</button></p>
</form>`,
  };
}

/** Reads the form as the API reads a body. @returns what is wrong with it */
function readForm(visit: Visit<StoreAt>, session: Session): NewRefund | string {
  const { at, form, visitor, nowMs } = visit;
  const amountMinor = readRefundAmount((form.amount ?? '').trim());
  if (typeof amountMinor === 'string') return `The amount ${amountMinor}.`;
  const currency: Currency | undefined = currencies.find((one) => one === form.currency);
  if (!currency) return 'Choose a coin.';
  const [address, description] = [(form.address ?? '').trim(), (form.description ?? '').trim()];
  if (address.length > ADDRESS_CHARS_MAX) return `An address has at most ${ADDRESS_CHARS_MAX} characters.`;
  if (description.length > NOTE_CHARS_MAX) return `A note has at most ${NOTE_CHARS_MAX} characters.`;
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
  const session = await findSession(deps, visit);
  if (!session) return null;
  const asked = readForm(visit, session);
  if (typeof asked === 'string') return formPage(deps, visit, session, asked);
  const tried = await deps.database.createRefund({ ...asked, isDryRun: true }, deps.checkDestination);
  if (!('refund' in tried)) return formPage(deps, visit, session, refusalText(tried));
  const { refund } = tried;
  const isMade = (id: string): Reply => ({
    to: `${refundsPath(visit.at)}/${id}`,
    said: 'This refund was made already.',
  });
  if (tried.kind === 'replayed') return isMade(refund.id);
  return {
    command: 'create refund',
    target: refund.id,
    review: {
      title: `Refund ${amountText(refund)}?`,
      consequence: html`${whatIsPaid(refund)}
${
  refund.needsApproval
    ? html`<p>It is above the amount that needs no approval: somebody else has to approve it before it is paid.</p>`
    : html`<p>It is paid shortly after, and cannot be taken back once it is signed.</p>`
}`,
      button: `Refund ${amountText(refund)}`,
      back: `${paymentPath(visit.at, session)}/refund`,
      needsSudo: true,
    },
    async act(database) {
      const done = await database.createRefund(asked, deps.checkDestination);
      if (!('refund' in done)) return formPage(deps, visit, session, refusalText(done));
      return done.kind === 'replayed' ? isMade(done.refund.id) : onward(visit.at, done.refund, 'The refund is made.');
    },
  };
}

/** Says amount, network and whole destination. */
const whatIsPaid = (refund: Refund): Html =>
  facts([
    ['Amount', amountText(refund)],
    ['Network', networkText(refund)],
    ['To', refund.destination ? grouped(refund.destination.address) : 'the address that the payer will name by link'],
  ]);

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, refund: Refund) => Promise<Planned>;

const onward = (at: StoreAt, refund: Refund, said: string): Reply => ({ to: `${refundsPath(at)}/${refund.id}`, said });

const planApproval: PlanOf = async (deps, visit, refund) => {
  const { at, form, visitor, nowMs } = visit;
  const again = (fault: string) => refundPage(deps, visit, refund, fault);
  const seen = form.seen === '' ? null : (form.seen ?? null);
  if (!waitsForApproval(refund)) return again('It does not wait for an approval.');
  if (refund.requestedBy === visitor.person.id)
    return again('You asked for this refund: somebody else has to approve it.');
  if ((refund.destination?.key ?? null) !== seen) return again('Its address was changed after you looked. Look again.');
  return {
    command: 'approve refund',
    target: refund.id,
    review: {
      title: `Approve ${amountText(refund)}?`,
      consequence: html`${whatIsPaid(refund)}<p>It is paid shortly after, and cannot be taken back once it is signed.</p>`,
      button: `Approve ${amountText(refund)}`,
      back: `${refundsPath(at)}/${refund.id}`,
      needsSudo: true,
    },
    async act(database) {
      const isDone = await database.approveRefund(refund.id, null, nowMs, seen);
      return isDone ? onward(at, refund, 'The refund is approved.') : again('It has changed meanwhile. Look again.');
    },
  };
};

const planRefusal: PlanOf = async (deps, visit, refund) => {
  const { at, form, nowMs } = visit;
  const again = (fault: string) => refundPage(deps, visit, refund, fault);
  const because = (form.because ?? '').trim();
  if (!waitsForApproval(refund)) return again('It does not wait for an approval.');
  if (because === '' || because.length > BECAUSE_CHARS_MAX)
    return again(`Say why, in at most ${BECAUSE_CHARS_MAX} characters.`);
  return {
    command: 'refuse refund',
    target: refund.id,
    reason: because,
    review: {
      title: `Refuse ${amountText(refund)}?`,
      consequence: html`${whatIsPaid(refund)}<p>The refund fails, and your shop is told so: <code>rejected_by_merchant</code>. Its amount can be
refunded again. Reason: ${because}</p>`,
      button: 'Refuse the refund',
      back: `${refundsPath(at)}/${refund.id}`,
      needsSudo: false,
      isDangerous: true,
    },
    async act(database) {
      const isDone = await database.rejectRefund(refund.id, 'rejected_by_merchant', nowMs);
      return isDone ? onward(at, refund, 'The refund is refused.') : again('It has changed meanwhile. Look again.');
    },
  };
};

const planCancel: PlanOf = async (deps, visit, refund) => {
  const { at, form, visitor, nowMs } = visit;
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
      const { kind } = await database.cancelRefund({ ...at, refundId, replay, nowMs });
      if (kind === 'done' || kind === 'replayed') return onward(at, refund, 'The refund is canceled.');
      const now = (await findRefund(deps, visit)) ?? refund;
      return refundPage(deps, visit, now, 'It can no longer be canceled: its payment is in progress, or it has ended.');
    },
  };
};

const planDestination: PlanOf = async (deps, visit, refund) => {
  const { at, form, visitor, nowMs } = visit;
  const again = (fault: string) => refundPage(deps, visit, refund, fault);
  const { refundId, network } = refund;
  const address = (form.address ?? '').trim();
  const checked = address.length > ADDRESS_CHARS_MAX ? null : deps.checkDestination(network, address);
  if (checked?.kind !== 'ok') return again(`The address ${destinationFaults[checked?.why ?? 'malformed']}.`);
  if (refund.heldKind !== null) return again('The address of a return of held money is changed by the operator.');
  const owner = { ...at, refundId };
  const replay = {
    idempotencyKey: idOfForm(visitor, form.once, nowMs),
    path: `dashboard: redirect ${refundId}`,
    bodyHash: address,
  };
  return {
    command: 'change refund destination',
    target: refund.id,
    review: {
      title: `Send ${amountText(refund)} to this address?`,
      consequence: facts([
        ['Network', networkText(refund)],
        ['Now', refund.destination ? grouped(refund.destination.address) : 'no address'],
        ['From now on', grouped(address)],
      ]),
      button: 'Change the address',
      back: `${refundsPath(at)}/${refund.id}`,
      needsSudo: true,
      typed: minorText(refund.amountMinor),
    },
    async act(database, act) {
      const done = await database.redirectRefund(
        { by: 'merchant', owner, address, act, replay },
        deps.checkDestination,
      );
      if (done.kind === 'done' || done.kind === 'replayed') return onward(at, refund, 'The address is changed.');
      if (done.kind === 'bad_destination') return again(`The address ${destinationFaults[done.why]}.`);
      return again(
        done.kind === 'store_suspended'
          ? 'The store is suspended. Ask whoever runs this installation.'
          : 'The address can no longer be changed: the payment is in progress, or the refund has ended.',
      );
    },
  };
};
