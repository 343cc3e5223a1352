/**
 * Reasons why money out waits. Each code has its text here, with the command that helps. `isPassing` names those that
 * end by themselves.
 */

import { type Fault, permanent, transient } from './fault.ts';

/** Why something does not advance, for programs and for people. */
export type Reason = Readonly<{ code: string; message: string }>;

type NetworkValues = Readonly<{ network: string }>;
type PayoutValues = Readonly<{ id: string }>;
type NodeRefusal = Readonly<{ code: string; answer: string }>;
type EndedGenerations = PayoutValues & Readonly<{ isPayback: boolean; count: number; ended: string; pauseMs: number }>;

const rejectText = ({ id, isPayback }: PayoutValues & Readonly<{ isPayback: boolean }>): string =>
  isPayback ? `, or reject the refund with \`quayside refund reject ${id}\`` : '';

const resolvePaid = (id: string, tx: string): string => `\`quayside payout resolve ${id} --paid ${tx} --reason …\``;

const reasons = {
  network_not_followed: ({ network, state }: NetworkValues & Readonly<{ state: string }>) =>
    `${network} is ${state}; payouts wait until it is followed again`,
  payouts_frozen: ({
    network,
    by,
    why,
    end,
  }: Readonly<{ network: string | null; by: string; why: string; end: string }>) =>
    `money out is frozen on ${network ?? 'every network'} by ${by}: ${why}. ${end} ends that`,
  /**
   * An earlier run may have made unknown payments, after a gap, or until the chain is read up to its head at the start.
   */
  payouts_settling: ({ network, until }: NetworkValues & Readonly<{ until: string }>) =>
    `${network} settles in, because an earlier run may have made payments that are not known here. Payouts wait ` +
    `until ${until}`,
  /** This database is not the one that the signer served last. */
  payouts_not_adopted: ({ network, what }: NetworkValues & Readonly<{ what: string }>) =>
    `the signer has served ${what} of ${network}, which this database does not know. It is older than the newest ` +
    'signatures, or another one is in use. Nothing is paid out. Make sure that no other installation uses this ' +
    `signer, then run \`quayside payout reconcile ${network}\``,
  /** The signer no longer knows everything that it must not sign again. */
  signer_journal_behind: ({ network, what }: NetworkValues & Readonly<{ what: string }>) =>
    `the signer's journal was restored from an older backup, without ${what} of ${network}. Nothing is paid out. ` +
    `Restore the newest signer.db. If it is lost, run \`quayside payout reconcile ${network}\`, and settle ` +
    'the refunds by hand that the signer then refuses',
  payout_bytes_differ: ({
    id,
    network,
    tx,
    differences,
  }: PayoutValues & NetworkValues & Readonly<{ tx: string; differences: string }>) =>
    `The signed bytes of payout ${id} on ${network} (${tx}) differ from the intent, according to the chain's own ` +
    `SDK, and were not broadcast: ${differences}. Find out whether the database or the signer was altered. Then run ` +
    `\`quayside payout resolve ${id} --retry --reason …\`.`,
  payout_generations: (values: PayoutValues & Readonly<{ isPayback: boolean; tx: string; count: number }>) =>
    `Transaction ${values.tx} of payout ${values.id} failed too, after ${values.count} generations. It is not signed ` +
    `again by itself. Find out why, then run \`quayside payout resolve ${values.id} --retry --reason …\`${rejectText(values)}.`,
  /** A node refuses the transaction, or generations of attempts have ended without effect. */
  payout_not_included: (values: NodeRefusal | EndedGenerations) =>
    'answer' in values
      ? `a node refuses it (${values.code}: ${values.answer}). It is sent again until it is included or can never be.`
      : `${values.count} generations ended without effect (the last one ${values.ended}), so the next one waits for ` +
        `${values.pauseMs / 60_000} min. Find out whether transactions of your node reach the network` +
        `${rejectText(values)}.`,
  refund_uncovered: () =>
    'a reorg has taken back the payment that it refunds, in whole or in part. It goes on when the payment is ' +
    'confirmed again. Otherwise reject it with `quayside refund reject`.',
  refund_not_final: () =>
    'the payment that it refunds is confirmed but not final yet. It goes on by itself; `quayside store set ' +
    '--refund-early-max AMOUNT` lets small refunds leave earlier.',
  refund_unapproved: () =>
    'its destination was changed after it was approved. Look at it with `quayside show`, then approve it ' +
    'again with `quayside refund approve` or reject it with `quayside refund reject`.',
  /** A database that was restored from a backup does not know its newest attempts. */
  refund_maybe_paid: () =>
    'the wallet has sent this amount to this address in a transaction that is not known here. If that is final, the ' +
    'network is frozen for it. Otherwise the refund goes on by itself',
  refund_equals_transfer: ({ id, tx }: PayoutValues & Readonly<{ tx: string }>) =>
    `transaction ${tx} has paid the same amount to the same address, no payout explains it, and an operator has ` +
    `acknowledged it. If it paid this refund, run ${resolvePaid(id, tx)}. If it did not, run \`quayside payout resolve ` +
    `${id} --retry --tx ${tx} --reason …\` to pay the refund, or the same with \`--never\` to end it`,
  refund_store_suspended: () =>
    'its store is suspended. It goes on within five minutes after `quayside store decide <store> approve`. Otherwise reject it with ' +
    '`quayside refund reject`.',
} as const;

export const reasonCodes = Object.keys(reasons) as readonly (keyof typeof reasons)[];

const passing: readonly string[] = [
  'network_not_followed',
  'payouts_settling',
  'payout_not_included',
  'refund_maybe_paid',
  'refund_not_final',
];

/** Returns whether a reason ends without a person. A code that is not listed here needs a person. */
export const isPassing = (code: string): boolean => passing.includes(code);

// ── Doubts, and freezes by the program ─────────────────────────────────────────────────────────────────────────────

/** Reason that the merchant sees when a refund ends without a payment. */
export const operatorRejected: Reason = {
  code: 'rejected_by_operator',
  message: 'an operator ended it without a payment',
};

/** The alarm about a payout that had ended here, but is paid because the signer had signed it before. */
export const paidAfterEnd = ({ id, state }: PayoutValues & Readonly<{ state: string }>): Reason => ({
  code: 'payout_paid_after_end',
  message:
    `it is ${state} here, but the signer had signed it, so it is paid all the same. The refund stays as it is: look ` +
    `at it with \`quayside show ${id}\` and tell the merchant.`,
});

type Outflow = Readonly<
  Record<'tx' | 'role' | 'amount' | 'from' | 'to', string> & { network: string; blockNumber: number }
>;

/** Why the program freezes a network. The text is kept with the freeze, and leaves the machine with its alarm. */
export const freezeTexts = {
  wallet_outflow_foreign: ({ network, tx, role, blockNumber, amount, from, to }: Outflow): string =>
    `transaction ${tx} in block ${blockNumber} of ${network} moved ${amount} from our ${role} wallet ${from} to ${to}, ` +
    'and no payout explains it',
  wallet_balance_short: ({ network, held, lacking }: NetworkValues & Readonly<{ held: string; lacking: string }>) =>
    `the refund and gas wallets of ${network} hold ${held}, ${lacking} less than the books say`,
  payout_nonce_foreign: (values: NetworkValues & Readonly<{ payer: string; ours: number; counted: number }>): string =>
    `a node counts ${values.counted} transactions of wallet ${values.payer} on ${values.network}, and ${values.ours} ` +
    'were made here',
  blocks_unsearched: ({
    network,
    blocks,
    from,
    to,
  }: NetworkValues & Readonly<{ blocks: string; from: number; to: number }>) =>
    `${blocks} were skipped, so payouts in them may be missed. When a node has them, search them first: ` +
    `\`quayside network reread ${network} --from ${from} --to ${to}\`. If none ever will, compare the wallets' ` +
    'transactions in an explorer with `quayside payout list`',
  wallets_unknown: (): string =>
    'blocks are read before our own wallets are known here, so transfers out of them may be missed. Start the signer',
} as const;

// ── Refusals of `payout resolve` ───────────────────────────────────────────────────────────────────────────────────

const refusals = {
  payout_ended: ({ id, how }: PayoutValues & Readonly<{ how: string }>) =>
    `payout ${id} has ended (${how}): \`quayside show ${id}\``,
  payout_of_another: ({ id, tx, ownerId }: PayoutValues & Readonly<{ tx: string; ownerId: string }>) =>
    `${tx} is an attempt of payout ${ownerId}, so it does not pay ${id}`,
  payout_not_shown: ({ network, tx }: NetworkValues & Readonly<{ tx: string }>) =>
    `${tx} is not a final, successful transaction of our wallet on every node of ${network}: check the transaction, or ` +
    'wait until it is final. If it is old, name nodes in rpc_url and witness_url that still find it by its id',
  payout_outcome_unclear: (values: PayoutValues & Readonly<{ shown: string; tx: string | null; isNamed: boolean }>) => {
    const { id, shown, tx, isNamed } = values;
    if (isNamed && tx === null) return `${shown}. It cannot settle this payout.`;
    if (isNamed) return `${shown}. If an explorer shows that it was paid, run the command again with --yes.`;
    return `${shown}. If it was paid, run ${resolvePaid(id, tx ?? 'TRANSACTION')}`;
  },
  payout_maybe_paid: ({ id, suspect }: PayoutValues & Readonly<{ suspect: string }>) =>
    `${suspect} may have paid ${id}, and no attempt explains it. Look at it, and if it did, run ` +
    resolvePaid(id, 'TRANSACTION'),
  payout_being_signed: ({ id, network }: PayoutValues & NetworkValues) =>
    `an attempt of payout ${id} is allotted and may be signed at this moment: run the command again, or, if no engine ` +
    `runs, \`quayside payout reconcile ${network}\` first`,
  payout_was_paid: ({ id, tx }: PayoutValues & Readonly<{ tx: string }>) =>
    `${tx} has paid payout ${id}: run ${resolvePaid(id, tx)}`,
  payout_may_be_included: ({ id, txs }: PayoutValues & Readonly<{ txs: string }>) =>
    `${txs} of payout ${id} can still be included: wait until it is final or has expired. Where transactions have ` +
    'nonces, it stays possible until a transaction with the same nonce is final',
  payout_nonce_foreign: ({ network, txs }: NetworkValues & Readonly<{ txs: string }>) =>
    `another transaction used the nonce of ${txs}, and the engine has not frozen ${network} for it yet: wait until it ` +
    `has (a stuck payout needs \`--retry\` for that), then run \`quayside payout reconcile ${network} --reason …\``,
  payout_moved: ({ id, network }: PayoutValues & NetworkValues) =>
    `payout ${id} has changed meanwhile, or a transfer on ${network} that no payout explains may have paid it: look at ` +
    `it with \`quayside show ${id}\`, and run the command again`,
} as const;

const texts = { ...reasons, ...refusals };
export type ReasonCode = keyof typeof texts;
export type ReasonValues<C extends ReasonCode> = Parameters<(typeof texts)[C]>;

/** Returns a reason, or a refusal of `payout resolve`, with its message. */
export function reason<C extends ReasonCode>(code: C, ...values: ReasonValues<C>): Reason & Readonly<{ code: C }> {
  const text = texts[code] as (...values: ReasonValues<C>) => string;
  return { code, message: text(...values) };
}

/** Returns the fault of a reason, which is transient if it ends by itself. */
export function reasonFault<C extends ReasonCode>(...of: [C, ...ReasonValues<C>]): Fault {
  const { code, message } = reason<C>(...of);
  return isPassing(code) ? transient(code, message) : permanent(code, message);
}
