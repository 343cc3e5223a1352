/**
 * Lists, approves and rejects refunds, and sets a store's refund policy.
 */
import { resolve } from 'node:path';
import { createRefundApprovals } from '../../src/app/refund-approvals.ts';
import { permanent } from '../../src/core/fault.ts';
import { formatUnits, MINOR_DECIMALS } from '../../src/core/money.ts';
import type { RefundStatus } from '../../src/core/refund.ts';
import type { Database } from '../../src/database/database.ts';
import type { Refund } from '../../src/database/refunds.ts';
import { createDestinationCheck } from '../../src/payments/destination.ts';
import { readSmallFile } from '../../src/signer/approval-file.ts';
import {
  type Command,
  dryRunOption,
  type Input,
  type Installation,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  storeOption,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { withTerminal } from './signer.ts';
import { table } from './table.ts';

const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];
const LISTED_MAX = 1000;

export const refundsList: Command = {
  name: 'refund list',
  args: [],
  summary: 'List refunds and returns of held money (rt_…), newest first.',
  options: {
    store: storeOption,
    session: { value: 'ID', help: 'only refunds of this session' },
    status: { value: 'STATUS', help: statuses.join(', ') },
    limit: { value: 'N', help: `at most N refunds (50), up to ${LISTED_MAX}` },
  },
  async run(input, { database }) {
    const status = statuses.find((one) => one === textOption(input, 'status'));
    if (textOption(input, 'status') !== undefined && !status)
      throw usage(`--status must be one of ${statuses.join(', ')}`);
    const storeId = textOption(input, 'store');
    const sessionId = textOption(input, 'session');
    const refunds = await database.refunds.list({
      ...(storeId !== undefined && { storeId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(status && { status }),
      limit: wholeOption(input, 'limit', 1, LISTED_MAX, 50),
    });
    const rows = refunds.map((refund) => [
      refund.id,
      refund.status,
      amountText(refund),
      refund.network,
      moment(refund.createdAtMs),
      refund.refundId,
      whatNext(refund),
    ]);
    return {
      json: refunds.map((refund) => shownRefund(refund)),
      lines: table([['ID', 'STATUS', 'AMOUNT', 'NETWORK', 'CREATED', 'MERCHANT’S ID', 'NOTE'], ...rows]),
    };
  },
};

export const refundsRequest: Command = {
  name: 'refund request',
  args: ['id'],
  summary: 'Print what approvers are to sign for a refund that the signer does not pay without them.',
  options: {},
  notes: [
    '1. here: quayside refund request <id> > refund.json',
    '2. on each approver’s machine: quayside-signer approve refund.json --key anna.key > anna.json',
    '3. here: quayside refund approve <id> --approval anna.json, once for each approver',
  ],
  needsSandbox: true,
  async run(input, installation) {
    const refund = await findRefund(installation.database, input.args[0] ?? '');
    const lines = await createRefundApprovals(installation).request(refund);
    return { json: JSON.parse(lines.join('\n')), lines };
  },
};

export const refundsApprove: Command = {
  name: 'refund approve',
  args: ['id'],
  summary: 'Approve a refund above the store’s limit or, with approvers’ signatures, above the signer’s limits.',
  options: {
    approval: { value: 'FILE', help: 'what `signer approve` wrote; run the command again for further approvers' },
    reason: reasonOption,
    yes: { help: 'do not ask before approving; without a terminal nobody is asked' },
    'dry-run': dryRunOption,
  },
  notes: ['`refund request` shows how approvers sign. Their keys are never used on this machine.'],
  needsSandbox: true,
  async run(input, installation) {
    const { database, clock } = installation;
    const refund = await findRefund(database, input.args[0] ?? '');
    const approval = await givenApproval(input, refund, installation);
    if (refund.status !== 'pending' && refund.status !== 'processing')
      throw permanent('refused', `refund ${refund.id} is ${refund.status} and needs no approval any more`);
    if (!refund.destination) throw permanent('refused', addressFirst(refund));
    const signed = approval ? `, signed by ${approval.approver} until ${moment(approval.untilS * 1000)}` : '';
    const what = `refund ${refund.id} of ${amountText(refund)}${signed}`;
    const own = { approver: approval?.approver ?? null };
    if (input.options['dry-run'] === true) {
      return { json: { ...shownRefund(refund), ...own, dry_run: true }, lines: [`would approve ${what}`] };
    }
    await askApproval(input, refund);
    const done = await database.refunds.approve(refund.id, approval, clock.nowMs(), refund.destination.key);
    if (done !== 'done') {
      const why = 'it ended or was given another address meanwhile';
      throw permanent('refused', `${why}: \`quayside show ${refund.id}\` shows what there is to approve`);
    }
    const approved = await findRefund(database, refund.id);
    return { json: { ...shownRefund(approved), ...own }, lines: [`approved ${what}`] };
  },
};

/** Says why nothing can be approved yet: an approval counts for one address alone. */
const addressFirst = ({ id }: Pick<Refund, 'id'>): string =>
  `refund ${id} has no address yet, and an approval counts for one address alone: wait until the payer has named it, or ` +
  `name it by \`quayside refund destination ${id} --address ADDRESS --reason …\``;

/** Shows a person what they approve, and asks; without a terminal, or with `--yes`, nobody is asked. */
async function askApproval(input: Input, refund: Refund): Promise<void> {
  if (input.options.yes === true) return;
  await withTerminal(async (terminal) => {
    if (!terminal.isInteractive) return;
    const to = refund.destination?.address ?? '–';
    terminal.say(`refund ${refund.id}: ${amountText(refund)} on ${refund.network} to ${to}`);
    if (/^y(es)?$/i.test(await terminal.ask('Approve this refund? [y/N] '))) return;
    throw permanent('not_agreed', 'nothing was approved: the answer was not yes');
  });
}

/** Says what to do with a refund that is not approved yet and may have been paid. */
const maybePaidText = ({ id, network }: Pick<Refund, 'id' | 'network'>, so: string): string =>
  `refund ${id} may have been paid at its present address by what is not known here, so ${so}: \`quayside status\` ` +
  `shows what payouts wait for, and \`quayside payout reconcile ${network} --dry-run\` the transfers. After a start, try again in ` +
  'some minutes. Where a transfer equals it, approve it: it then waits for your answer, and is not paid before';

export const refundsReject: Command = {
  name: 'refund reject',
  args: ['id'],
  summary:
    'Reject a refund that waits while nothing signed for it can pay: it fails, and its amount can be refunded again.',
  options: {
    'failure-reason': { value: 'TEXT', help: 'what the merchant sees as the reason (rejected_by_operator)' },
    reason: reasonOption,
  },
  async run(input, { database, clock }) {
    const refund = await findRefund(database, input.args[0] ?? '');
    const reason = textOption(input, 'failure-reason') ?? 'rejected_by_operator';
    const done = await database.refunds.reject(refund.id, reason, clock.nowMs());
    if (!done) {
      const doubt = refund.status === 'processing' ? await database.payoutDoubt(refund.id) : null;
      if (doubt)
        throw permanent(doubt.code, `refund ${refund.id} may have been paid, so it is not rejected: ${doubt.message}`);
      if (refund.status === 'pending') throw permanent('refused', maybePaidText(refund, 'it is not rejected'));
      throw permanent(
        'refused',
        `refund ${refund.id} cannot be rejected: it has ended or its payout is in progress (status ${refund.status}); ` +
          `\`quayside show ${refund.id}\` says what that waits for`,
      );
    }
    return {
      json: shownRefund(await findRefund(database, refund.id)),
      lines: [`rejected refund ${refund.id} of ${amountText(refund)}: ${reason}`],
    };
  },
};

export const refundsDestination: Command = {
  name: 'refund destination',
  args: ['id'],
  summary: 'Send a refund to another address on its network, until its payment is in progress.',
  options: {
    address: { value: 'ADDRESS', help: 'the address to pay' },
    reason: reasonOption,
    'dry-run': { help: 'show what would change, and change nothing' },
  },
  notes: ['The cancel window begins again. A refund that was approved has to be approved again.'],
  async run(input, { database, config, clock }) {
    const before = await findRefund(database, input.args[0] ?? '');
    const address = textOption(input, 'address');
    if (address === undefined) throw usage('--address is required');
    const isDryRun = input.options['dry-run'] === true;
    const act = operatorAct(refundsDestination, input, clock);
    if (act.reason === null) throw usage('--reason is required: the audit log keeps why a destination was changed');
    const check = await createDestinationCheck(config);
    const outcome = await database.refunds.redirect({ by: 'operator', id: before.id, address, act, isDryRun }, check);
    if (outcome.kind === 'bad_destination') {
      throw permanent('refused', `${address} cannot be paid on ${before.network}: ${outcome.why}`);
    }
    if (outcome.kind !== 'done' && outcome.kind !== 'replayed') {
      throw permanent(
        'refused',
        before.status === 'pending'
          ? maybePaidText(before, 'it keeps its address')
          : `refund ${before.id} is ${before.status}: it has ended or its payment is in progress; ` +
              `\`quayside show ${before.id}\` shows where it goes`,
      );
    }
    const { refund } = outcome;
    const [from, to] = [before.destination?.address ?? 'no address', refund.destination?.address];
    return {
      json: { ...shownRefund(refund), before: before.destination?.address ?? null, dry_run: isDryRun },
      lines: [
        `${isDryRun ? 'would send' : 'sends'} refund ${refund.id} of ${amountText(refund)} to ${to}, not ${from}`,
      ],
    };
  },
};

/** @throws Fault permanent, as `RefundApprovals.read` says */
async function givenApproval(input: Input, refund: Refund, installation: Installation) {
  const file = textOption(input, 'approval');
  if (file === undefined) return null;
  return createRefundApprovals(installation).read(refund, file, readSmallFile(resolve(input.cwd, file)));
}

/** @throws Fault permanent `not_found` */
async function findRefund(database: Pick<Database, 'refunds'>, id: string): Promise<Refund> {
  const refund = await database.refunds.findBy({ id });
  if (refund) return refund;
  throw notFound(`there is no refund ${id}; \`quayside refund list\` shows all, with the ids (rf_…, rt_…) to use here`);
}

export const amountText = ({ amountMinor, currency }: Refund): string =>
  `${formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS)} ${currency}`;

/** Returns what a refund waits for, or why it failed; empty otherwise. */
export function whatNext(refund: Refund): string {
  if (refund.status === 'failed') return refund.failureReason ?? '';
  if (refund.status !== 'pending') return '';
  if (!refund.destination) return 'waiting for the payer’s address';
  return refund.needsApproval && refund.approvedAtMs === null ? 'waiting for `quayside refund approve`' : '';
}

/** Returns a refund for programs. */
export function shownRefund(refund: Refund) {
  return {
    id: refund.id,
    refund_id: refund.refundId,
    store: refund.storeId,
    mode: refund.mode,
    session_id: refund.sessionId,
    order_id: refund.orderId,
    amount: formatUnits(refund.amountMinor, MINOR_DECIMALS, MINOR_DECIMALS),
    currency: refund.currency,
    network: refund.network,
    status: refund.status,
    needs: whatNext(refund) || null,
    address: refund.destination?.address ?? null,
    address_from: refund.destination?.from ?? null,
    link_seen: refund.destination?.isLinkSeen ?? false,
    transaction_hash: refund.tx,
    receipt_number: refund.receiptNumber,
    failure_reason: refund.failureReason,
    held_kind: refund.heldKind,
    created_at: moment(refund.createdAtMs),
    processed_at: refund.processedAtMs === null ? null : moment(refund.processedAtMs),
  };
}
