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
import { data } from '../../web/show.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import type { Page, Reply, StoreAt, Visit } from '../page.ts';
import { coinNames, confirmedText } from '../received.ts';
import { networkTitle, price } from '../show.ts';
import { findPayment } from './payment.ts';
import { leftText, refundBadge } from './refunds.ts';

const ADDRESS_CHARS_MAX = 128;
const NOTE_CHARS_MAX = 500;
const REFUNDS_SHOWN = 100;
const DAY_S = 86_400;
const PATH = '/s/:store/:mode/payments/:id/refund';

const reasonWords = Object.fromEntries(refundReasons.map((one) => [one, say(`refunds.reason_${one}`)]));
const readCurrency = (text: string): Currency | Sentence =>
  currencies.find((one) => one === text) ?? say('Choose a coin.');

/** Reads an amount as the API reads it. */
function readAmount(text: string): bigint | Sentence {
  const minor = readRefundAmount(text);
  return typeof minor === 'string'
    ? say(
        'The amount must be digits with at most 2 decimals, without sign, leading zeros or spaces, above zero, and no larger than any payment. Write it like 4.50.',
      )
    : minor;
}

const upTo =
  (max: number, fault: 'An address has at most {max} characters.' | 'A note has at most {max} characters.') =>
  (text: string): string | Sentence =>
    text.length > max ? say(fault, { max }) : text;
const readAddress = upTo(ADDRESS_CHARS_MAX, 'An address has at most {max} characters.');
const readNote = upTo(NOTE_CHARS_MAX, 'A note has at most {max} characters.');
const readReason = oneOf(refundReasons);

const createRefund = browserAct({
  name: 'create refund',
  needs: 'refunds:request',
  asks: 'second factor',
  fields: {
    amount: { label: say('Amount'), example: '4.50', isRequired: true, read: readAmount },
    currency: { label: say('Coin'), isRequired: true, offers: {}, read: readCurrency },
    address: {
      label: say('Address on {network}'),
      ...{
        hint: say(
          'Empty: the address that the payer left; if there is none, you get a link that asks the payer. Ask for an address at which the payer can receive: the one that a payment came from may belong to an exchange.',
        ),
        charsMax: ADDRESS_CHARS_MAX,
        read: readAddress,
      },
    },
    reason: {
      label: say('Reason'),
      offers: { '': say('not said'), ...reasonWords },
      read: readReason,
    },
    description: { label: say('Note'), charsMax: NOTE_CHARS_MAX, isProse: true, read: readNote },
  },
  async plan(context, { amount: amountMinor, currency, address = '', reason = null, description = '' }) {
    const { deps, visit, database, scope, nowMs, newId } = context;
    const session = scope && (await findPayment(deps, { at: scope, params: visit.params }));
    if (!session) return refuse('not_found', say('There is no such payment in this store and mode.'));
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
    title: say('Refund {amount}?', { amount: amountText(refund) }),
    target: refund.id,
    facts: [
      [say('Order'), refund.orderId],
      [say('Amount'), amountText(refund)],
      [say('Network'), networkTitle(deps.config, refund.network)],
      [
        say('To'),
        refund.destination
          ? { address: refund.destination.address }
          : say('the address that the payer will name by link'),
      ],
    ],
    notes: [
      ...(refund.needsApproval ? [say('It needs an approval before it is paid.')] : []),
      cancelText(refundCancelWindowS, refund.needsApproval || !refund.destination),
    ],
    button: say('Refund {amount}', { amount: amountText(refund) }),
  }),
  async run(context, { session, asked }) {
    const { database, deps, act } = context;
    const done = await database.refunds.create({ ...asked, act }, deps.checkDestination);
    if (!('refund' in done)) return refusalOf(context, session, done);
    const said = done.kind === 'replayed' ? 'This refund was made already.' : madeText(done.refund);
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
    return [currency, say('{currency} on {network}', on)] as const;
  });
  const refunding = creating.show(visit, {
    ...{ button: words.say('Go on'), look: 'main' },
    texts: { amount: left },
    offers: { currency: Object.fromEntries(coins) },
    labels: { address: say('Address on {network}', { network: networks || '–' }) },
  });
  return {
    title: words.say('Refund order {order}', { order: session.request.orderId }),
    content: html`${section(
      'so-far',
      words.say('So far'),
      facts([
        [words.say('Price'), data(price(session))],
        [words.say('Received'), data(confirmedText(session) ?? '–')],
        [
          words.say('Earlier refunds'),
          earlier.length === 0
            ? words.say('none')
            : html`${earlier.map((one) => html`${data(amountText(one))} ${refundBadge(words, one)} `)}`,
        ],
        [words.say('Left to refund'), data(leftText(room) || '–')],
        [
          words.say('The store may refund'),
          words.html('{amount} a day, {left} of it left today; {days} days after a payment', {
            ...limits,
            days: Math.floor(refundWindowS / DAY_S),
          }),
        ],
        [
          words.say('Approval is needed'),
          words.html('above {amount} in 24 hours for one payment, one address, or one person or key that asks', {
            amount: inCoins(BigInt(refundAutoMinor)),
          }),
        ],
      ]),
    )}
${section('new', words.say('New refund'), html`${refunding}`)}`,
  };
}

type Made = Extract<CreateRefundOutcome, Readonly<{ refund: Refund }>>;

/** Says what became of a refund that was just made: most often nothing is paid yet. */
function madeText(refund: Refund) {
  if (waitsForApproval(refund))
    return 'The refund is saved and waits for an approval: nothing is paid until it is approved.';
  return refund.destination
    ? 'The refund is made.'
    : 'The refund is saved and waits for an address: nothing is paid until there is one.';
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
      return refused(
        say(
          'The database was restored from a backup, and refunds are refused until it is up to date. Try again later.',
        ),
      );
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return refused(
        say('This form was sent before with other values. Look at the payment’s refunds, then start again.'),
      );
    default:
      return refused(say('There is no such payment in this store and mode.'));
  }
}
