/** A refund of a payment is made: the form, with what is left and what the store may refund, and its review. */
import { createHash } from 'node:crypto';
import { type Context, oneOf, type Refusal, refuse, type Sentence, say } from '../../acts/act.ts';
import { addressFault, amountText, minorText, shownMinor, storeSuspended } from '../../acts/refund-words.ts';
import { cancelText, waitsForApproval } from '../../acts/refunds.ts';
import { readRefundAmount, refundReasons } from '../../core/refund.ts';
import { type Currency, currencies } from '../../core/transfer.ts';
import type { CreateRefundOutcome, NewRefund, Refund } from '../../database/refunds/refund.ts';
import type { Session } from '../../database/session.ts';
import { html } from '../../lib/html.ts';
import { facts, section } from '../../web/list.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { coinNames, confirmedText } from '../received.ts';
import { leftText, refundBadge } from '../refund-text.ts';
import { data, networkTitle, price } from '../show.ts';
import { findPayment } from './payment.ts';

const ADDRESS_CHARS_MAX = 128;
const NOTE_CHARS_MAX = 500;
const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;
const PATH = '/s/:store/:mode/payments/:id/refund';

const reasonWords = Object.fromEntries(refundReasons.map((one) => [one, say(`refunds.reason_${one}`)]));
const readCurrency = (text: string): Currency | Sentence =>
  currencies.find((one) => one === text) ?? say('refund-changes.choose_coin');

/** Reads an amount as the API reads it. */
function readAmount(text: string): bigint | Sentence {
  const minor = readRefundAmount(text);
  return typeof minor === 'string' ? say('refund-changes.bad_amount') : minor;
}

const upTo =
  (max: number, fault: 'refund-changes.address_long' | 'refund-changes.note_long') =>
  (text: string): string | Sentence =>
    text.length > max ? say(fault, { max }) : text;
const readAddress = upTo(ADDRESS_CHARS_MAX, 'refund-changes.address_long');
const readNote = upTo(NOTE_CHARS_MAX, 'refund-changes.note_long');
const readReason = oneOf(refundReasons);

const createRefund = browserAct({
  name: 'create refund',
  needs: 'refunds:request',
  asks: 'second factor',
  fields: {
    amount: { label: say('refund-changes.amount'), example: '4.50', isRequired: true, read: readAmount },
    currency: { label: say('refund-changes.coin'), isRequired: true, offers: {}, read: readCurrency },
    address: {
      label: say('refunds.address_on'),
      ...{ hint: say('refund-changes.address_hint'), charsMax: ADDRESS_CHARS_MAX, read: readAddress },
    },
    reason: {
      label: say('refunds.reason'),
      offers: { '': say('refund-changes.not_said'), ...reasonWords },
      read: readReason,
    },
    description: { label: say('refunds.note'), charsMax: NOTE_CHARS_MAX, isProse: true, read: readNote },
  },
  async plan(context, { amount: amountMinor, currency, address = '', reason = null, description = '' }) {
    const { deps, visit, database, scope, nowMs, newId } = context;
    const session = scope && (await findPayment(deps, { at: scope, params: visit.params }));
    if (!session) return refuse('not_found', say('refunds.no_payment'));
    const meaning = JSON.stringify([session.id, String(amountMinor), currency, address, description, reason]);
    const bodyHash = createHash('sha256').update(meaning).digest('hex');
    const asked: NewRefund = {
      ...{ ...scope, sessionId: session.id, amountMinor, currency, reason, metadata: null, nowMs },
      replay: { idempotencyKey: newId, path: 'dashboard: create refund', bodyHash },
      refundId: `dashboard-${newId}`,
      description: description || null,
      refundAddress: address || null,
      requestedBy: visit.visitor.person.id,
    };
    const tried = await database.refunds.create({ ...asked, isDryRun: true }, deps.checkDestination);
    if (!('refund' in tried)) return refusalOf(context, session, tried);
    const { refundCancelWindowS } = await database.stores.refundPolicy(scope.storeId);
    return { session, asked, refund: tried.refund, refundCancelWindowS, deps };
  },
  review: ({ refund, refundCancelWindowS, deps }) => ({
    title: say('refund-changes.review', { amount: amountText(refund) }),
    target: refund.id,
    facts: [
      [say('refunds.order'), refund.orderId],
      [say('refund-changes.amount'), amountText(refund)],
      [say('refunds.network'), networkTitle(deps.config, refund.network)],
      [say('refunds.to'), refund.destination ? { address: refund.destination.address } : say('refund-changes.by_link')],
    ],
    notes: [
      ...(refund.needsApproval ? [say('refund-changes.needs_approval')] : []),
      cancelText(refundCancelWindowS, refund.needsApproval || !refund.destination),
    ],
    button: say('refund-changes.button', { amount: amountText(refund) }),
  }),
  async run(context, { session, asked }) {
    const done = await context.database.refunds.create(asked, context.deps.checkDestination);
    if (!('refund' in done)) return refusalOf(context, session, done);
    const said = done.kind === 'replayed' ? 'refund-changes.made_already' : madeText(done.refund);
    return { said: say(said), json: { refund: done.refund.id } };
  },
});
const creating = formOf(createRefund, {
  path: PATH,
  inputs: ['amount', 'currency', 'address', 'reason', 'description'],
  to: '/s/:store/:mode/refunds/:refund',
});

export const newRefundPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'refunds:request', answer: (visit) => formPage(deps, visit) }, [creating]);

async function formPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { database, config } = deps;
  const { at, form, nowMs, words } = visit;
  const session = await findPayment(deps, visit);
  if (!session) return null;
  const earlier = await database.refunds.list({ sessionId: session.id, limit: REFUNDS_SHOWN });
  const room = (await database.refunds.room(session.id, nowMs)) ?? { coins: [], dayLeftMinor: 0n };
  const chosen = room.coins.find(({ currency }) => currency === form.currency) ?? room.coins[0];
  const anyCoin = coinNames(room.coins.length > 0 ? room.coins.map(({ currency }) => currency) : currencies);
  const networks = [...new Set(room.coins.map(({ network }) => networkTitle(config, network)))].join(' / ');
  const { refundDailyMinor, refundWindowS, refundAutoMinor } = await database.stores.refundPolicy(at.storeId);
  const inCoins = (minor: bigint) => `${shownMinor(minor)} ${anyCoin}`;
  const left = chosen && chosen.leftMinor > 0n ? minorText(chosen.leftMinor) : '';
  const limits = { amount: inCoins(BigInt(refundDailyMinor)), left: inCoins(room.dayLeftMinor) };
  const coins = room.coins.map(({ currency, network }) => {
    const on = { currency, network: networkTitle(config, network) };
    return [currency, say('general.on_network', on)] as const;
  });
  const refunding = creating.show(visit, {
    ...{ button: words.say('refund-changes.go_on'), look: 'main' },
    texts: { amount: left },
    offers: { currency: Object.fromEntries(coins) },
    labels: { address: say('refunds.address_on', { network: networks || '–' }) },
  });
  return {
    title: words.say('refund-changes.title', { order: session.request.orderId }),
    content: html`${section(
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
${section('new', words.say('refund-changes.new'), html`${refunding}`)}`,
  };
}

type Made = Extract<CreateRefundOutcome, Readonly<{ refund: Refund }>>;

/** Says what became of a refund that was just made: most often nothing is paid yet. */
function madeText(refund: Refund) {
  if (waitsForApproval(refund)) return 'refund-changes.made_waits_approval';
  return refund.destination ? 'refund-changes.made' : 'refund-changes.made_waits_address';
}

/** Says why a refund was not made. */
async function refusalOf(
  { database, networks, nowMs }: Context,
  { id, payments }: Session,
  outcome: Exclude<CreateRefundOutcome, Made>,
): Promise<Refusal> {
  const refused = (because: Sentence) => refuse('refused', because);
  switch (outcome.kind) {
    case 'refused': {
      const room = await database.refunds.room(id, nowMs);
      const today = room ? shownMinor(room.dayLeftMinor) : '–';
      return refused(say(`refunds.refused_${outcome.why}`, { left: room ? leftText(room) : '–', today }));
    }
    case 'bad_destination':
      return refused(addressFault(networks, payments[0]?.networkKey ?? 'test:', outcome.why));
    case 'store_suspended':
      return storeSuspended;
    case 'not_adopted':
      return refused(say('refunds.not_adopted'));
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return refused(say('refunds.form_reused'));
    default:
      return refused(say('refunds.no_payment'));
  }
}
