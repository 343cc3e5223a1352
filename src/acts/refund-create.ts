/** A refund of a payment, as a person of the store asks for it. */
import { readRefundAmount, refundReasons } from '../core/refund.ts';
import { type Currency, currencies } from '../core/transfer.ts';
import type { CreateRefundOutcome, NewRefund, Refund, RefundRoom } from '../database/refunds/refund.ts';
import type { Session } from '../database/session.ts';
import { hashOf, parseSessionId } from '../lib/id.ts';
import { type Context, defineAct, oneOf, type Refusal, refuse, type Sentence, say } from './act.ts';
import {
  ADDRESS_CHARS_MAX,
  aboveDailyLimit,
  addressFault,
  amountText,
  readAddress,
  shownMinor,
  storeSuspended,
  titleOf,
} from './refund-words.ts';
import { cancelText, waitsForApproval } from './refunds.ts';

const NOTE_CHARS_MAX = 500;
const noPayment = refuse('not_found', say('There is no such payment in this store and mode.'));

/** Writes what is left to refund, by coin: "6.00 USDT, 2.50 USDC". */
export const leftText = ({ coins }: RefundRoom): string =>
  coins.map(({ leftMinor, currency }) => `${shownMinor(leftMinor)} ${currency}`).join(', ');

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

/** Reads an address; none is named by an empty one. */
const readOwnAddress = (text: string): string | Sentence => (text === '' ? text : readAddress(text));
const readNote = (text: string): string | Sentence =>
  text.length > NOTE_CHARS_MAX ? say('A note has at most {max} characters.', { max: NOTE_CHARS_MAX }) : text;
const readReason = oneOf(refundReasons);

/** Returns the session of the page's store and mode; null where it has none by that id. */
export async function paymentOf(
  { database, scope }: Pick<Context, 'database' | 'scope'>,
  id: string,
): Promise<Session | null> {
  const sessionId = parseSessionId(id);
  const session = sessionId === null ? null : await database.sessions.find(sessionId);
  return session && session.storeId === scope?.storeId && session.mode === scope.mode ? session : null;
}

export const createRefund = defineAct({
  name: 'create refund',
  summary: 'Ask for a refund of a payment.',
  needs: 'refunds:request',
  asks: 'second factor',
  fields: {
    payment: { label: say('Payment'), isArgument: true },
    amount: { label: say('Amount'), example: '4.50', isRequired: true, read: readAmount },
    currency: { label: say('Coin'), isRequired: true, offers: {}, read: readCurrency },
    address: {
      label: say('Address'),
      hint: say(
        'Leave it empty for the address that the payer left; if there is none, you get a link that asks the payer. Ask for an address at which the payer can receive: the one that a payment came from may belong to an exchange.',
      ),
      charsMax: ADDRESS_CHARS_MAX,
      read: readOwnAddress,
    },
    reason: {
      label: say('Reason'),
      offers: { '': say('none given'), ...reasonWords },
      read: readReason,
    },
    description: { label: say('Note'), charsMax: NOTE_CHARS_MAX, isProse: true, read: readNote },
  },
  async plan(context, { payment, amount: amountMinor, currency, address = '', reason = null, description = '' }) {
    const { database, scope, nowMs, newId, personId, networks } = context;
    const session = await paymentOf(context, payment);
    if (!session || !scope) return noPayment;
    const meaning = JSON.stringify([session.id, String(amountMinor), currency, address, description, reason]);
    const bodyHash = hashOf(meaning);
    const asked: NewRefund = {
      ...scope,
      sessionId: session.id,
      amountMinor,
      currency,
      reason,
      metadata: null,
      nowMs,
      replay: { idempotencyKey: newId, path: 'dashboard: create refund', bodyHash },
      refundId: `dashboard-${newId}`,
      description: description || null,
      refundAddress: address || null,
      ...(personId !== null && { requestedBy: personId }),
    };
    const tried = await database.refunds.create({ ...asked, isDryRun: true }, await context.destinationCheck());
    if (!('refund' in tried)) return refusalOf(context, session, tried);
    const { refundCancelWindowS } = await database.stores.values(scope.storeId);
    return { session, asked, refund: tried.refund, refundCancelWindowS, networks };
  },
  review: ({ refund, refundCancelWindowS, networks }) => ({
    title: say('Refund {amount}?', { amount: amountText(refund) }),
    target: refund.id,
    facts: [
      [say('Order'), refund.orderId],
      [say('Amount'), amountText(refund)],
      [say('Network'), titleOf(networks, refund.network)],
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
    const { database, act } = context;
    const done = await database.refunds.create({ ...asked, act }, await context.destinationCheck());
    if (!('refund' in done)) return refusalOf(context, session, done);
    const said = done.kind === 'replayed' ? 'This refund was made already.' : madeText(done.refund);
    return { said: say(said), json: { refund: done.refund.id } };
  },
});

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
    case 'refused':
      return refusedBy(outcome.why, await database.refunds.room(id, nowMs));
    case 'bad_destination':
      return refused(addressFault(networks, payments[0]?.networkKey ?? 'test:', outcome.why));
    case 'store_suspended':
      return storeSuspended;
    case 'duplicate_refund_id':
    case 'idempotency_key_conflict':
      return refused(
        say('This form was sent before with other values. Look at the payment’s refunds, then start again.'),
      );
    default:
      return noPayment;
  }
}

/** Says which rule of the store or of the payment a refund breaks. */
function refusedBy(why: Extract<CreateRefundOutcome, { kind: 'refused' }>['why'], room: RefundRoom | null): Refusal {
  const refused = (because: Sentence) => refuse('refused', because);
  switch (why) {
    case 'INVALID_SESSION_STATUS':
      return refused(
        say('Only a paid payment can be refunded. Money of a payment that is not paid is under Held money.'),
      );
    case 'INVALID_CURRENCY':
      return refused(say('The payment received nothing in that coin.'));
    case 'REFUND_AMOUNT_EXCEEDED':
      return refused(
        say('That is more than what is left of the payment after its earlier refunds: {left}.', {
          left: room ? leftText(room) : '–',
        }),
      );
    case 'REFUND_TIME_EXPIRED':
      return refused(say('The payment is too long ago: the store’s refund window has closed.'));
    case 'DAILY_REFUND_LIMIT_EXCEEDED':
      return aboveDailyLimit(room?.dayLeftMinor ?? null);
  }
}
