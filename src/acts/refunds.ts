/** Decisions about a refund that waits: approve it, reject it, or send it to another address. */
import type { NetworkConfig } from '../config/network.ts';
import type { RedirectRefundOutcome, Refund } from '../database/refunds/refund.ts';
import { type Context, defineAct, type Fact, type Field, isRefusal, type Refusal, refuse, say, textOf } from './act.ts';
import {
  ADDRESS_CHARS_MAX,
  addressFault,
  amountText,
  minorText,
  readAddress,
  storeSuspended,
  titleOf,
} from './refund-words.ts';

const refundField = { label: say('Refund'), help: 'its id, rf_… or rt_…', isArgument: true } as const satisfies Field;

/** Returns the refund that the page, or the operator, may decide about. */
export async function refundOf(
  { database, scope }: Pick<Context, 'database' | 'scope'>,
  id: string,
): Promise<Refund | Refusal> {
  const refund = await database.refunds.findBy({ id });
  if (refund && (!scope || (refund.storeId === scope.storeId && refund.mode === scope.mode))) return refund;
  return refuse('not_found', say('there is no refund {id}; `quayside refund list` shows all', { id }));
}

const isOpen = ({ status }: Refund): boolean => status === 'pending' || status === 'processing';

/** Another address may withdraw an approval that was given, so one that is processing may wait for it, too. */
export const waitsForApproval = (refund: Refund): boolean =>
  isOpen(refund) && refund.needsApproval && refund.approvedAtMs === null;

const factsOf = (networks: readonly NetworkConfig[], refund: Refund): readonly Fact[] => [
  [say('Order'), refund.orderId],
  [say('Amount'), amountText(refund)],
  [say('Network'), titleOf(networks, refund.network)],
  [say('To'), refund.destination ? { address: refund.destination.address } : say('no address')],
];

/** Returns a refund for programs. */
export const refundJson = (refund: Refund) => ({
  id: refund.id,
  refund_id: refund.refundId,
  store: refund.storeId,
  mode: refund.mode,
  session_id: refund.sessionId,
  order_id: refund.orderId,
  amount: minorText(refund.amountMinor),
  currency: refund.currency,
  network: refund.network,
  status: refund.status,
  needs: whatNext(refund) || null,
  address: refund.destination?.address ?? null,
  address_from: refund.destination?.from ?? null,
  transaction_hash: refund.tx,
  receipt_number: refund.receiptNumber,
  failure_reason: refund.failureReason,
  held_kind: refund.heldKind,
  created_at: textOf({ atMs: refund.createdAtMs }),
  processed_at: refund.processedAtMs === null ? null : textOf({ atMs: refund.processedAtMs }),
});

/** Returns what a refund waits for, or why it failed; empty otherwise. */
export function whatNext(refund: Refund): string {
  if (refund.status === 'failed') return refund.failureReason ?? '';
  if (refund.status !== 'pending') return '';
  if (!refund.destination) return 'waiting for the payer’s address';
  return refund.needsApproval && refund.approvedAtMs === null ? 'waiting for `quayside refund approve`' : '';
}

const hasChanged = refuse('refused', say('It has changed meanwhile. Look again.'));

/** Says until when a refund can be canceled. @param isLater whether something is missing before that time begins */
export function cancelText(seconds: number, isLater: boolean) {
  if (seconds === 0) return say('It is paid shortly after, and cannot be taken back once it is signed.');
  return isLater
    ? say(
        'Once nothing is missing, it can be canceled for {count} seconds. Then it is signed and paid, and cannot be taken back.',
        { count: seconds },
      )
    : say(
        'You can cancel it on its page for {count} seconds after you confirm. Then it is signed and paid, and cannot be taken back.',
        { count: seconds },
      );
}

export const approveRefund = defineAct({
  name: 'refund approve',
  summary: 'Approve a refund above the store’s limit or, with an approver’s signature, above the signer’s limits.',
  needs: 'refunds:decide',
  asks: 'second factor',
  fields: {
    refund: refundField,
    /** The key of the address that was looked at; a form has it. */
    seen: { label: say('To') },
    approval: {
      label: say('Signature'),
      help: 'what `quayside-signer approve` wrote',
      value: 'FILE',
      isFile: 'utf8',
    },
  },
  async plan(context, { refund: id, seen, approval: text }) {
    const refund = await refundOf(context, id);
    if (isRefusal(refund)) return refund;
    const { networks, database, scope } = context;
    if (scope ? !waitsForApproval(refund) : !isOpen(refund)) {
      return refuse('refused', say('It does not wait for an approval.'));
    }
    if (!refund.destination) return refuse('refused', say('Nothing can be approved without an address.'));
    if (seen !== undefined && refund.destination.key !== seen) {
      return refuse('refused', say('Its address was changed after you looked. Look again.'));
    }
    const approval = text === undefined ? null : await context.readApproval(refund, text);
    const { refundCancelWindowS: cancelWindowS } = await database.stores.values(refund.storeId);
    return { refund, facts: factsOf(networks, refund), approval, cancelWindowS };
  },
  review: ({ refund, facts, approval, cancelWindowS }) => ({
    title: say('Approve {amount}?', { amount: amountText(refund) }),
    target: refund.id,
    facts: approval
      ? [...facts, [say('Signed by'), approval.approver], [say('Valid until'), { atMs: approval.untilS * 1000 }]]
      : facts,
    notes: [cancelText(cancelWindowS, false)],
    button: say('Approve {amount}', { amount: amountText(refund) }),
  }),
  async run({ database, nowMs, act }, { refund, approval }) {
    const key = refund.destination?.key ?? null;
    if ((await database.refunds.approve(refund.id, approval, nowMs, key, act)) !== 'done') return hasChanged;
    const json = { ...(await jsonNow(database, refund)), approver: approval?.approver ?? null };
    return { said: say('The refund is approved.'), json };
  },
});

const jsonNow = async (database: Context['database'], { id }: Refund) => {
  const now = await database.refunds.findBy({ id });
  return now ? refundJson(now) : {};
};

export const rejectRefund = defineAct({
  name: 'refund reject',
  summary: 'Reject a refund while nothing signed for it can pay: it fails, and its amount can be refunded again.',
  needs: 'refunds:decide',
  asks: 'confirmation',
  needsReason: true,
  fields: { refund: refundField },
  async plan(context, { refund: id }) {
    const refund = await refundOf(context, id);
    if (isRefusal(refund)) return refund;
    const { scope, networks, act } = context;
    if (scope ? !waitsForApproval(refund) : !isOpen(refund)) {
      return refuse('refused', say('It does not wait for an approval.'));
    }
    const failure = scope ? 'rejected_by_merchant' : 'rejected_by_operator';
    return { refund, facts: factsOf(networks, refund), failure, reason: act.reason };
  },
  review: ({ refund, facts, failure, reason }) => ({
    title: say('Refuse {amount}?', { amount: amountText(refund) }),
    target: refund.id,
    facts: reason === null ? facts : [...facts, [say('Reason'), reason]],
    notes: [
      say('The refund fails with {code}, and the shop gets the event. Its amount can be refunded again.', {
        code: { code: failure },
      }),
    ],
    button: say('Refuse the refund'),
    isDangerous: true,
  }),
  async run({ database, nowMs, scope, act }, { refund, failure }) {
    const isDone = await database.refunds.reject(refund.id, failure, nowMs, act);
    if (isDone) return { said: say('The refund is refused.'), json: await jsonNow(database, refund) };
    const doubt = scope === null && refund.status === 'processing' ? await database.payouts.doubt(refund.id) : null;
    if (doubt)
      return refuse('refused', say('it may have been paid, so it is not rejected: {why}', { why: doubt.message }));
    return refuse(
      'refused',
      say(
        'It was not refused: it has changed meanwhile, or it may have been paid already. Try again in ten minutes. If it is still so, approve it: it then waits for the operator’s answer.',
      ),
    );
  },
});

type RedirectionPlan = Readonly<{ refund: Refund; address: string; facts: readonly Fact[] }>;

export const redirectRefund = defineAct({
  name: 'refund destination',
  summary: 'Send a refund to another address on its network, until its payment is in progress.',
  needs: 'refunds:decide',
  asks: 'second factor',
  fields: {
    refund: refundField,
    address: {
      label: say('New address'),
      hint: say(
        'Possible until its payment is in progress. The time to cancel begins again, and a new approval is needed.',
      ),
      charsMax: ADDRESS_CHARS_MAX,
      help: 'the address to pay',
      isArgument: true,
      read: readAddress,
    },
  },
  async plan(context, { refund: id, address }): Promise<RedirectionPlan | Refusal> {
    const refund = await refundOf(context, id);
    if (isRefusal(refund)) return refund;
    const { scope, networks, act } = context;
    const checked = (await context.destinationCheck())(refund.network, address);
    if (checked.kind !== 'ok') return refuse('refused', addressFault(networks, refund.network, checked.why));
    if (scope && refund.heldKind !== null) {
      return refuse('refused', say('The address of a return of held money is changed by the operator.'));
    }
    if (!scope && act.reason === null) return refuse('usage', say('Say why: the audit log keeps it.'));
    return {
      refund,
      address,
      facts: [
        [say('Network'), titleOf(networks, refund.network)],
        [say('Now'), refund.destination ? { address: refund.destination.address } : say('no address')],
        [say('From now on'), { address }],
      ],
    };
  },
  review: ({ refund, facts }) => ({
    title: say('Send {amount} to this address?', { amount: amountText(refund) }),
    target: refund.id,
    facts,
    button: say('Change the address'),
  }),
  async run(context, { refund, address }) {
    const done = await redirect(context, refund, address);
    if (done.kind === 'bad_destination') {
      return refuse('refused', addressFault(context.networks, refund.network, done.why));
    }
    if (done.kind === 'store_suspended') return storeSuspended;
    if (done.kind !== 'done' && done.kind !== 'replayed') {
      return refuse(
        'refused',
        say(
          'The address cannot be changed: the payment is in progress, the refund has ended, or it may have been paid already.',
        ),
      );
    }
    const json = { ...refundJson(done.refund), before: refund.destination?.address ?? null };
    return { said: say('The address is changed.'), json };
  },
});

/** Changes the address: for its store, as its own API does, or for the operator. */
async function redirect(
  { database, scope, act, newId, destinationCheck }: Context,
  { id, refundId }: Refund,
  address: string,
): Promise<RedirectRefundOutcome> {
  const check = await destinationCheck();
  if (!scope) return database.refunds.redirect({ by: 'operator', id, address, act, isDryRun: false }, check);
  const replay = { idempotencyKey: newId, path: `dashboard: redirect ${refundId}`, bodyHash: address };
  return database.refunds.redirect({ by: 'merchant', owner: { ...scope, refundId }, address, act, replay }, check);
}

/** Cancels a refund while that is possible. Nothing is reviewed: seconds count. */
export const cancelRefund = defineAct({
  name: 'cancel refund',
  summary: 'Cancel a refund that is not signed yet.',
  needs: 'refunds:request',
  asks: 'nothing',
  fields: { refund: refundField },
  plan: (context, { refund }) => refundOf(context, refund),
  review: ({ id }) => ({
    title: say('Cancel this refund'),
    target: id,
    button: say('Cancel this refund'),
  }),
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
