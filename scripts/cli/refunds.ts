/** Lists refunds, and prints what approvers sign. */
import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { createRefundApprovals } from '../../src/app/refund-approvals.ts';
import type { RefundStatus } from '../../src/core/refund.ts';
import { type Command, moment, notFound, storeOption, textOption, usage, wholeOption } from './command.ts';
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
      json: refunds.map((refund) => refundJson(refund)),
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
    const id = input.args[0] ?? '';
    const refund = await installation.database.refunds.findBy({ id });
    if (!refund) throw notFound(`there is no refund ${id}; \`quayside refund list\` shows all`);
    const lines = await createRefundApprovals(installation).request(refund);
    return { json: JSON.parse(lines.join('\n')), lines };
  },
};
